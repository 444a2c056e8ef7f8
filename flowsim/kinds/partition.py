"""Which clusters are labelled +1, and which samples are told their cluster rather than its label."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from ..arrays import Integers
from .section import Broken, as_tuple

Named = Annotated[tuple[Annotated[int, Field(ge=0)], ...], as_tuple]
Fine = Annotated[
    Annotated[float, Field(gt=0, lt=1)] | None,
    Field(
        description='with supervision = "cluster": this part of the training samples of each cluster, chosen at random, '
        "keep it; of the others those labelled +1 are one more cluster, and those labelled -1 another"
    ),
]


def labels(positive: int | tuple[int, ...], clusters: int) -> Integers:
    """(K,): +1 for the first so many clusters, or for those that are named, -1 for the others"""
    named = range(positive) if isinstance(positive, int) else positive
    return np.where(np.isin(np.arange(clusters), list(named)), 1, -1).astype(np.int64)


def broken_names(positive: int | tuple[int, ...] | None, clusters: int, reads: tuple[str, ...]) -> Iterator[Broken]:
    """What is wrong with names of positive clusters among so many. reads: the keys that their number comes from."""
    if positive is None or isinstance(positive, int):
        return
    twice = sorted({one for one in positive if positive.count(one) > 1})
    if twice:
        yield Broken("positive", f"names {twice} more than once")
    unknown = sorted({one for one in positive if one >= clusters})
    if unknown:
        yield Broken("positive", f"names {unknown}; the {clusters} clusters are 0 to {clusters - 1}", reads)


def broken_fine(fine: float | None, supervision: str) -> Iterator[Broken]:
    if fine is not None and supervision != "cluster":
        yield Broken("fine", 'only with supervision = "cluster"', ("supervision",))


def with_coarse(
    cluster: Integers, cluster_label: Integers, fine: float, random: np.random.Generator
) -> tuple[Integers, Integers]:
    """(clusters (n,), labels of clusters) where only this part of each cluster is left in it, at least one sample, and the
    rest of all clusters of one label is a cluster of its own."""
    found, known = cluster.copy(), cluster_label
    for sign in (1, -1):
        rest = []
        for one in np.flatnonzero(cluster_label == sign):
            own = random.permutation(np.flatnonzero(cluster == one))
            rest.append(own[max(round(fine * len(own)), 1) :])
        moved = np.concatenate([np.arange(0), *rest])
        if len(moved):
            found[moved], known = len(known), np.append(known, sign)
    return found, known
