"""Neurons against the centres of clusters."""

from __future__ import annotations

from ...arrays import Floats
from ...solve import cosines
from ..conditions import has_clusters
from ..instant import Instant
from ..observable import observable


@observable("cosine", ("neuron", "cluster"), "cosine between neuron and cluster centre", has_clusters)
def cosine(instant: Instant) -> Floats:
    return cosines(instant.setting.reduced, instant.snapshot.direction)
