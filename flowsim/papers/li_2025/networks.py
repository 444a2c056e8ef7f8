"""Claims of Li et al. 2025 about networks that nobody trained: an averaging one with any biases, and a robust one
(Appendix D)."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Floats, Integers
from ...evaluate.claim import Claim, Constant
from ...evaluate.evidence import Evidence
from ...evaluate.robustness.bounds import BOUNDS
from .averaging import ATTACK, NEVER, SURE
from .ideal import feature_averaging, feature_decoupling
from .setting import PAPER, centers, clustered, moved_against, norm

#: Radius, in units of sqrt(d), that the robust network withstands (Theorem D.3).
ROBUST = 1 / 3
#: Fresh samples whose radii are certified.
CERTIFIED = 500
#: Biases b_+ and b_- that are tried: from -1.5 R^2 to 1.5 R^2. Those that keep so much clean accuracy count.
BIASES, ACCURATE = np.linspace(-1.5, 1.5, 61), 0.99


def _averaging_accuracy(evidence: Evidence) -> float:
    problem = clustered(evidence)
    x, labels = moved_against(evidence, 0.0)
    return evidence.accuracy(feature_averaging(problem.centers, problem.cluster_label)(x), labels)


def _best_biases(evidence: Evidence) -> tuple[float, float, float]:
    """(robust accuracy under the attack along the difference of the classes, b_+/R^2, b_-/R^2) of the biases with the
    largest, among those with enough clean accuracy"""
    problem = clustered(evidence)
    label, square = problem.cluster_label, norm(problem) ** 2
    sums = np.array([problem.centers[label == sign].sum(axis=0) for sign in (1, -1)])
    clean, labels = moved_against(evidence, 0.0)
    moved, _ = moved_against(evidence, ATTACK * norm(problem) / math.sqrt(len(label)))
    before, after = clean @ sums.T, moved @ sums.T
    best = (-math.inf, math.nan, math.nan)
    for plus in BIASES:
        for minus in BIASES:
            bias = square * np.array([plus, minus])
            if _accuracy(before + bias, labels) >= ACCURATE:
                best = max(best, (_accuracy(after + bias, labels), float(plus), float(minus)))
    return best


def _accuracy(seen: Floats, labels: Integers) -> float:
    response = np.maximum(seen, 0.0)
    return float(np.mean(np.sign(response[:, 0] - response[:, 1]) == labels))


def _certified(evidence: Evidence) -> float:
    problem = clustered(evidence)
    x, labels = moved_against(evidence, 0.0, CERTIFIED)
    classifier = feature_decoupling(problem.centers, problem.cluster_label)
    radii = BOUNDS["certified_radius"].measure(classifier, x, labels.astype(float))
    assert radii is not None
    return float((radii >= ROBUST * norm(problem)).mean())


CLAIMS = {
    "theorem_d_1": Claim(
        f"{PAPER}, Theorem D.1",
        "there are b_+ and b_- such that the averaging network has a standard accuracy of 1 - o(1)",
        _averaging_accuracy,
        SURE,
        at_least=True,
        measures="its accuracy on fresh samples with b_+ = b_- = 0",
        premises=centers,
        constants=(Constant("1 - o(1)", SURE, "chosen"),),
    ),
    "theorem_d_2": Claim(
        f"{PAPER}, Theorem D.2",
        "for any b_+ and b_- with a standard accuracy of 1 - o(1) the averaging network has zero delta-robust accuracy for "
        "delta = Omega((d/k)^1/2)",
        lambda evidence: _best_biases(evidence)[0],
        NEVER,
        measures="largest accuracy, over a grid of biases, on fresh samples moved along the difference of the classes",
        premises=centers,
        constants=(
            Constant("1 - o(1)", ACCURATE, "chosen"),
            Constant("zero", NEVER, "chosen"),
            Constant("delta/(d/k)^1/2", ATTACK, "chosen"),
        ),
    ),
    "theorem_d_3": Claim(
        f"{PAPER}, Theorem D.3",
        "there is a two-layer network that is d^1/2/3-robust",
        _certified,
        SURE,
        at_least=True,
        measures=f"share of {CERTIFIED} fresh samples at which f_FD has a certified radius of at least d^1/2/3",
        premises=centers,
        constants=(Constant("delta/d^1/2", ROBUST, "paper"), Constant("1 - o(1)", SURE, "chosen")),
    ),
}
