"""Radii of single samples that are known without an attack. A kind of radius is one line in BOUNDS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...problem.data.samples import Floats
from .classifier import Classifier


@dataclass(frozen=True)
class Bound:
    """measure: (classifier, samples (n, d), labels (n,)) -> radii (n,) in the Euclidean norm, 0 for samples that are
    classified wrong; None where the classifier has none. accuracy: name and long name of the share of samples with a larger
    radius than each of those that were asked for."""

    long_name: str
    measure: Callable[[Classifier, Floats, Floats], Floats | None]
    accuracy: tuple[str, str]


#: name in the group `robustness` -> Bound
BOUNDS: dict[str, Bound] = {}
