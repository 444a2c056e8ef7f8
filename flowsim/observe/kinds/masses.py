"""Squared norms of the neurons, added up by target cluster."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, Integers
from ..conditions import SIGNED, is_signed
from ..instant import Instant, representable
from ..observable import observable


def _log_mass(instant: Instant, group: Integers, groups: int) -> Floats:
    """(…, groups): log of the sum of |w_j|^2 over the neurons of each group; group (m,): each neuron's, -1 for none."""
    order = np.argsort(group, kind="stable")[(group < 0).sum() :]
    mass = np.full((*instant.snapshot.log_norm.shape[:-1], groups), -np.inf)
    if len(order):
        present, start, count = np.unique(group[order], return_index=True, return_counts=True)
        doubled = 2 * instant.snapshot.log_norm[..., order]
        top = np.maximum.reduceat(doubled, start, axis=-1)
        shift = np.where(np.isfinite(top), top, 0.0)
        relative = np.exp(doubled - np.repeat(shift, count, axis=-1))
        with np.errstate(divide="ignore"):
            mass[..., present] = shift + np.log(np.add.reduceat(relative, start, axis=-1))
    return mass


@observable(
    "cluster_mass",
    ("cluster",),
    "sum of squared norms of the neurons whose target is the cluster",
    is_signed,
    needs=SIGNED,
)
def cluster_mass(instant: Instant) -> Floats:
    return representable(1.0, log_cluster_mass(instant))


@observable("log_cluster_mass", ("cluster",), "natural log of cluster_mass", is_signed, companion=True, needs=SIGNED)
def log_cluster_mass(instant: Instant) -> Floats:
    return _log_mass(instant, instant.setting.target, len(instant.setting.problem.centers))


@observable("void_mass", (), "sum of squared norms of the neurons with no target", is_signed, needs=SIGNED)
def void_mass(instant: Instant) -> Floats:
    return representable(1.0, log_void_mass(instant))


@observable("log_void_mass", (), "natural log of void_mass", is_signed, companion=True, needs=SIGNED)
def log_void_mass(instant: Instant) -> Floats:
    return _log_mass(instant, np.where(instant.setting.target < 0, 0, -1), 1)[..., 0]
