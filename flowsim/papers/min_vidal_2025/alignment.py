"""Claims of Min & Vidal 2025 about data, start and alignment: Lemma 4, Assumption 2, Lemmas 6 to 8, equation (13) and
Proposition 4."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ...arrays import Booleans, Floats
from ...evaluate.claim import Claim, Constant, Rate, Window
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from .common import CHOSEN, CONSTANT_IN_ALPHA, LEAST, NOISE, OF_GAP, SMALL, claim
from .setting import DELTA, GAP, PAPER, ROUNDING, Mixture, Training, good_event, turning

#: Lemma 6 has a better rate from this cosine on.
NEAR = math.sqrt(4 / 5)
#: Kept weights at which velocities are looked at.
POINTS = 4


def _part_of_good_event(name: str, evidence: Evidence) -> float:
    mixture, counts = Mixture.of(evidence), np.bincount(evidence.problem.sample_cluster)
    if not mixture.alpha:
        raise NotApplicable("it speaks of noise, and there is none")
    if len(counts) < mixture.clusters or len(set(counts.tolist())) > 1:
        raise NotApplicable("it speaks of as many samples from every cluster")
    return good_event(evidence)[name]


def _fewest(training: Training) -> float:
    """The smallest |N_k|"""
    return float(np.bincount(training.target[training.target >= 0], minlength=training.mixture.clusters).min())


def _log_limit(training: Training) -> float:
    """log of the outputs of t_1a (equation F.3)"""
    p, gap = training.degree, training.margin
    factor = training.near ** (p - 1) * training.apart / 2 ** (p + 1)
    limit = factor * min(1 - training.near, (1 - math.sqrt(2 * gap)) / (2 * training.mixture.clusters))
    if limit <= 0:
        raise NotApplicable("it speaks of a positive gap Delta")
    return math.log(limit)


def small_outputs(training: Training) -> Booleans:
    """(T,): whether t <= t_1a (equation F.3), where the outputs at the centres stand for those at the samples"""
    small = np.logical_and.accumulate(training.log_outputs <= _log_limit(training))
    if not small[0]:
        raise NotApplicable(
            "outputs are beyond those of t_1a (equation F.3) from the start: for this gap, eps is too large"
        )
    return small


def aligning(training: Training) -> float:
    """The end of what matters of [0, t_1a]: the time until neurons have aligned, the first part of which is to be covered,
    too. t_1a is where outputs, log-linear between kept instants, reach those of equation F.3."""
    last = int(small_outputs(training).sum()) - 1
    pair = slice(last, last + 2)
    t1a = float(np.interp(_log_limit(training), training.log_outputs[pair], training.times[pair]))
    return min(t1a, training.t1)


def _until_t1a(training: Training) -> Window:
    return training.window(0.0, aligning(training))


def _ratios(training: Training) -> Floats:
    """(T', m', K): |c_lj| / c_kj, k the target of j, until t_1a; NaN for k itself"""
    inside = small_outputs(training)
    aim = training.aim[inside][:, :, None]
    cosine = np.abs(training.cosine[inside][:, training.aimed])
    other = training.target[training.aimed][:, None] != np.arange(training.mixture.clusters)
    ratios = np.divide(cosine, aim, out=np.full(cosine.shape, np.inf), where=aim > 0)
    return np.where(other, ratios, np.nan)


def _lost_cosine(training: Training) -> float:
    aim = training.aim[small_outputs(training)]
    return float((aim[0] - aim).max())


def _grown_ratio(training: Training) -> float:
    """Largest increase of |c_lj| / c_kj"""
    ratios = _ratios(training)
    return float(np.nanmax(ratios - ratios[0]))


def _largest_ratio(training: Training) -> float:
    return float(np.nanmax(_ratios(training)) ** (training.degree - 2))


def _velocities(evidence: Evidence) -> Iterator[tuple[Floats, Floats, float]]:
    """(dc_kj/dt, c_lj of neurons that have a target (m', K), max |f(mu_k)|) at kept weights, in units of the slope at 0,
    while outputs are small"""
    training, times = Training.of_any_loss(evidence), evidence.weights.time
    until = float(training.times[small_outputs(training)][-1]) / training.unit
    inside = np.flatnonzero(times <= until * (1 + ROUNDING))
    if len(inside) < POINTS:
        raise NotCovered(f"fewer than {POINTS} weights were kept while outputs are small (see observe.snapshots)")
    where = np.searchsorted(evidence.trajectory["time"].values, times)
    for index in inside:
        speed = turning(evidence, evidence.weights[int(index)], training.unit) / training.slope
        cosine = training.cosine[where[index]]
        yield speed[training.aimed], cosine[training.aimed], float(np.exp(training.log_outputs[where[index]]))


def _lacking(nominal: Callable[[Training, Floats], Floats], least: float, evidence: Evidence) -> float:
    """The least C with dc_kj/dt >= nominal(c_kj) - C (alpha^2 log(K/delta) + max |f(mu_k)|) at the kept weights, of neurons
    within the premises of Lemma 6 whose c_kj is at least `least`"""
    training, found = Training.of_any_loss(evidence), [0.0]
    rows, target = np.arange(len(training.aimed)), training.target[training.aimed]
    for speed, cosine, output in _velocities(evidence):
        aim = cosine[rows, target]
        other = np.abs(np.where(target[:, None] == np.arange(cosine.shape[1]), 0.0, cosine)).max(axis=1)
        within = (aim >= max(training.near, least)) & (other <= (1 - math.sqrt(2 * training.margin)) * aim)
        lacking = nominal(training, aim) - speed[rows, target]
        perturbed = training.mixture.small + output / training.slope
        found += (lacking[within] / perturbed).tolist()
    if len(found) == 1:
        raise NotCovered("no neuron was within the premises at the kept weights (see observe.snapshots)")
    return max(found)


def _largest_factor(evidence: Evidence) -> float:
    """The largest C of equation (13): the least dc_kj/dt over p c_kj^(p-1) (1 - c_kj^2) at the kept weights, of neurons at
    which that is at least as large as the perturbations alpha^2 log(K/delta) + max |f(mu_k)|"""
    training, found = Training.of_any_loss(evidence), []
    rows, target = np.arange(len(training.aimed)), training.target[training.aimed]
    for speed, cosine, output in _velocities(evidence):
        aim = np.maximum(cosine[rows, target], 0.0)
        nominal = training.degree * aim ** (training.degree - 1) * (1 - aim**2)
        decides = nominal >= training.mixture.small + output / training.slope
        found += (speed[rows, target][decides] / nominal[decides]).tolist()
    if not found:
        raise NotCovered("no neuron was on its way at the kept weights (see observe.snapshots)")
    return min(found)


def _nominal(training: Training, aim: Floats) -> Floats:
    p = training.degree
    return np.asarray(p * aim ** (p - 1) * training.apart * (1 - aim))


def _nominal_near(training: Training, aim: Floats) -> Floats:
    p = training.degree
    return np.asarray(p * aim ** (p - 1) * (1 - 2.0 ** (2 - p)) * (1 - aim))


def _of_equation_13(training: Training, aim: Floats) -> Floats:
    p = training.degree
    return np.asarray(training.apart / 2 * p * aim ** (p - 1) * (1 - aim**2))


def _snapshots_until_aligned(evidence: Evidence) -> Window:
    training = Training.of_any_loss(evidence)
    times = training.unit * evidence.weights.time
    return Window(0.0, aligning(training), times, POINTS, "per-cluster time, of kept weights")


def _time_of_small_outputs(training: Training) -> float:
    """Until when max_k |f(mu_k)| <= 2 eps sqrt(h) W_max^2, log-linear between kept instants; the end if it always is. A run
    that ends before the lemma does cannot say."""
    _, largest = training.sizes
    limit = math.log(2 * training.scale * largest**2) + 0.5 * math.log(len(training.target))
    above = np.flatnonzero(training.log_outputs > limit)
    if not len(above):
        training.reaches(training.t2)
        return float(training.times[-1])
    if above[0] == 0:
        return 0.0
    pair = slice(above[0] - 1, above[0] + 1)
    return float(np.interp(limit, training.log_outputs[pair], training.times[pair]))


def lost_alignment(training: Training, begin: float, end: float) -> float:
    """Largest 1 - c_kj over targets, in units of alpha^2 log(K/delta)"""
    return float((1 - training.aim[training.during(begin, end)]).max()) / training.mixture.small


def _kept_until_t2(training: Training) -> float:
    if training.t2 < training.t1:
        raise NotApplicable(
            f"t_2 = {training.t2:.3g} comes before t_1 = {training.t1:.3g}: the paper's constants need a smaller eps"
        )
    return lost_alignment(training, training.t1, training.t2)


def _rate_claim(where: str, statement: str, nominal: Callable[[Training, Floats], Floats], least: float = 0.0) -> Claim:
    return claim(
        where,
        statement,
        partial(_lacking, nominal, least),
        1.0,
        measures="largest lack of dc_kj/dt, by equation (E.5) at kept weights while outputs are small, over the "
        "perturbations alpha^2 log(K/delta) + max |f(mu_k)|; of neurons within the premises of Lemma 6, in units of "
        "|dl/df| at 0",
        constants=(*CHOSEN, OF_GAP, LEAST, Constant("C_1 = C_2", 1.0, "chosen")),
        span=_snapshots_until_aligned,
        rates=CONSTANT_IN_ALPHA,
        any_loss=True,
        of_evidence=True,
    )


CLAIMS = {
    "assumption_2.gap": claim(
        "Assumption 2, Definition 2",
        "the initialization has a non-degeneracy gap of at least Delta, Delta = Theta(1)",
        lambda training: training.gap,
        GAP,
        measures="non-degeneracy gap Delta of the initial directions (equation 11)",
        at_least=True,
        constants=(OF_GAP,),
        any_loss=True,
    ),
    "assumption_2.regions": claim(
        "Definition 2",
        "non-void regions must contain at least one neuron: N_k is not empty, for all k",
        _fewest,
        1.0,
        measures="fewest neurons in the Voronoi region of a centre of their sign",
        at_least=True,
        constants=(),
        any_loss=True,
    ),
    **{
        f"lemma_4.{name}": Claim(
            f"{PAPER}, Lemma 4 ({number})",
            statement,
            partial(_part_of_good_event, name),
            1.0,
            measures=f"{measures}, relative to its bound",
            constants=(Constant("delta", DELTA, "chosen"),),
            rates=CONSTANT_IN_ALPHA,
        )
        for number, name, statement, measures in (
            (1, "norms", "|eps_i| <= sqrt(8 log(16 K N/delta)) alpha, for all i", "largest |eps_i|"),
            (
                2,
                "along_centers",
                "|<mu_k, eps_i>| <= sqrt(2 log(8 K^2 N/delta)) alpha/sqrt(D), for all i and k",
                "largest |<mu_k, eps_i>|",
            ),
            (
                3,
                "sums",
                "|sum_{i in I_k} eps_i| <= sqrt(2 log(8 K/delta)) alpha sqrt(N), for all k",
                "largest |sum of eps_i over a cluster|",
            ),
            (
                4,
                "squares",
                "sum_{i in I_k} |eps_i|^2 <= 8 log(16 K/delta) alpha^2 N, for all k",
                "largest sum of |eps_i|^2 over a cluster",
            ),
        )
    },
    "lemma_6": _rate_claim(
        "Lemma 6",
        "dc_kj/dt >= p c_kj^(p-1) Delta~_2 (1 - c_kj) - C_1 log(K/delta) alpha^2 - C_2 max_k |f(mu_k)|",
        _nominal,
    ),
    "lemma_6.near": _rate_claim(
        "Lemma 6",
        "if c_kj >= sqrt(4/5), dc_kj/dt >= p c_kj^(p-1) (1 - 1/2^(p-2)) (1 - c_kj) - C_1 log(K/delta) alpha^2 - "
        "C_2 max |f|",
        _nominal_near,
        NEAR,
    ),
    "equation_13": _rate_claim(
        "equation (13)",
        "dc_kj/dt >= C p c_kj^(p-1) (1 - c_kj^2) + perturbations, C > 0; here C = Delta~_2/2",
        _of_equation_13,
    ),
    "equation_13.factor": claim(
        "equation (13)",
        "dc_kj/dt >= C p c_kj^(p-1) (1 - c_kj^2) + perturbations, for some constant C > 0; by Lemma 6 Delta~_2/2 will do",
        _largest_factor,
        lambda training: training.apart / 2,
        measures="the largest C with which that is so without the perturbations, of neurons with a target at weights that "
        "were kept while outputs are small, as long as the right side is above alpha^2 log(K/delta) + max |f(mu_k)|; in "
        "units of |dl/df| at 0",
        at_least=True,
        constants=(*CHOSEN, OF_GAP, Constant("C", None, "fitted")),
        span=_snapshots_until_aligned,
        rates=(Rate(NOISE, 0.0, one_sided="at_most"),),
        any_loss=True,
        of_evidence=True,
    ),
    "lemma_7.cosines": claim(
        "Lemma 7 (F.4)",
        "c_kj(t) >= c_kj(0) >= Delta~_1 for all t <= t_1a, k and j in N_k",
        _lost_cosine,
        ROUNDING,
        measures="largest loss of a neuron's cosine with its target since time 0",
        constants=(Constant("rounding", ROUNDING, "chosen"),),
        span=_until_t1a,
        any_loss=True,
    ),
    "lemma_7.ratios": claim(
        "Lemma 7 (F.5)",
        "|c_lj(t)|/c_kj(t) <= |c_lj(0)|/c_kj(0) for all t <= t_1a, l other than k, j in N_k",
        _grown_ratio,
        lambda training: training.mixture.small,
        measures=f"largest growth of |c_lj|/c_kj since time 0; {SMALL}, for the noise in cosines near 0",
        span=_until_t1a,
        any_loss=True,
    ),
    "lemma_7.bound": claim(
        "Lemma 7 (F.5)",
        "(|c_lj(t)|/c_kj(t))^(p-2) <= 1 - Delta~_2 for all t <= t_1a, l other than k, j in N_k",
        _largest_ratio,
        lambda training: 1 - training.apart,
        measures="largest of these powers",
        constants=(),
        span=_until_t1a,
        any_loss=True,
    ),
    "lemma_8": claim(
        "Lemma 8",
        "max_k |f(mu_k)| <= 2 eps sqrt(h) W_max^2 for all t <= log(1/(2^(p-1) sqrt(h) eps))/(2^(p+2) K)",
        _time_of_small_outputs,
        lambda training: training.t2,
        measures="until when that is so, in per-cluster time",
        at_least=True,
        constants=(),
        span=lambda training: training.window(0.0, training.t2),
        any_loss=True,
    ),
    "proposition_4.time": claim(
        "Proposition 4, equations F.11 and F.20",
        "t_1 <= 20/((p-2) p Delta~_2 Delta~_1^(p-2)) + 2/(p (2^(p-1) - 2)) log(1/(C log(K/delta) alpha^2))",
        lambda training: training.slope * training.first_until(training.t1, training.t1_bound / training.slope),
        lambda training: training.t1_bound,
        measures="t_1, first kept instant with every c_kj >= 1 - C log(K/delta) alpha^2, in per-cluster time",
        constants=(*CHOSEN, OF_GAP),
        span=lambda training: training.window(0.0, training.t1),
        any_loss=True,
    ),
    "proposition_4.kept": claim(
        "Proposition 4",
        "cos(mu_k, w_j(t)) >= 1 - Õ(alpha^2) for all t in [t_1, t_2], k and j in N_k",
        _kept_until_t2,
        1.0,
        measures=f"largest 1 - c_kj in units of {SMALL}",
        constants=(*CHOSEN, LEAST),
        span=lambda training: training.window(training.t1, training.t2, 3),
        rates=CONSTANT_IN_ALPHA,
        any_loss=True,
    ),
}
