"""Allen-Zhu & Li 2022, Feature Purification: what clean and adversarial training do to a network on sparse coding data.

Clean training means the stages before the first attacker, or the whole of a run without stages, and adversarial training
those after it. The theorems are about d -> infinity: each statement says which number stands for an o(1) or a Theta(1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Claim, Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import network_of
from ...evaluate.robustness.attacks import Options, Target, attacked
from ...kinds.streams import stream
from ...observe import Instant
from ...observe.kinds.features import coefficients, dense_mixtures, is_coded, pure_parts, sure_winners
from ...scenario.flow import Attack
from ...solve import Snapshot

PAPER = "Allen-Zhu & Li 2022"
#: What stands for o(1) in errors, and in shares of squared norms.
SMALL, SMALL_SHARE = 0.1, 0.2
#: Test samples that are attacked, and gradient steps of the attack.
ATTACKED, STEPS = 500, 50
#: What stands for any perturbation at all.
ANY = ("pgd", "universal")
#: A coefficient counts as one of a neuron's own features from this part of its largest one on.
OWN = 0.5


def _data(evidence: Evidence) -> Any:
    """The section of the data, where the run is about the paper's network and data."""
    data = evidence.scenario.data
    if data.kind != "sparse_coding" or not is_coded(evidence.setting):
        raise NotApplicable("it speaks of sparse coding data")
    if evidence.scenario.model.kind != "symmetric_relu":
        raise NotApplicable('it speaks of networks of kind "symmetric_relu"')
    return data


def _attack(evidence: Evidence) -> Attack:
    """That of the last stage."""
    _data(evidence)
    stages = evidence.scenario.stage
    attack = stages[-1].attack if stages else None
    if attack is None:
        raise NotApplicable("it speaks of adversarial training, and the last stage has no attack")
    return attack


def clean_end(evidence: Evidence) -> Snapshot:
    """The network's weights after clean training."""
    _data(evidence)
    return end_of_clean_training(evidence)


def end_of_clean_training(evidence: Evidence) -> Snapshot:
    """The same of any model."""
    stages = evidence.scenario.stage
    if not stages:
        return evidence.weights[-1]
    before = [index for index, stage in enumerate(stages) if stage.attack is not None]
    count = before[0] if before else len(stages)
    if count == 0:
        raise NotApplicable("it speaks of clean training, and the first stage is attacked")
    name = stages[count - 1].name
    time = evidence.trajectory["time"].values[evidence.trajectory["stage"].values == name][-1]
    return evidence.weights[int(np.searchsorted(evidence.weights.time, time))]


def robust_end(evidence: Evidence) -> Snapshot:
    """The weights after adversarial training that follows clean training."""
    _attack(evidence)
    clean_end(evidence)
    return evidence.weights[-1]


def _scratch_end(evidence: Evidence) -> Snapshot:
    """The weights after adversarial training that nothing came before."""
    _attack(evidence)
    if evidence.scenario.stage[0].attack is None:
        raise NotApplicable("it speaks of adversarial training from the start, and the first stage is clean")
    return evidence.weights[-1]


def _weights(evidence: Evidence, snapshot: Snapshot) -> Floats:
    """(m, d)"""
    return network_of(evidence.setting, snapshot).hidden


def _error(evidence: Evidence, snapshot: Snapshot, move: Callable[[Floats, Floats], Floats] | None = None) -> float:
    """Share of fresh samples that are classified wrong after a move, a function of samples (n, d) and labels (n,)."""
    x, label = evidence.test.inputs, evidence.test.label
    moved = x if move is None else x + move(x, label)
    return 1 - evidence.accuracy(network_of(evidence.setting, snapshot).value(moved), label)


def _along_labels(evidence: Evidence) -> Floats:
    """Mw*/|Mw*| (d,)"""
    samples = evidence.problem.samples
    assert samples.label_weight is not None
    direction = samples.label_weight @ samples.centers
    return np.asarray(direction / np.linalg.norm(direction))


def _error_along_labels(evidence: Evidence) -> float:
    """Of clean training, against -tau y Mw*/|Mw*| with tau = 1/sqrt(k)"""
    direction, radius = _along_labels(evidence), _data(evidence).sparsity ** -0.5
    return _error(evidence, clean_end(evidence), lambda x, label: -radius * label[:, None] * direction)


