"""Claims of Min & Vidal 2025 about the phase of growth: Lemmas 11 to 14 and 16, what Theorem 1 says of time, alignment,
masses and loss, and what Appendix A says of classification losses."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import expi, exprel

from ...arrays import Floats
from ...evaluate.claim import Constant, Rate, Window
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from ...observe import Instant
from .alignment import lost_alignment
from .common import CHOSEN, CONSTANT_IN_ALPHA, LEAST, NOISE, OF_GAP, SMALL, claim
from .setting import DELTA, ROUNDING, Training, turning

#: Largest distance from the nominal curve of the masses in alpha^2 log(1/eps), and largest mass in void regions in alpha^2.
CURVE, VOID = 0.25, 0.1
#: Bisections until a rate is known to rounding, and how large it may be.
HALVINGS, LARGEST_RATE = 60, 8.0
#: Kept weights that a span needs at least.
POINTS = 4


def rates(log_mass: Floats, times: Floats) -> Floats:
    """(T - 1, K): the a with which z' = 2 z (a - z) leads from each mass to the next; log_mass (T, K), times (T,)."""
    step = 2 * np.diff(times)[:, None]
    first, growth = log_mass[:-1], np.diff(log_mass, axis=0)
    low, high = np.full(growth.shape, -LARGEST_RATE), np.full(growth.shape, LARGEST_RATE)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        exponent = middle * step
        # log z_2/z_1 = 2 a dt - log(1 + z_1 (exp(2 a dt) - 1)/a)
        log_ratio = np.maximum(exponent, 0.0) + np.log(step * exprel(-np.abs(exponent)))
        too_slow = exponent - np.logaddexp(0.0, first + log_ratio) < growth
        low, high = np.where(too_slow, middle, low), np.where(too_slow, high, middle)
    return (low + high) / 2


def classification_rates(log_mass: Floats, times: Floats, loss: str) -> Floats:
    """(T - 1, K): the a with which z' = 2 a z e^(-z), of the exponential loss, or z' = 2 a z/(1 + e^z), of the logistic,
    leads from each mass to the next."""
    with np.errstate(over="ignore"):
        mass = np.exp(log_mass)
    # the integral of (e^z - 1)/z, by which that of e^z/z goes beyond log z
    beyond = np.where(mass > 1e-8, expi(np.maximum(mass, 1e-8)) - np.maximum(log_mass, -19.0) - np.euler_gamma, mass)
    travelled = np.diff((2 if loss == "logistic" else 1) * log_mass + beyond, axis=0)
    return np.asarray(travelled / (2 * np.diff(times)[:, None]))


def _grown(training: Training, end: float) -> tuple[Floats, Floats]:
    """(log of the masses (T', K), times) from t_1 on"""
    inside = training.during(training.t1, end)
    if inside.sum() < 2:
        raise NotCovered("fewer than two instants were kept after t_1 (see observe.times)")
    log_mass = training.log_cluster_mass[inside]
    if np.isneginf(log_mass).any():
        raise NotApplicable("the mass of a cluster is 0, which does not grow")
    return log_mass, training.times[inside]


def _growth(training: Training) -> float:
    return float(np.abs(rates(*_grown(training, training.last)) - 1).max()) / training.mixture.small


def _classes_growing(training: Training) -> Window:
    """[t_1, end of the run]"""
    if training.problem.loss.name == "square":
        raise NotApplicable("it speaks of classification losses")
    return training.window(training.t1, float(training.times[-1]), 20)


def _growth_of_classes(training: Training) -> float:
    found = classification_rates(*_grown(training, float(training.times[-1])), training.problem.loss.name)
    return float(np.abs(found - 1).max()) / training.mixture.small


def _off_the_curve(training: Training) -> float:
    """Largest |z - nominal z| / (alpha^2 log(1/eps)), z' = 2 z (1 - z) from each cluster's mass at t_1"""
    inside = training.during(training.t1, training.last)
    log_mass, times = training.log_cluster_mass[inside], training.times[inside]
    if (log_mass[0] >= 0).any() or np.isneginf(log_mass[0]).any():
        raise NotApplicable("the masses are not between 0 and 1 at t_1")
    logit = log_mass[0] - np.log1p(-np.exp(log_mass[0])) + 2 * (times - times[0])[:, None]
    apart = float(np.abs(np.exp(log_mass) - np.exp(-np.logaddexp(0.0, -logit))).max())
    return apart / (training.mixture.alpha**2 * max(-math.log(training.scale), 1.0))


