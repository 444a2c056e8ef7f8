"""Allen-Zhu & Li 2022, Appendices B and C: which neurons win a feature at the start, and whether that is what they learn.

sigma_w(t) = sigma_0 b(t)/b(0): at time 0 it is that of Lemma B.2, and later it grows with b as in Definition C.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant, Premise, Window
from ...evaluate.evidence import Evidence, NotApplicable
from ...observe.kinds.features import GAMMA, Lottery, lottery_at_start, lottery_constants, start_deviation
from ...solve import Snapshot
from . import setting
from .setting import PAPER, THETA, clean_end, coefficients_at, large_at, regime_of, threshold_at

#: The c of Theorem 5.2, at most.
SLACK = 0.001
OF_GAMMA = Constant("gamma", GAMMA, "chosen")


def at_start(evidence: Evidence) -> Lottery:
    setting.network_data(evidence)
    neurons, features = len(evidence.problem.weights.log_norm), len(evidence.problem.centers)
    if features < 2 or neurons < features:
        raise NotApplicable("it speaks of at least as many neurons as features, and of several features")
    return lottery_at_start(evidence.setting)


def later(evidence: Evidence, snapshot: Snapshot) -> Lottery:
    """At a kept instant, with sigma_w(t) = sigma_0 b(t)/b(0)"""
    begin = threshold_at(evidence, 0.0)
    if begin == 0:
        raise NotApplicable("it speaks of a threshold b(0) > 0")
    growth = threshold_at(evidence, float(snapshot.time)) / begin
    return Lottery.of(coefficients_at(evidence, snapshot), growth * start_deviation(evidence.setting))


def covered(evidence: Evidence) -> float:
    """Share of the features j that have a neuron in S_j,sure at time 0"""
    return float(at_start(evidence).sure.any(axis=0).mean())


def premises(evidence: Evidence) -> Iterator[Premise]:
    """Of Theorems C.1 and C.2: the data, the start, and that every feature has a ticket"""
    yield from setting.data_premises(evidence)
    yield Premise("share of features with a sure winner (Lemma B.2)", covered(evidence), 1.0, at_least=True)


def clean_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of what the structure after clean training is shown with"""
    yield from premises(evidence)
    late = {premise.name: premise for premise in setting.clean_premises(evidence)}
    yield late["log_d(eta T_f) >= 1.01"]


def _clean_weights(evidence: Evidence) -> list[Snapshot]:
    """What was kept of clean training, its start included"""
    end = clean_end(evidence)
    return [evidence.weights[place] for place, time in enumerate(evidence.weights.time) if time <= end.time]


def _clean_training(evidence: Evidence) -> Window:
    return Window(0.0, float(clean_end(evidence).time), evidence.weights.time)


def _most_potential(evidence: Evidence) -> float:
    """max_j |S_j,pot| over Xi_2 = d^(2 gamma c_0)"""
    _, gap = lottery_constants(*at_start(evidence).sure.shape)
    features = len(evidence.problem.centers)
    return float(at_start(evidence).potential.sum(axis=0).max() / features ** (2 * gap))


def _sure_stay(evidence: Evidence) -> float:
    sure = at_start(evidence).sure
    if not sure.any():
        raise NotApplicable("no neuron surely wins a feature at time 0")
    return min(float(later(evidence, found).sure[sure].mean()) for found in _clean_weights(evidence))


def _no_new_tickets(evidence: Evidence) -> float:
    first = at_start(evidence).potential
    found = [later(evidence, snapshot).potential for snapshot in _clean_weights(evidence)]
    return max(float((now & ~first).sum() / max(now.sum(), 1)) for now in found)


def _learned_elsewhere(evidence: Evidence) -> float:
    """Of the large coefficients after clean training, those of pairs that are not in S_j,pot at time 0"""
    large = large_at(evidence, clean_end(evidence))
    if not large.any():
        raise NotApplicable("no coefficient is large after clean training")
    return float((large & ~at_start(evidence).potential).sum() / large.sum())


def _sure_plus(evidence: Evidence) -> float:
    """Of the pairs in S_j,sure at time 0, those in S_j,sure+ after clean training: coefficients of 2 sqrt(k) b and more"""
    sure, end = at_start(evidence).sure, clean_end(evidence)
    if not sure.any():
        raise NotApplicable("no neuron surely wins a feature at time 0")
    return float((coefficients_at(evidence, end)[sure] >= 2 * setting.usual(evidence, end)).mean())


