"""Allen-Zhu & Li 2022, Section 5.2: attacks in l_inf, on the network and on learners of low complexity beside it.

A run is of the network or of a learner, so what one has beyond the other is two statements, with one number between them:
at the radius of training, the network's error is below it (Theorem 5.4) and the learner's above (Theorem 5.6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Constant, Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import classifier_of
from ...evaluate.robustness.attacks import Options, Target, attacked
from ...kinds.streams import stream
from ...solve import Snapshot
from . import training
from .setting import (
    OF_ERROR,
    SMALL,
    attack_of,
    clean_end,
    coding,
    end_of_clean_training,
    linf_premises,
    not_robust_premises,
    robust_end,
)
from .training import STEPS, claim_of

NORM = "linf"
#: Models that Theorem 5.6 is about, and constant-degree polynomials.
KERNELS, POLYNOMIALS = ("ntk_features",), ("linear", "polynomial")
#: What a learner loses at least, (1 - o(1))/2.
LOST = (1 - SMALL) / 2


@dataclass(frozen=True)
class Decoder:
    """The classifier sign <w*, Q(M^T x)> that decodes z, Q rounding to the nearest of 0, +-1/sqrt(k) and +-1: as robust as
    that of Section 3 and more so. centers (d, d): columns of M times the signs of w*; weight (d,): |w*|."""

    centers: Floats
    weight: Floats
    sparsity: float

    @property
    def levels(self) -> Floats:
        """The values of a z_j, in increasing order"""
        return np.unique([-1.0, -(self.sparsity**-0.5), 0.0, self.sparsity**-0.5, 1.0])

    @property
    def reach(self) -> float:
        """Where M = I and without noise, it withstands all perturbations in l_inf below this radius."""
        return float(np.diff(self.levels).min() / 2)

    def __call__(self, x: Floats) -> Floats:
        """(n, d) -> (n,)"""
        found, levels = x @ self.centers.T, self.levels
        return np.asarray(levels[np.abs(found[..., None] - levels).argmin(axis=-1)] @ self.weight)


def decoded(problem: Any, sparsity: float) -> Decoder:
    """The classifier that decodes z, of a problem with sparse coding data."""
    weight = problem.samples.label_weight
    if weight is None:
        raise NotApplicable("it speaks of sparse coding data")
    return Decoder(problem.centers, weight, sparsity)


def _learner(evidence: Evidence, kinds: tuple[str, ...]) -> Snapshot:
    """The weights at the end, of a learner of low complexity."""
    coding(evidence)
    if evidence.scenario.model.kind not in kinds:
        raise NotApplicable("it speaks of learners of low complexity: models of kind " + " or ".join(kinds))
    return evidence.weights[-1]


def _trained_radius(evidence: Evidence) -> float:
    """That of the last attack in training."""
    attack = next((stage.attack for stage in reversed(evidence.scenario.stage) if stage.attack is not None), None)
    if attack is None or attack.norm != NORM:
        raise NotApplicable("it speaks of adversarial training in linf, and the run has none")
    return attack.radius


def _error(evidence: Evidence, snapshot: Snapshot, radius: float) -> float:
    """Share of fresh samples that PGD makes wrong within this radius: at most what some perturbation does."""
    classifier, x, label = classifier_of(evidence.setting, snapshot), evidence.test.inputs, evidence.test.label
    part = slice(0, training.ATTACKED)
    target = Target.of(classifier, x[part], label[part], np.zeros((0, x.shape[1])), np.zeros(0), norm=NORM)
    options = Options(STEPS, 1, stream(evidence.scenario.single_seed, "claims.attacks"))
    found = attacked(target, np.array([radius]), ("pgd",), options)
    return 1 - float(found["pgd"].withstands.mean())


def _in_linf(evidence: Evidence) -> float:
    """The radius of adversarial training of the network, where that is in l_inf"""
    attack = attack_of(evidence)
    if attack.norm != NORM:
        raise NotApplicable("it speaks of adversarial training in linf")
    return attack.radius


def _clean_not_robust(evidence: Evidence) -> float:
    _in_linf(evidence)
    return _error(evidence, clean_end(evidence), coding(evidence).sparsity ** -2.0)


def _network_error(evidence: Evidence) -> float:
    return _error(evidence, robust_end(evidence), _in_linf(evidence))


def _network_error_of_the_paper(evidence: Evidence) -> float:
    _in_linf(evidence)
    return _error(evidence, robust_end(evidence), coding(evidence).sparsity ** -1.75)


def _gained(evidence: Evidence) -> float:
    radius = _in_linf(evidence)
    return _error(evidence, clean_end(evidence), radius) - _error(evidence, robust_end(evidence), radius)


def _kernel_error(evidence: Evidence) -> float:
    return _error(evidence, _learner(evidence, KERNELS), 1 / coding(evidence).sparsity)


def _polynomial_error(evidence: Evidence) -> float:
    return _error(evidence, _learner(evidence, POLYNOMIALS), 1 / coding(evidence).sparsity)


def _learner_error_where_trained(evidence: Evidence) -> float:
    snapshot = _learner(evidence, KERNELS + POLYNOMIALS)
    return _error(evidence, snapshot, _trained_radius(evidence))


def _learner_clean_error(evidence: Evidence) -> float:
    _learner(evidence, KERNELS + POLYNOMIALS)
    classifier = classifier_of(evidence.setting, end_of_clean_training(evidence))
    return 1 - evidence.accuracy(classifier.value(evidence.test.inputs), evidence.test.label)


def _of_anything(evidence: Evidence) -> float:
    """What is lost by symmetry alone: 1/2 by features that are even, as Definition 5.5 has them; else nothing is known"""
    return 0.5 if getattr(evidence.scenario.model, "gates", "") == "difference" else math.nan


def _linear_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of Theorem 5.6: its data."""
    data = coding(evidence)
    yield Premise.fact("M = I", data.basis == "axes")
    noise = max(data.spike_noise, data.noise.standard_deviation(data.dimension))
    yield Premise("sigma_x = 0", noise, 0.0)