def _kept(evidence: Evidence) -> Iterator[tuple[int, Instant]]:
    """(place among the kept instants, weights kept there), in [t_1, T*]"""
    training, weights = Training.of(evidence), evidence.weights
    times = training.unit * weights.time
    inside = np.flatnonzero((times >= training.t1 * (1 - ROUNDING)) & (times <= training.last * (1 + ROUNDING)))
    if len(inside) < POINTS:
        raise NotCovered(f"fewer than {POINTS} weights were kept in [t_1, T*] (see observe.snapshots)")
    where = np.searchsorted(evidence.trajectory["time"].values, weights.time)
    for index in inside:
        yield int(where[index]), Instant(evidence.setting, weights[int(index)])


def _weights_of_growth(evidence: Evidence) -> Window:
    training = Training.of(evidence)
    times = training.unit * evidence.weights.time
    return Window(training.t1, training.last, times, POINTS, "per-cluster time, of kept weights")


def _of_log(training: Training) -> float:
    """log(K^2 N/delta)"""
    count = len(training.problem.targets) / training.mixture.clusters
    return math.log(training.mixture.clusters**2 * count / DELTA)


def _lacking_outputs(evidence: Evidence) -> float:
    """The least C with which outputs at the samples lie between the two bounds of Lemma 11"""
    training = Training.of(evidence)
    p, alpha, clusters = training.degree, training.mixture.alpha, training.mixture.clusters
    own = evidence.setting.cluster_counts > 0
    noise, rest, found = math.sqrt(_of_log(training)) * alpha**2, 2 * clusters * alpha**p, [0.0]
    for place, instant in _kept(evidence):
        mass = np.exp(training.log_cluster_mass[place])
        for sign, factor in ((1.0, 2 ** (p + 2)), (-1.0, 4 * p)):
            beyond = sign * (instant.margin - mass[:, None])
            allowed = mass[:, None] * factor * noise + rest
            found.append(float((beyond / allowed)[own].max()))
    return max(found)


def _falling(evidence: Evidence) -> float:
    """The least C with dc_kj/dt >= -C K log(K^2 N/delta) alpha^min(p, 4) of neurons in the band of Lemma 12, at weights
    that meet its premises"""
    training, weights, found = Training.of(evidence), evidence.weights, []
    small, rows = training.mixture.small, np.arange(len(training.aimed))
    unit = training.mixture.clusters * _of_log(training) * training.mixture.alpha ** min(training.degree, 4.0)
    for index, place in enumerate(np.searchsorted(evidence.trajectory["time"].values, weights.time)):
        away, heaviest = 1 - training.aim[place], training.log_cluster_mass[place].max()
        band = (away >= small) & (away <= 2 * small)
        if away.max() <= 2 * small and heaviest <= math.log1p(small) and band.any():
            speed = turning(evidence, weights[index], training.unit)[training.aimed]
            found += (-speed[rows, training.target[training.aimed]][band] / unit).tolist()
    if not found:
        raise NotCovered("at no kept weights is a neuron in the band that it speaks of (see observe.snapshots)")
    return max(found)


def _grown_at_t1(training: Training) -> float:
    """log of the smallest cluster's mass at t_1 over W_min^2 eps^2"""
    place = int(np.searchsorted(training.times, training.t1 * (1 - ROUNDING)))
    smallest, _ = training.sizes
    return float(training.log_cluster_mass[place].min()) - 2 * (math.log(smallest) + math.log(training.scale))


def _grown_bound(training: Training) -> float:
    p, clusters = training.degree, training.mixture.clusters
    return -2 * p ** (p + 2) * clusters / (p * (p - 2) * training.apart * training.near ** (p - 2))


def _slowest(training: Training) -> float:
    """What Lemma 8 leaves of a mass at t_1 whatever the directions are: |d log |w|^2/dt| <= 2^(p+1) K (1 + max |f|)"""
    largest = float(np.exp(training.log_outputs[training.times <= training.t1 * (1 + ROUNDING)].max()))
    return -(2 ** (training.degree + 1)) * training.mixture.clusters * (1 + largest) * training.t1