def _attacked_error(evidence: Evidence, snapshot: Snapshot, *kinds: str) -> float:
    """Against the best of these attacks on each sample, within the radius of adversarial training"""
    attack = _attack(evidence)
    network, x, label = network_of(evidence.setting, snapshot), evidence.test.inputs, evidence.test.label
    part, nowhere = slice(0, ATTACKED), (np.zeros((0, x.shape[1])), np.zeros(0))
    target = Target.of(network, x[part], label[part], *nowhere, _along_labels(evidence), attack.norm)
    options = Options(STEPS, 1, stream(evidence.scenario.single_seed, "claims.attacks"))
    found = attacked(target, np.array([attack.radius]), kinds, options)
    return 1 - float(np.all([found[kind].withstands for kind in kinds], axis=0).mean())


def _left_to_attacks(evidence: Evidence) -> float:
    """Robust error after adversarial training relative to before"""
    before, after = (_attacked_error(evidence, found, *ANY) for found in (clean_end(evidence), robust_end(evidence)))
    if before == 0.0:
        raise NotApplicable("clean training has left nothing for the attack to find")
    return after / before


def _left_of_start(evidence: Evidence) -> float:
    """sum <w_i(T), w_i(0)>^2 over sum |w_i(T)|^2 |w_i(0)|^2"""
    first, last = (_weights(evidence, snapshot) for snapshot in (evidence.weights[0], clean_end(evidence)))
    products = (first * last).sum(axis=1)
    return float((products**2).sum() / ((first**2).sum(axis=1) * (last**2).sum(axis=1)).sum())


def _common(evidence: Evidence) -> float:
    """sum_ij <w_i, w_j>^2 over (sum |w_i|^2)^2"""
    weights = _weights(evidence, clean_end(evidence))
    return float(((weights.T @ weights) ** 2).sum() / (weights**2).sum() ** 2)


def _moved(evidence: Evidence) -> float:
    """sum |w_i(T_f) - w_i(T)|^2 over sum |w_i(T_f)|^2"""
    clean, robust = (_weights(evidence, found) for found in (clean_end(evidence), robust_end(evidence)))
    return float(((robust - clean) ** 2).sum() / (clean**2).sum())


def _of_single_feature(evidence: Evidence) -> float:
    """Neurons with one coefficient that is not below half of the largest, that above 1/2 of the mean norm, per feature"""
    found = np.abs(coefficients(Instant(evidence.setting, clean_end(evidence))))
    largest = found.max(axis=1)
    single = (found >= OWN * largest[:, None]).sum(axis=1) == 1
    return float((single & (largest >= OWN * largest.mean())).sum() / len(evidence.problem.centers))


def _mixture(evidence: Evidence, snapshot: Snapshot) -> float:
    """Mean dense mixture in units of k/d times the mean pure part"""
    data, instant = _data(evidence), Instant(evidence.setting, snapshot)
    unit = data.sparsity / data.dimension * pure_parts(instant).mean()
    return float(dense_mixtures(instant).mean() / unit)


def _sure(evidence: Evidence) -> float:
    """Of the neurons in some S_j,sure at time 0, the share that has j as largest coefficient after clean training"""
    snapshot, won = clean_end(evidence), sure_winners(evidence.setting)
    sure = np.flatnonzero(won >= 0)
    if not len(sure):
        raise NotApplicable("no neuron surely wins a feature at time 0")
    found = coefficients(Instant(evidence.setting, snapshot))[sure]
    return float((np.abs(found).argmax(axis=1) == won[sure]).mean())


def _purified(evidence: Evidence) -> float:
    """Mean dense mixture over mean pure part, after adversarial training relative to before"""
    before, after = (Instant(evidence.setting, found) for found in (clean_end(evidence), robust_end(evidence)))
    ratio = [dense_mixtures(instant).mean() / pure_parts(instant).mean() for instant in (before, after)]
    return float(abs(ratio[1] / ratio[0]))


def _turned(evidence: Evidence) -> float:
    """Mean over the neurons of |cos| between the weights after clean and after adversarial training"""
    clean, robust = (found.direction for found in (clean_end(evidence), robust_end(evidence)))
    return float(np.abs((clean * robust).sum(axis=1)).mean())


def _regime(evidence: Evidence) -> Iterator[Premise]:
    """The paper's assumptions that can be checked; that d is large enough for its o(1), nobody can."""
    data: Any = evidence.scenario.data
    if data.kind == "sparse_coding":
        yield Premise("k <= sqrt(d)", data.sparsity, math.sqrt(data.dimension))