def _winners(evidence: Evidence) -> float:
    """Of the neurons in some S_j,sure at time 0, those whose largest coefficient is that of j after clean training"""
    sure = at_start(evidence).sure
    rows = np.flatnonzero(sure.any(axis=1))
    if not len(rows):
        raise NotApplicable("no neuron surely wins a feature at time 0")
    found = coefficients_at(evidence, clean_end(evidence))[rows]
    return float((np.abs(found).argmax(axis=1) == sure[rows].argmax(axis=1)).mean())


def _relative(evidence: Evidence, snapshot: Snapshot) -> Floats:
    """(m, K): alpha_ij and beta_ij of Theorem 5.2, the coefficients by |w*_j|"""
    weight = evidence.problem.samples.label_weight
    assert weight is not None
    return coefficients_at(evidence, snapshot) / weight


def _largest_outside(evidence: Evidence) -> float:
    """max |beta_ij| over j not in N_i = {j: i in S_j,pot at time 0}"""
    outside = ~at_start(evidence).potential
    return max(float(np.abs(_relative(evidence, found)[outside]).max()) for found in setting.late_weights(evidence))


def _bound_outside(evidence: Evidence) -> float:
    """k/d^(1 - c)"""
    found = regime_of(evidence)
    return found.sparsity * found.dimension ** (SLACK - 1)


def _of_single_feature(evidence: Evidence) -> float:
    """Neurons with |N_i| = 1 and alpha_ij > d^-c, per feature"""
    potential = at_start(evidence).potential
    single = np.flatnonzero(potential.sum(axis=1) == 1)
    own = potential[single].argmax(axis=1)
    least = regime_of(evidence).dimension ** -SLACK
    counts = [
        (_relative(evidence, found)[single, own] > least).sum() / potential.shape[1]
        for found in setting.late_weights(evidence)
    ]
    return float(min(counts))


def _learned_one(evidence: Evidence) -> float:
    """Neurons with exactly one large coefficient after clean training, per feature"""
    large = large_at(evidence, clean_end(evidence))
    return float((large.sum(axis=1) == 1).sum() / large.shape[1])


def _mixture(evidence: Evidence) -> float:
    """|log_d| of (1/md) sum_i sum_(j not in N_i) beta_ij over k/d; infinite where the mean is not positive"""
    found, end = regime_of(evidence), clean_end(evidence)
    relative = np.where(at_start(evidence).potential, 0.0, _relative(evidence, end))
    ratio = float(relative.mean()) * found.dimension / found.sparsity
    return abs(math.log(ratio, found.dimension)) if ratio > 0 else math.inf