def _void(training: Training) -> float:
    inside = training.times <= training.last * (1 + ROUNDING)
    return float(np.exp(training.log_void_mass[inside].max())) / training.mixture.alpha**2


def _fitting_bound(training: Training) -> float:
    """t* of equation G.6; 2^(p+2) as in H.53"""
    p, (smallest, _) = training.degree, training.sizes
    turned = 2 ** (p + 3) * training.mixture.clusters / (p * (p - 2) * training.apart * training.near ** (p - 2))
    growing = -2 * (math.log(training.scale) + math.log(smallest))
    return training.t1 + 2 * (max(-math.log(training.mixture.small), 0.0) + turned + growing)


def _mass_error(training: Training) -> float:
    mass = np.exp(training.log_cluster_mass[training.during(training.fitted, training.last)])
    return float(np.abs(1 - mass).max()) / training.mixture.small


def _loss(training: Training) -> float:
    """Largest loss per cluster in units of (alpha^2 log(K/delta))^2"""
    loss = training.loss[training.during(training.fitted, training.last)] / training.mixture.clusters
    return float(loss.max()) / training.mixture.small**2


def after_fitting(training: Training) -> Window:
    """[t*, T*]"""
    return training.window(training.fitted, training.last)


def _since_alignment(training: Training) -> Window:
    """[t_1, T*]"""
    return training.window(training.t1, training.last, 20)


#: T* = t* + alpha^-min(p-2, 2) is ours: the paper leaves the constants of both of its terms open.
LAST = Constant("T* = t* + C alpha^-min(p-2, 2): C", 1.0, "chosen")
FITTED = (*CHOSEN, LAST, LEAST)
IN_P = Constant("bound of C: 2^p", lambda evidence: 2.0 ** (evidence.problem.activation.degree or 0.0), "paper")

