"""What every kind of data produces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from ..arrays import Booleans, Floats, Integers
from .augmentation import Augmentation
from .pixels import Pixels, Stored
from .span import Span

Supervision = Annotated[
    Literal["class", "cluster"],
    Field(description='targets: "class" is y = +1/-1, "cluster" the index of the sample\'s cluster'),
]

#: Arrays by their names in a table: x, y, cluster, centers.
Arrays = Mapping[str, Floats]


@dataclass(frozen=True)
class Samples:
    """stored (n, d), targets (n,): inputs and targets; sample_cluster (n,) with -1 where unknown, centers
    (K, d) with K = 0 where unknown, cluster_label (K,) +1/-1 (0 where a cluster has no majority). label (n,): +1/-1 or a
    real target, label noise included, whatever the supervision. clean_targets (n,): the targets without label noise.

    Of sparse coding: code (n, K), x = code @ centers + noise, and label_weight (K,), with which the label is the sign of
    code @ label_weight. None elsewhere.

    augmentation: how images change at random before a gradient of descent sees them; None where they do not. test: samples
    that are not trained on, with the centres of those that are; None where there are none. span: where samples are given by
    coordinates in a span, and d is the number of these; None where they have all features."""

    stored: Stored
    targets: Floats
    sample_cluster: Integers
    centers: Floats
    cluster_label: Integers
    label: Floats
    clean_targets: Floats
    code: Floats | None = None
    label_weight: Floats | None = None
    augmentation: Augmentation | None = None
    test: Samples | None = None
    span: Span | None = None

    @classmethod
    def supervised(
        cls,
        supervision: Supervision,
        *,
        inputs: Stored,
        label: Floats,
        sample_cluster: Integers,
        centers: Floats,
        cluster_label: Integers,
        clean_label: Floats | None = None,
    ) -> Samples:
        """Samples whose targets are what `supervision` says. clean_label: the labels before any was flipped."""
        by_class = supervision == "class"
        targets = label if by_class else sample_cluster.astype(float)
        clean = clean_label if by_class and clean_label is not None else targets
        return cls(inputs, targets, sample_cluster, centers, cluster_label, label, clean)

    @property
    def inputs(self) -> Floats:
        """(n, d): all of them as an array, which of images is made anew whenever it is asked for"""
        return self.stored[:] if isinstance(self.stored, Pixels) else self.stored

    @property
    def features(self) -> int:
        """d"""
        return self.stored.shape[1]

    @property
    def dimension(self) -> int:
        """Of the space that the samples are from: d, but for those given by coordinates in their span"""
        return self.features if self.span is None else self.span.dimension

    @property
    def flipped(self) -> Booleans:
        """(n,): whether label noise flipped the sample's label"""
        other = self.targets != self.clean_targets
        return other if other.ndim == 1 else other.any(axis=1)
