"""Radii of single samples that are known without an attack. A kind of radius is one line in BOUNDS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from .certified import certified_radius, has_certificate, lipschitz_radius
from .classifier import ByProbability, Classifier, OwnClass
from .exact import exact_radius, exactness
from .leads import lead_radius
from .ordinary import Ordinary


@dataclass(frozen=True)
class Bound:
    """measure: (classifier, samples (n, d), labels (n,)) -> radii (n,) in the Euclidean norm, 0 for samples that are
    classified wrong; None where the classifier has none. accuracy: name and long name of the share of samples with a larger
    radius than each of those that were asked for."""

    long_name: str
    measure: Callable[[Classifier, Floats, Floats], Floats | None]
    accuracy: tuple[str, str]


#: A search through a network, rather than a formula, is for no more samples than these.
SEARCHED = 50
#: A bracket wider than this, relatively, for any sample is not called exact.
WIDE = 0.01


def _certified(classifier: Classifier, x: Floats, label: Floats) -> Floats | None:
    if exactness(classifier) == "formula":
        return _where_right(classifier, x, label, exact_radius(classifier, x)[0])
    if has_certificate(classifier):
        return _where_right(classifier, x, label, certified_radius(classifier, x))
    if isinstance(classifier, ByProbability | OwnClass):
        lead = lead_radius(classifier, x)
        return None if lead is None else _where_right(classifier, x, label, lead)
    if isinstance(classifier, Ordinary) and (steepness := classifier.steepness) is not None:
        return _where_right(classifier, x, label, lipschitz_radius(classifier, steepness, x))
    return None


def _exact(classifier: Classifier, x: Floats, label: Floats) -> Floats | None:
    kind = exactness(classifier)
    if kind == "none" or (kind == "search" and len(x) > SEARCHED):
        return None
    lower, upper = exact_radius(classifier, x)
    with np.errstate(invalid="ignore"):
        wide = (upper - lower > WIDE * upper) | (np.isinf(upper) & np.isfinite(lower))
    return None if wide.any() else _where_right(classifier, x, label, lower)


def _where_right(classifier: Classifier, x: Floats, label: Floats, radius: Floats) -> Floats:
    return np.where(classifier.value(x) * label > 0, radius, 0.0)


#: name in the group `robustness` -> Bound
BOUNDS: dict[str, Bound] = {
    "certified_radius": Bound(
        "radius within which no perturbation changes the class, proven; 0 where the class is wrong",
        _certified,
        ("certified_accuracy", "share of the samples that are classified right within the radius, proven"),
    ),
    "exact_radius": Bound(
        "size of the smallest perturbation that changes the class; 0 where the class is wrong",
        _exact,
        ("exact_accuracy", "share of the samples that are classified right within the radius, exactly"),
    ),
}
