"""Allen-Zhu & Li 2022, Section 5.2: attacks in l_inf, on the network and on learners of low complexity beside it.

A run is of the network or of a learner, so what one has beyond the other is two statements, with one number between them:
at the radius of training, the network's error is below it (Theorem 5.4) and the learner's above (Theorem 5.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...evaluate.claim import Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import classifier_of
from ...evaluate.robustness.attacks import Options, Target, attacked
from ...kinds.streams import stream
from ...solve import Snapshot
from .training import ATTACKED, SMALL, STEPS, claim_of, clean_end, end_of_clean_training, robust_end

NORM = "linf"
#: Models that the lower bound is about; without a threshold, features of the kernel make a linear classifier.
LEARNERS = ("ntk_features", "linear")


def _coding(evidence: Evidence) -> Any:
    data = evidence.scenario.data
    if data.kind != "sparse_coding":
        raise NotApplicable("it speaks of sparse coding data")
    return data


def _learner(evidence: Evidence) -> Snapshot:
    """The weights at the end, of a learner of low complexity."""
    _coding(evidence)
    if evidence.scenario.model.kind not in LEARNERS:
        raise NotApplicable("it speaks of learners of low complexity: models of kind " + " or ".join(LEARNERS))
    return evidence.weights[-1]


def _trained_radius(evidence: Evidence) -> float:
    """That of the last stage's attack."""
    stages = evidence.scenario.stage
    attack = stages[-1].attack if stages else None
    if attack is None or attack.norm != NORM:
        raise NotApplicable("it speaks of adversarial training in linf, and the last stage is no such")
    return attack.radius


def _error(evidence: Evidence, snapshot: Snapshot, radius: float) -> float:
    """Share of fresh samples that PGD makes wrong within this radius: at most what some perturbation does."""
    classifier, x, label = classifier_of(evidence.setting, snapshot), evidence.test.inputs, evidence.test.label
    part = slice(0, ATTACKED)
    target = Target.of(classifier, x[part], label[part], np.zeros((0, x.shape[1])), np.zeros(0), norm=NORM)
    options = Options(STEPS, 1, stream(evidence.scenario.single_seed, "claims.attacks"))
    found = attacked(target, np.array([radius]), ("pgd",), options)
    return 1 - float(found["pgd"].withstands.mean())


def _clean_not_robust(evidence: Evidence) -> float:
    """Of the network after clean training, within 1/k^2"""
    _trained_radius(evidence)
    return _error(evidence, clean_end(evidence), _coding(evidence).sparsity ** -2.0)


def _network_error(evidence: Evidence) -> float:
    """Of the network after adversarial training, within the radius of that"""
    radius = _trained_radius(evidence)
    return _error(evidence, robust_end(evidence), radius)


def _network_error_of_the_paper(evidence: Evidence) -> float:
    """The same within 1/k^1.75"""
    _trained_radius(evidence)
    return _error(evidence, robust_end(evidence), _coding(evidence).sparsity ** -1.75)


def _gained(evidence: Evidence) -> float:
    """How much less the error within the radius of training is after adversarial training than before"""
    radius = _trained_radius(evidence)
    return _error(evidence, clean_end(evidence), radius) - _error(evidence, robust_end(evidence), radius)


def _learner_error(evidence: Evidence) -> float:
    """Of a learner, within 1/k"""
    return _error(evidence, _learner(evidence), 1 / _coding(evidence).sparsity)


def _learner_error_where_trained(evidence: Evidence) -> float:
    snapshot = _learner(evidence)
    return _error(evidence, snapshot, _trained_radius(evidence))


def _learner_clean_error(evidence: Evidence) -> float:
    """Of a learner after clean training, without an attack"""
    _learner(evidence)
    classifier = classifier_of(evidence.setting, end_of_clean_training(evidence))
    return 1 - evidence.accuracy(classifier.value(evidence.test.inputs), evidence.test.label)


def _upper_regime(evidence: Evidence) -> Iterator[Premise]:
    """The assumptions of Theorem 5.4 that can be checked."""
    data = _coding(evidence)
    yield Premise("k <= d^0.399", data.sparsity, data.dimension**0.399)
    # rows of a random basis have norms of order sqrt(d) in l1
    yield Premise.fact("the rows of M have norms of order 1 in l1", data.basis != "random")


def _lower_regime(evidence: Evidence) -> Iterator[Premise]:
    """Those of Theorem 5.6."""
    data = _coding(evidence)
    yield Premise.fact("M = I", data.basis == "axes")
    noise = max(data.spike_noise, data.noise.standard_deviation(data.dimension))
    yield Premise("no noise", noise, 0.0)


CLAIMS = {
    "theorem_5_4.clean_error": claim_of(
        "Theorem 5.4",
        _clean_not_robust,
        1 - SMALL,
        at_least=True,
        meaning="clean training: error against PGD in linf within 1/k^2; 0.9 for 1 - o(1)",
        premises=_upper_regime,
    ),
    "theorem_5_4.robust_error": claim_of(
        "Theorem 5.4",
        _network_error,
        SMALL,
        meaning="adversarial training: error against PGD in linf within the radius of training; 0.1 for o(1)",
        premises=_upper_regime,
    ),
    "theorem_5_4.paper_radius": claim_of(
        "Theorem 5.4",
        _network_error_of_the_paper,
        SMALL,
        meaning="adversarial training: error against PGD in linf within 1/k^1.75; 0.1 for o(1)",
        premises=_upper_regime,
    ),
    "theorem_5_4.gain": claim_of(
        "Corollary F.6",
        _gained,
        SMALL,
        at_least=True,
        meaning="error against PGD in linf within the radius of training, before adversarial training less that after it; "
        "0.1 for more than nothing",
        premises=_upper_regime,
    ),
    "theorem_5_6.clean_error": claim_of(
        "Section 1, computation complexity",
        _learner_clean_error,
        SMALL,
        meaning="learner of low complexity, clean training: clean error; 0.1 for low",
        premises=_lower_regime,
    ),
    "theorem_5_6.robust_error": claim_of(
        "Theorem 5.6",
        _learner_error,
        (1 - SMALL) / 2,
        at_least=True,
        meaning="learner of low complexity: error against PGD in linf within 1/k; 0.45 for (1 - o(1))/2",
        premises=_lower_regime,
    ),
    "theorem_5_6.gap": claim_of(
        "Theorem 5.6 beside Theorem 5.4",
        _learner_error_where_trained,
        SMALL,
        at_least=True,
        meaning="learner of low complexity, adversarial training: error against PGD in linf within the radius of training; "
        "0.1, which the network is below",
        premises=_lower_regime,
    ),
}
