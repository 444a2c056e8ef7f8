"""Allen-Zhu & Li 2022: what adversarial perturbations are made of, before adversarial training and after it."""

from __future__ import annotations

import numpy as np

from ...errors import UsageError
from ...evaluate.claim import Claim
from ...evaluate.density import measured, perturbations
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import network_of
from ...evaluate.robustness.evaluation import test_of
from ...solve import Snapshot
from .training import PAPER, clean_end, robust_end

#: Weight of |y|_1 in Lasso, for perturbations of norm 1; samples whose perturbations are reconstructed.
PENALTY, SAMPLES = 0.1, 100
#: Gradients do not depend on the radius of a single step along them.
ANY_RADIUS = 1.0


def _along_labels(evidence: Evidence) -> float:
    """Mean cosine, after clean training, between the gradients at fresh samples and Mw*"""
    network = network_of(evidence.setting, clean_end(evidence))
    samples = evidence.problem.samples
    assert samples.label_weight is not None
    direction = samples.label_weight @ samples.centers
    _, gradient = network.value_and_gradient(evidence.test.inputs)
    size = np.linalg.norm(gradient, axis=1) * np.linalg.norm(direction)
    moved = size > 0
    if not moved.any():
        raise NotApplicable("the network has no gradient at any sample")
    return float((gradient[moved] @ direction / size[moved]).mean())


def _density(evidence: Evidence, snapshot: Snapshot) -> float:
    """Share of the features that perturbations by FGM are made of"""
    test = test_of(evidence.scenario, evidence.problem, SAMPLES)
    moves = perturbations(test, evidence.setting, snapshot, "fgm", ANY_RADIUS, 1)
    if not len(moves):
        raise NotApplicable("the network has no gradient at any sample")
    try:
        return float(measured(evidence.problem.centers, moves, np.array([PENALTY]))[0][0])
    except UsageError as error:
        raise NotApplicable(str(error)) from None


def _thinned(evidence: Evidence) -> float:
    """That after adversarial training, relative to before"""
    return _density(evidence, robust_end(evidence)) / _density(evidence, clean_end(evidence))


CLAIMS = {
    "section_6_2.universal": Claim(
        f"{PAPER}, Section 6.2",
        "clean training: mean cosine between the gradients at fresh samples and Mw*, which no network decides, so that "
        "perturbations transfer; 0.5 for Theta(1)",
        _along_labels,
        0.5,
        at_least=True,
    ),
    "figure_12.density": Claim(
        f"{PAPER}, Section 8.3 and Figure 12",
        "share of the features that Lasso, penalty 0.1, makes FGM's perturbations of, after adversarial training relative "
        "to before; 0.5 for fewer",
        _thinned,
        0.5,
    ),
}
