"""Claims of Min & Vidal 2025 about data, initialisation and flow: Assumption 2, Lemmas 4, 7, 8, 13 and 16, Proposition 4,
and what Theorem 1 says of time, alignment, masses and loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import exprel

from ...arrays import Booleans, Floats
from ...evaluate.claim import Claim
from ...evaluate.evidence import Evidence, NotApplicable
from .setting import CONSTANT, DELTA, GAP, PAPER, ROUNDING, Mixture, Training, premises

#: Largest distance from the nominal curve of the masses in alpha^2 log(1/eps), and largest mass in void regions in alpha^2.
CURVE, VOID = 0.25, 0.1
#: Bisections until a rate is known to rounding, and how large it may be.
HALVINGS, LARGEST_RATE = 60, 8.0

SMALL = f"alpha^2 log(K/delta), delta = {DELTA:g}"
FITTED = f"the paper leaves the constant open: fitted, the measured number is the least that would do; C = {CONSTANT:g}"


def _noise(evidence: Evidence) -> tuple[Mixture, Floats, int]:
    """(the mixture, epsilon_i of every training sample (n, D), N)"""
    mixture, problem = Mixture.of(evidence), evidence.problem
    counts = np.bincount(problem.sample_cluster, minlength=mixture.clusters)
    if not mixture.alpha:
        raise NotApplicable("it speaks of noise, and there is none")
    if len(set(counts.tolist())) > 1:
        raise NotApplicable("it speaks of as many samples from every cluster")
    return mixture, problem.inputs - problem.centers[problem.sample_cluster], int(counts[0])


def _longest(evidence: Evidence) -> float:
    mixture, noise, count = _noise(evidence)
    bound = math.sqrt(8 * math.log(16 * mixture.clusters * count / DELTA)) * mixture.alpha
    return float(np.linalg.norm(noise, axis=1).max()) / bound


def _along_centers(evidence: Evidence) -> float:
    mixture, noise, count = _noise(evidence)
    bound = math.sqrt(2 * math.log(8 * mixture.clusters**2 * count / DELTA) / mixture.dimension) * mixture.alpha
    return float(np.abs(noise @ evidence.problem.centers.T).max()) / bound


def _sums(evidence: Evidence) -> float:
    mixture, noise, count = _noise(evidence)
    sums = _per_cluster(evidence, noise)
    bound = math.sqrt(2 * math.log(8 * mixture.clusters / DELTA) * count) * mixture.alpha
    return float(np.linalg.norm(sums, axis=1).max()) / bound


def _squares(evidence: Evidence) -> float:
    mixture, noise, count = _noise(evidence)
    sums = _per_cluster(evidence, (noise**2).sum(axis=1, keepdims=True))
    return float(sums.max()) / (8 * math.log(16 * mixture.clusters / DELTA) * mixture.alpha**2 * count)


def _per_cluster(evidence: Evidence, values: Floats) -> Floats:
    """(K, …): sums of values (n, …) over the samples of each cluster"""
    sums = np.zeros((len(evidence.problem.centers), values.shape[1]))
    np.add.at(sums, evidence.problem.sample_cluster, values)
    return sums


def _fewest(training: Training) -> float:
    """The smallest |N_k|"""
    return float(np.bincount(training.target[training.target >= 0], minlength=training.mixture.clusters).min())


def _small_outputs(training: Training) -> Booleans:
    """(T,): whether t <= t_1a (equation F.3), where the outputs at the centres stand for those at the samples"""
    p, gap = training.degree, training.margin
    factor = training.near ** (p - 1) * training.apart / 2 ** (p + 1)
    limit = factor * min(1 - training.near, (1 - math.sqrt(2 * gap)) / (2 * training.mixture.clusters))
    if limit <= 0:
        raise NotApplicable("it speaks of a positive gap Delta")
    small = np.logical_and.accumulate(training.log_outputs <= math.log(limit))
    if not small[0]:
        raise NotApplicable(
            "outputs are beyond those of t_1a (equation F.3) from the start: for this gap, eps is too large"
        )
    return small


def _lost_cosine(training: Training) -> float:
    aim = training.aim[_small_outputs(training)]
    return float((aim[0] - aim).max())


def _grown_ratio(training: Training) -> float:
    """Largest increase of |c_lj| / c_kj, k the target of j and l any other cluster"""
    target = training.target[training.aimed]
    inside = _small_outputs(training)
    cosine, aim = np.abs(training.cosine[inside][:, training.aimed]), training.aim[inside]
    ratios = np.divide(cosine, aim[:, :, None], out=np.full(cosine.shape, np.inf), where=aim[:, :, None] > 0)
    other = target[:, None] != np.arange(training.mixture.clusters)
    return float((ratios - ratios[0])[:, other].max())


def _time_of_small_outputs(training: Training) -> float:
    """Until when max_k |f(mu_k)| <= 2 eps sqrt(h) W_max^2, log-linear between kept instants; the end if it always is"""
    _, largest = training.sizes
    limit = math.log(2 * training.scale * largest**2) + 0.5 * math.log(len(training.target))
    above = np.flatnonzero(training.log_outputs > limit)
    if not len(above):
        return float(training.times[-1])
    if above[0] == 0:
        return 0.0
    pair = slice(above[0] - 1, above[0] + 1)
    return float(np.interp(limit, training.log_outputs[pair], training.times[pair]))


def _lost_alignment(training: Training, begin: float, end: float) -> float:
    """Largest 1 - c_kj over targets, in units of alpha^2 log(K/delta)"""
    return float((1 - training.aim[training.during(begin, end)]).max()) / training.mixture.small


def _kept_until_t2(training: Training) -> float:
    if training.t2 < training.t1:
        raise NotApplicable(
            f"t_2 = {training.t2:.3g} comes before t_1 = {training.t1:.3g}: the paper's constants need a smaller eps"
        )
    return _lost_alignment(training, training.t1, training.t2)


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


def _growth(training: Training) -> float:
    inside = training.during(training.t1, training.last)
    if inside.sum() < 2:
        raise NotApplicable("fewer than two instants were kept between t_1 and T* (see observe.times)")
    log_mass = training.log_cluster_mass[inside]
    if np.isneginf(log_mass).any():
        raise NotApplicable("the mass of a cluster is 0, which does not grow")
    found = rates(log_mass, training.times[inside])
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


def _void(training: Training) -> float:
    inside = training.times <= training.last * (1 + ROUNDING)
    return float(np.exp(training.log_void_mass[inside].max())) / training.mixture.alpha**2


def _fitting_bound(training: Training) -> float:
    """t* of equation G.6; 2^(p+2) as in H.53"""
    p, (smallest, _) = training.degree, training.sizes
    turning = 2 ** (p + 3) * training.mixture.clusters / (p * (p - 2) * training.apart * training.near ** (p - 2))
    growing = -2 * (math.log(training.scale) + math.log(smallest))
    return training.t1 + 2 * (max(-math.log(training.mixture.small), 0.0) + turning + growing)


def _after_fitting(training: Training) -> tuple[float, float]:
    """[t*, T*]"""
    return training.fitted, training.last


def _mass_error(training: Training) -> float:
    mass = np.exp(training.log_cluster_mass[training.during(*_after_fitting(training))])
    return float(np.abs(1 - mass).max()) / training.mixture.small


def _loss(training: Training) -> float:
    """Largest loss per cluster in units of (alpha^2 log(K/delta))^2"""
    loss = training.loss[training.during(*_after_fitting(training))] / training.mixture.clusters
    return float(loss.max()) / training.mixture.small**2


def _of(measure: Callable[[Training], float]) -> Callable[[Evidence], float]:
    return lambda evidence: measure(Training.of(evidence))


def _claim(
    where: str,
    statement: str,
    measure: Callable[[Training], float],
    bound: float | Callable[[Training], float],
    at_least: bool = False,
) -> Claim:
    return Claim(
        f"{PAPER}, {where}",
        statement,
        _of(measure),
        _of(bound) if callable(bound) else bound,
        at_least,
        observables=("cosine", "log10_loss"),
        premises=premises,
    )


CLAIMS = {
    "assumption_2.gap": _claim(
        "Assumption 2, Definition 2",
        f"non-degeneracy gap Delta of the initial directions; {GAP:g} for Theta(1)",
        lambda training: training.gap,
        GAP,
        at_least=True,
    ),
    "assumption_2.regions": _claim(
        "Assumption 2, Definition 2",
        "fewest neurons in the Voronoi region of a centre of their sign",
        _fewest,
        1.0,
        at_least=True,
    ),
    **{
        f"lemma_4.{name}": Claim(
            f"{PAPER}, Lemma 4 ({number})", f"{statement}, relative to its bound; delta = {DELTA:g}", measure, 1.0
        )
        for number, name, statement, measure in (
            (1, "norms", "largest |eps_i|", _longest),
            (2, "along_centers", "largest |<mu_k, eps_i>|", _along_centers),
            (3, "sums", "largest |sum of eps_i over a cluster|", _sums),
            (4, "squares", "largest sum of |eps_i|^2 over a cluster", _squares),
        )
    },
    "lemma_7.cosines": _claim(
        "Lemma 7 (F.4)",
        "largest loss of a neuron's cosine with its target since time 0, while outputs are small (t <= t_1a)",
        _lost_cosine,
        ROUNDING,
    ),
    "lemma_7.ratios": _claim(
        "Lemma 7 (F.5)",
        "largest growth of |c_lj| / c_kj, k the target and l another cluster, since time 0 and until t_1a; 0 in the lemma, "
        f"{SMALL}, for the noise in cosines near 0",
        _grown_ratio,
        lambda training: training.mixture.small,
    ),
    "lemma_8": _claim(
        "Lemma 8",
        "until when max_k |f(mu_k)| <= 2 eps sqrt(h) W_max^2, in per-cluster time; the bound is t_2",
        _time_of_small_outputs,
        lambda training: training.t2,
        at_least=True,
    ),
    "proposition_4.time": _claim(
        "Proposition 4, equation F.20",
        f"t_1, first kept instant with every c_kj >= 1 - C {SMALL}, in per-cluster time; {FITTED}",
        lambda training: training.t1,
        lambda training: training.t1_bound,
    ),
    "proposition_4.kept": _claim(
        "Proposition 4", f"largest 1 - c_kj on [t_1, t_2] in units of {SMALL}; {FITTED}", _kept_until_t2, 1.0
    ),
    "lemma_13.rate": _claim(
        "Lemma 13",
        "largest |a - 1|, where z' = 2 z (a - z) leads from the mass z of a cluster to that at the next kept instant, on "
        f"[t_1, T*] in units of {SMALL}; {FITTED}",
        _growth,
        1.0,
    ),
    "lemma_13.curve": _claim(
        "Lemma 13, equation 14",
        "largest distance on [t_1, T*] of a cluster's mass from z' = 2 z (1 - z), which begins with it at t_1, in units of "
        f"alpha^2 log(1/eps); {CURVE:g} for Õ(1)",
        _off_the_curve,
        CURVE,
    ),
    "lemma_16": _claim(
        "Lemma 16",
        f"largest mass of the neurons in void regions until T*, relative to alpha^2; {VOID:g} for õ(1)",
        _void,
        VOID,
    ),
    "theorem_1.time": _claim(
        "Theorem 1, equation G.6",
        f"t*, first kept instant with every cluster's mass >= 1 - C {SMALL}, in per-cluster time; the bound with C = "
        f"{CONSTANT:g}",
        lambda training: training.fitted,
        _fitting_bound,
    ),
    "theorem_1.alignment": _claim(
        "Theorem 1, Appendix G.2",
        f"largest 1 - c_kj on [t_1, T*], T* = t* + alpha^-min(p-2, 2), in units of {SMALL}; {FITTED}, twice that here",
        lambda training: _lost_alignment(training, training.t1, training.last),
        2.0,
    ),
    "theorem_1.masses": _claim(
        "Theorem 1, Appendix G.2",
        f"largest |1 - mass of a cluster| on [t*, T*] in units of {SMALL}; {FITTED}, twice that here",
        _mass_error,
        2.0,
    ),
    "theorem_1.loss": _claim(
        "Theorem 1",
        f"largest loss on [t*, T*] over K and the square of {SMALL}; {FITTED}",
        _loss,
        1.0,
    ),
}