def _lower_premises(evidence: Evidence) -> Iterator[Premise]:
    """The same, and that the lower bound is about learners: the classifier that decodes z withstands the radius."""
    yield from _linear_premises(evidence)
    radius = 1 / coding(evidence).sparsity
    reach = decoded(evidence.problem, coding(evidence).sparsity).reach
    yield Premise("1/k < half of the smallest gap between values of z, which decoding withstands", radius, reach)
    yield Premise("P(<w*, z> = 0) = o(1), 0.1", _tied(evidence), SMALL)


def _tied(evidence: Evidence) -> float:
    return float(coding(evidence).tied_share(evidence.problem.samples, evidence.scenario.single_seed))


def _clean_premises(evidence: Evidence) -> Iterator[Premise]:
    yield from not_robust_premises(evidence)
    yield Premise.fact("|M|_1 = d^o(1)", coding(evidence).basis != "random")


OF_LOST = Constant("(1 - o(1))/2", LOST, "chosen")
CLAIMS = {
    "theorem_5_4.clean_error": claim_of(
        "Theorem 5.4",
        "clean training is not robust against l_inf perturbations of radius 1/k^(2 - c_1)",
        _clean_not_robust,
        1 - SMALL,
        "error against PGD in l_inf within 1/k^2, after clean training",
        _clean_premises,
        OF_ERROR,
        at_least=True,
    ),
    "theorem_5_4.robust_error": claim_of(
        "Theorem 5.4",
        "adversarial training is robust against any l_inf perturbation of the radius tau of training",
        _network_error,
        SMALL,
        "error against PGD in l_inf within tau, a lower bound of the robust error",
        linf_premises,
        OF_ERROR,
    ),
    "theorem_5_4.paper_radius": claim_of(
        "Theorem 5.4",
        "adversarial training is robust against any l_inf perturbation of radius 1/k^(1.75 + 2c_0)",
        _network_error_of_the_paper,
        SMALL,
        "error against PGD in l_inf within 1/k^1.75, a lower bound of the robust error",
        linf_premises,
        OF_ERROR,
    ),
    "theorem_5_4.gain": claim_of(
        "Corollary F.6",
        "robust training provably beats clean training in l_inf robust accuracy",
        _gained,
        SMALL,
        "error against PGD in l_inf within tau, before adversarial training less that after it",
        linf_premises,
        Constant("beats: by", SMALL, "chosen"),
        at_least=True,
    ),
    "theorem_5_6.clean_error": claim_of(
        "Section 1, computation complexity",
        "linear classifiers, low-degree polynomials and the tangent kernel can easily achieve high clean accuracy",
        _learner_clean_error,
        SMALL,
        "clean error on fresh samples, after clean training",
        _linear_premises,
        OF_ERROR,
    ),
    "theorem_5_6.robust_error": claim_of(
        "Theorem 5.6",
        "for every p(x) of the tangent kernel the robust error in l_inf within 1/k^1.00 is at least (1 - o(1))/2",
        _kernel_error,
        LOST,
        "error against PGD within 1/k, a lower bound of the robust error",
        _lower_premises,
        OF_LOST,
        at_least=True,
        trivial=_of_anything,
    ),
    "corollary_5_7": claim_of(
        "Corollary 5.7",
        "if q(x) is a constant degree polynomial, then its robust error is at least (1 - o(1))/2, too",
        _polynomial_error,
        LOST,
        "error against PGD in l_inf within 1/k, a lower bound of the robust error",
        _lower_premises,
        OF_LOST,
        at_least=True,
    ),
    "theorem_5_6.gap": claim_of(
        "Theorem 5.6 beside Theorem 5.4",
        "adversarial training of the network has a robust radius that no such learner has",
        _learner_error_where_trained,
        SMALL,
        "adversarial training: error against PGD in l_inf within its radius; the network's is to be below 0.1",
        _linear_premises,
        OF_ERROR,
        at_least=True,
    ),
}
