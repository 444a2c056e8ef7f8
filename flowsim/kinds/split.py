"""Which of the samples that are there are taken, and which of them are held out."""

from __future__ import annotations

import numpy as np

from ..arrays import Integers
from .data import HeldOut
from .drawing import Drawing
from .streams import stream


def split(test: HeldOut | None, scenario: Drawing, count: int) -> tuple[Integers, Integers]:
    """(rows that are trained on, rows held out) of so many, each in increasing order, at least one in either.

    All rows and none where `test` asks for no fraction. Raises ScenarioError where there is nothing to split.
    """
    if test is None or test.fraction is None:
        return np.arange(count), np.arange(0)
    if count < 2:
        raise scenario.error(("data.test.fraction", "a single sample cannot be split"))
    held_out = min(max(round(test.fraction * count), 1), count - 1)
    order = stream(scenario.single_seed, "data.test").permutation(count)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def shares(cluster: Integers, count: int) -> Integers:
    """(K,): how many of so many samples each cluster has if it keeps its share of all up to less than one sample."""
    quota = count * np.bincount(cluster) / len(cluster)
    sizes = np.floor(quota).astype(np.int64)
    sizes[np.argsort(sizes - quota, kind="stable")[: count - sizes.sum()]] += 1
    return sizes


def subset(cluster: Integers, sizes: Integers, generator: np.random.Generator) -> Integers:
    """Random rows in increasing order, sizes[k] of cluster k."""
    order = generator.permutation(len(cluster))
    chosen = [order[cluster[order] == index][:size] for index, size in enumerate(sizes)]
    return np.sort(np.concatenate(chosen))


def check_kept(scenario: Drawing, before: Integers, after: Integers) -> None:
    """Raise ScenarioError where clusters that had samples have none to train on, and hence no mean."""
    lost = np.setdiff1d(before, after).tolist()
    if lost:
        none = f"leaves no samples of clusters {lost} to train on; hold out fewer, or train on more samples"
        raise scenario.error(("data.test.fraction", none))