def claim_of(
    where: str,
    measure: Callable[[Evidence], float],
    bound: float,
    *,
    meaning: str,
    premises: Callable[[Evidence], Iterable[Premise]] = _regime,
    at_least: bool = False,
) -> Claim:
    return Claim(f"{PAPER}, {where}", meaning, measure, bound, at_least, premises=premises)


CLAIMS = {
    "theorem_5_1.start_forgotten": claim_of(
        "Theorem 5.1a",
        _left_of_start,
        SMALL_SHARE,
        meaning="clean training: sum <w_i(T), w_i(0)>^2 relative to sum |w_i(T)|^2 |w_i(0)|^2; 0.2 for o(1)",
    ),
    "theorem_5_1.no_common_direction": claim_of(
        "Theorem 5.1a",
        _common,
        SMALL_SHARE,
        meaning="clean training: sum <w_i, w_j>^2 relative to (sum |w_i|^2)^2; 0.2 for o(1)",
    ),
    "theorem_5_1.clean_error": claim_of(
        "Theorem 5.1b",
        lambda evidence: _error(evidence, clean_end(evidence)),
        SMALL,
        meaning="clean error; 0.1 for o(1)",
    ),
    "theorem_5_1.robust_error": claim_of(
        "Theorem 5.1c",
        _error_along_labels,
        1 - SMALL,
        at_least=True,
        meaning="clean training: error against -tau y Mw*/|Mw*|, tau = 1/sqrt(k); 0.9 for 1 - o(1)",
    ),
    "theorem_5_2.single_features": claim_of(
        "Theorem 5.2",
        _of_single_feature,
        0.5,
        at_least=True,
        meaning="clean training: neurons with one large coefficient (no other above half of it), per feature; 1/2 for "
        "Omega(1)",
    ),
    "lemma_e_2.lower": claim_of(
        "Lemma E.2",
        lambda evidence: _mixture(evidence, clean_end(evidence)),
        0.1,
        at_least=True,
        meaning="clean training: mean dense mixture in units of k/d times the mean pure part; 0.1 for d^-c",
    ),
    "lemma_e_2.upper": claim_of(
        "Lemma E.2",
        lambda evidence: _mixture(evidence, clean_end(evidence)),
        10.0,
        meaning="clean training: mean dense mixture in units of k/d times the mean pure part; 10 for d^c",
    ),
    "theorem_c_1.winners": claim_of(
        "Theorems C.1 and C.2",
        _sure,
        0.9,
        at_least=True,
        meaning="of the neurons in S_j,sure at time 0, those whose largest coefficient is that of j after clean training",
    ),
    "theorem_5_3.fgm_error": claim_of(
        "Theorem 5.3a",
        lambda evidence: _attacked_error(evidence, robust_end(evidence), "fgm"),
        SMALL,
        meaning="adversarial training: error against FGM within the radius of training; 0.1 for o(1)",
    ),
    "theorem_5_3.robust_error": claim_of(
        "Theorem 5.3b",
        lambda evidence: _attacked_error(evidence, robust_end(evidence), *ANY),
        SMALL,
        meaning="adversarial training: error against PGD and along the labels, within the radius of training; 0.1 for o(1)",
    ),
    "theorem_5_3.local_change": claim_of(
        "Theorem 5.3c",
        _moved,
        SMALL_SHARE,
        meaning="adversarial training: sum |w_i(T) - w_i(T_f)|^2 relative to sum |w_i(T_f)|^2; 0.2 for o(1)",
    ),
    "purification.mixture": claim_of(
        "Section 5.1",
        _purified,
        0.5,
        meaning="dense mixture relative to the pure part, after adversarial training relative to before",
    ),
    "purification.robust_error": claim_of(
        "Theorems 5.1c and 5.3b",
        _left_to_attacks,
        0.5,
        meaning="error against PGD and along the labels, within the radius of training, after it relative to before",
    ),
    "purification.from_scratch": claim_of(
        "Figure 9",
        lambda evidence: _mixture(evidence, _scratch_end(evidence)),
        0.5,
        meaning="adversarial training from the start: mean dense mixture in units of k/d times the mean pure part",
    ),
    "purification.direction": claim_of(
        "Figure 2",
        _turned,
        0.8,
        at_least=True,
        meaning="mean |cos| between neurons after clean and after adversarial training; 0.8 for 1 - o(1)",
    ),
}
