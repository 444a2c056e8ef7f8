"""Allen-Zhu & Li 2022: what adversarial perturbations are made of, before adversarial training and after it."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from ...evaluate.claim import Claim, Constant
from ...evaluate.density import measured, perturbations
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import network_of
from ...evaluate.robustness.evaluation import test_of
from ...solve import Snapshot
from .setting import PAPER, clean_end, robust_end

#: Weights of |y|_1 in Lasso, for perturbations of norm 1, in units of 1/sqrt(d): from 2 on nothing is left of one that is
#: spread evenly, whatever d is. Samples whose perturbations are reconstructed.
PENALTIES, SAMPLES = (0.25, 0.5, 1.0, 1.5), 100
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


def _densities(evidence: Evidence, snapshot: Snapshot) -> Floats:
    """(penalties,): share of the features that perturbations by FGM are made of"""
    test = test_of(evidence.scenario, evidence.problem, SAMPLES)
    moves = perturbations(test, evidence.setting, snapshot, "fgm", ANY_RADIUS, 1)
    if not len(moves):
        raise NotApplicable("the network has no gradient at any sample")
    penalties = np.array(PENALTIES) / math.sqrt(len(evidence.problem.centers))
    try:
        return measured(evidence.problem.centers, moves, penalties)[0]
    except UsageError as error:
        raise NotApplicable(str(error)) from None


def _thinned(evidence: Evidence) -> float:
    """The largest over the penalties of the share after adversarial training, relative to that before"""
    before, after = (_densities(evidence, end) for end in (clean_end(evidence), robust_end(evidence)))
    if not before.any():
        raise NotApplicable("no penalty leaves a feature in the perturbations of the clean network")
    return float((after[before > 0] / before[before > 0]).max())


def _dense(evidence: Evidence) -> float:
    """Share of the features in perturbations of the clean network, at penalty 1/sqrt(d)"""
    return float(_densities(evidence, clean_end(evidence))[PENALTIES.index(1.0)])


CLAIMS = {
    "section_6_2.universal": Claim(
        f"{PAPER}, Section 6.2",
        "the perturbation direction is universal: it does not depend on the randomness of the model or of its training",
        _along_labels,
        0.5,
        at_least=True,
        measures="clean training: mean cosine between the gradients at fresh samples and Mw*, which no network decides",
        constants=(Constant("of Theta(1)", 0.5, "chosen"),),
    ),
    "figure_12.dense": Claim(
        f"{PAPER}, Section 5.1, density of adversarial perturbation",
        "before adversarial training, adversarial perturbations are dense in the basis of M_j",
        _dense,
        0.5,
        at_least=True,
        measures="share of the features that Lasso makes FGM's perturbations of, at penalty 1/sqrt(d), at which one that "
        "is spread evenly takes all of them and one of q features q",
        constants=(Constant("dense: share of at least", 0.5, "chosen"), Constant("penalty sqrt(d)", 1.0, "chosen")),
    ),
    "figure_12.density": Claim(
        f"{PAPER}, Section 8.3 and Figure 12",
        "adversarial perturbations from a clean model are more dense than those from a robust model",
        _thinned,
        math.nextafter(1.0, 0.0),
        measures="share of the features that Lasso makes FGM's perturbations of, after adversarial training relative to "
        "before; the largest over the penalties 1/4, 1/2, 1 and 3/2 in units of 1/sqrt(d)",
        constants=(Constant("largest penalty sqrt(d)", PENALTIES[-1], "chosen"),),
    ),
}