CLAIMS = {
    "lemma_b_2.sure": Claim(
        f"{PAPER}, Lemma B.2",
        "for all j: |S_j,sure(0)| = Omega(d^(gamma c_0/4)); at least one neuron will win a lottery ticket (Section 6.1)",
        covered,
        1.0,
        at_least=True,
        measures="share of the features j whose S_j,sure(0) is not empty",
        premises=lambda evidence: [Premise("c_0 > 0", regime_of(evidence).spare, 0.0, at_least=True)],
        constants=(OF_GAMMA,),
    ),
    "lemma_b_2.potential": Claim(
        f"{PAPER}, Lemma B.2",
        "for all j: |S_j,pot(0)| <= O(d^(2 gamma c_0)) =: Xi_2",
        _most_potential,
        THETA,
        measures="largest |S_j,pot(0)| over Xi_2",
        premises=lambda evidence: [Premise("c_0 > 0", regime_of(evidence).spare, 0.0, at_least=True)],
        constants=(OF_GAMMA, Constant("of O(Xi_2)", None, "fitted"), Constant("bound of it", THETA, "chosen")),
    ),
    "lemma_b_2.expected": Claim(
        f"{PAPER}, Lemma B.2",
        "S_ept(0) = [m]",
        lambda evidence: float(at_start(evidence).expected.mean()),
        1.0,
        at_least=True,
        measures="share of the neurons in S_ept(0)",
        premises=lambda evidence: [Premise("c_0 > 0", regime_of(evidence).spare, 0.0, at_least=True)],
        constants=(OF_GAMMA,),
    ),
    "theorem_c_1.sure": Claim(
        f"{PAPER}, Theorems C.1(1) and C.2(2)",
        "S_j,sure(0) is contained in S_j,sure(t) for every j, for all t",
        _sure_stay,
        1.0,
        at_least=True,
        measures="least share, over clean training, of the pairs in S_j,sure(0) that are in S_j,sure(t)",
        premises=premises,
        constants=(OF_GAMMA,),
        span=_clean_training,
    ),
    "theorem_c_1.potential": Claim(
        f"{PAPER}, Theorems C.1(2) and C.2(3)",
        "S_j,pot(0) contains S_j,pot(t) for every j, for all t",
        _no_new_tickets,
        0.0,
        measures="largest share, over clean training, of the pairs in S_j,pot(t) that are not in S_j,pot(0)",
        premises=premises,
        constants=(OF_GAMMA,),
        span=_clean_training,
    ),
    "theorem_c_2.learned": Claim(
        f"{PAPER}, Theorem C.2(3) and Remark C.3",
        "what a neuron learns is solely determined by its random initialization: N_i = {j: i in S_j,pot(0)}",
        _learned_elsewhere,
        0.0,
        measures="share of the large coefficients after clean training, sqrt(k) b and more, that are outside of S_j,pot(0)",
        premises=clean_premises,
        constants=(OF_GAMMA, Constant("large: in units of sqrt(k) b", 1.0, "chosen")),
    ),
    "theorem_c_2.sure_plus": Claim(
        f"{PAPER}, Theorem C.2(4)",
        "S_j,sure(0) is contained in S_j,sure+(t) for every j, as long as t >= T_e",
        _sure_plus,
        1.0,
        at_least=True,
        measures="share of the pairs in S_j,sure(0) whose coefficient is 2 sqrt(k) b or more after clean training",
        premises=clean_premises,
        constants=(OF_GAMMA,),
    ),
    "section_6_2.winners": Claim(
        f"{PAPER}, Section 6.2",
        "a neuron that wins the lottery ticket for feature M_j near random initialization keeps it throughout training",
        _winners,
        1.0,
        at_least=True,
        measures="of the neurons in S_j,sure(0), those whose largest coefficient is that of j after clean training",
        premises=clean_premises,
        constants=(OF_GAMMA,),
    ),
    "theorem_5_2.small_outside": Claim(
        f"{PAPER}, Theorem 5.2(1)",
        "|beta_ij| < k/d^(1 - c) for every j not in N_i, for some small constant c in [0, 0.001]",
        _largest_outside,
        _bound_outside,
        measures="largest |beta_ij| with j not in N_i = {j: i in S_j,pot(0)}",
        premises=clean_premises,
        constants=(OF_GAMMA, Constant("c", SLACK, "paper")),
        span=setting.late,
    ),
    "theorem_5_2.single_features": Claim(
        f"{PAPER}, Theorem 5.2(2)",
        "for at least Omega(d) many neurons |N_i| = 1 and alpha_ij > d^-c",
        _of_single_feature,
        0.1,
        at_least=True,
        measures="such neurons, per feature",
        premises=clean_premises,
        constants=(OF_GAMMA, Constant("c", SLACK, "paper"), Constant("of Omega(d)", 0.1, "chosen")),
        span=setting.late,
    ),
    "theorem_5_2.single_learned": Claim(
        f"{PAPER}, Theorem 5.2(2), whatever the start says",
        "Omega(d) many neurons learn a single feature",
        _learned_one,
        0.1,
        at_least=True,
        measures="neurons with exactly one large coefficient, sqrt(k) b and more, per feature",
        premises=clean_premises,
        constants=(Constant("of Omega(d)", 0.1, "chosen"), Constant("large: in units of sqrt(k) b", 1.0, "chosen")),
    ),
    "theorem_5_2.mixture": Claim(
        f"{PAPER}, Theorem 5.2",
        "(1/md) sum_i sum_(j not in N_i) beta_ij is in [d^-c k/d, d^c k/d]",
        _mixture,
        SLACK,
        measures="|log_d| of that mean over k/d: the c that it takes",
        premises=clean_premises,
        constants=(OF_GAMMA, Constant("c", None, "fitted"), Constant("bound of c", SLACK, "paper")),
    ),
}