CLAIMS = {
    "lemma_11": claim(
        "Lemma 11",
        "f(x_i) <= m_k (1 + 2^(p+2) C sqrt(log(K^2 N/delta)) alpha^2) + 2 K C alpha^p and f(x_i) >= m_k (1 - 4 p C "
        "sqrt(log(K^2 N/delta)) alpha^2) - 2 K C alpha^p, m_k = sum_{j in N_k} |w_j|^2, for all i in I_k",
        _lacking_outputs,
        1.0,
        measures="the least C with which both are so at all samples, at the weights kept in [t_1, T*]",
        constants=(*FITTED, Constant("bound of C", 1.0, "chosen")),
        span=_weights_of_growth,
        rates=CONSTANT_IN_ALPHA,
        of_evidence=True,
    ),
    "lemma_12": claim(
        "Lemma 12",
        "where 1 - 2 C_a log(K/delta) alpha^2 <= c_kj <= 1 - C_a log(K/delta) alpha^2, "
        "dc_kj/dt >= -C K log(K^2 N/delta) alpha^min(p, 4)",
        _falling,
        1.0,
        measures="the least C with which that is so at kept weights; below 0 where such neurons turn to their targets",
        constants=(*CHOSEN, LEAST, Constant("bound of C", 1.0, "chosen")),
        rates=CONSTANT_IN_ALPHA,
        of_evidence=True,
    ),
    "lemma_13.rate": claim(
        "Lemma 13",
        "|dz/dt - 2 (1 - z) z| <= 2 C log(K/delta) alpha^2 z, z = sum_{j in N_k} |w_j|^2, for all k",
        _growth,
        lambda training: 2**training.degree,
        measures="largest |a - 1|, where z' = 2 z (a - z) leads from the mass z of a cluster to that at the next kept "
        f"instant, in units of {SMALL}; 2^p for C, the worst that the paper says of its constants",
        constants=(*FITTED, IN_P),
        span=_since_alignment,
        rates=CONSTANT_IN_ALPHA,
    ),
    "lemma_13.curve": claim(
        "equation (14)",
        "the masses follow z' = 2 z (1 - z), which begins with them at t_1, but for Õ(alpha^2)",
        _off_the_curve,
        CURVE,
        measures=f"largest distance from that curve, in units of alpha^2 log(1/eps); {CURVE:g} for Õ(1)",
        constants=(*FITTED, Constant("Õ(1)", CURVE, "chosen")),
        span=_since_alignment,
        rates=CONSTANT_IN_ALPHA,
    ),
    "lemma_14": claim(
        "Lemma 14",
        "sum_{j in N_k} |w_j(t_1)|^2 >= exp(-2 p^(p+2) K/(p (p-2) Delta~_2 Delta~_1^(p-2))) W_min^2 eps^2",
        _grown_at_t1,
        _grown_bound,
        measures="log of the smallest cluster's mass at t_1 over W_min^2 eps^2",
        at_least=True,
        constants=(*CHOSEN, OF_GAP),
        span=lambda training: training.window(0.0, training.t1),
        trivial=_slowest,
    ),
    "lemma_16": claim(
        "Lemma 16",
        "sum_{j in N_c} |w_j(t)|^2 = õ(alpha^2) for all t <= T*",
        _void,
        VOID,
        measures=f"largest mass of the neurons in void regions until T*, relative to alpha^2; {VOID:g} for õ(1)",
        constants=(*CHOSEN, LAST, Constant("õ(1)", VOID, "chosen")),
        span=lambda training: training.window(0.0, training.last),
    ),
    "theorem_1.time": claim(
        "Theorem 1, equation G.6",
        "t* = t_1 + 2 (log(1/((C - C_w) log(K/delta) alpha^2)) + 2^(p+3) K/(p (p-2) Delta~_2 Delta~_1^(p-2)) + "
        "log(1/(W_min^2 eps^2)))",
        lambda training: training.first_until(training.fitted, _fitting_bound(training)),
        _fitting_bound,
        measures="t*, first kept instant with every cluster's mass >= 1 - C_w log(K/delta) alpha^2, in per-cluster time",
        constants=(*CHOSEN, OF_GAP, Constant("C - C_w", 1.0, "chosen")),
        span=lambda training: training.window(0.0, training.fitted),
        # 2 log(1/eps^2); by equation (14) it is log(1/eps)
        rates=(Rate("init.scale", -4.0, law="log", one_sided="at_least"),),
    ),
    "theorem_1.alignment": claim(
        "Theorem 1, Appendix G.2, first claim",
        "c_kj(t) >= 1 - 2 C_a log(K/delta) alpha^2 before T*",
        lambda training: lost_alignment(training, training.t1, training.last),
        2.0,
        measures=f"largest 1 - c_kj on [t_1, T*] in units of {SMALL}",
        constants=FITTED,
        span=_since_alignment,
        rates=CONSTANT_IN_ALPHA,
    ),
    "theorem_1.masses": claim(
        "Theorem 1, Appendix G.2, first and third claim",
        "1 - 2 C_w log(K/delta) alpha^2 <= sum_{j in N_k} |w_j|^2 <= 1 + C_w log(K/delta) alpha^2 on [t*, T*]",
        _mass_error,
        2.0,
        measures=f"largest |1 - mass of a cluster| in units of {SMALL}",
        constants=FITTED,
        span=after_fitting,
        rates=CONSTANT_IN_ALPHA,
    ),
    "theorem_1.loss": claim(
        "Theorem 1",
        "L(theta(t)) = Õ(alpha^4) for all t in [t*, T*]",
        _loss,
        1.0,
        measures=f"largest loss over K and the square of {SMALL}",
        constants=FITTED,
        span=after_fitting,
        rates=(*CONSTANT_IN_ALPHA, Rate(NOISE, 4.0, of="final_loss", one_sided="at_least")),
    ),
    "appendix_a.growth": claim(
        "Appendix A, extension to classification losses",
        "the nominal weight norm dynamics become z' = 2 z e^-z for the exponential loss, and z' = 2 z/(1 + e^z) for the "
        "logistic",
        _growth_of_classes,
        lambda training: 2**training.degree,
        measures="largest |a - 1|, where a times these leads from the mass of a cluster to that at the next kept instant, "
        f"from t_1 to the end, in units of {SMALL}",
        constants=(*CHOSEN, LEAST, IN_P),
        span=_classes_growing,
        rates=CONSTANT_IN_ALPHA,
        any_loss=True,
    ),
}
