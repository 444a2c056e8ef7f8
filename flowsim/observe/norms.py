"""Norms of the neurons, added up by target cluster, and against their output weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..arrays import Floats, Integers
from .instant import Instant, Setting


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


def cluster_log_mass(instant: Instant) -> Floats:
    """(…, K): log of the mass of every cluster"""
    return _log_mass(instant, instant.setting.target, len(instant.setting.problem.centers))


def void_log_mass(instant: Instant) -> Floats:
    """(…): log of that of the neurons without a target"""
    return _log_mass(instant, np.where(instant.setting.target < 0, 0, -1), 1)[..., 0]


def conserves_balance(setting: Setting) -> bool:
    """Whether |w|^2 - q v^2 of every neuron is conserved."""
    problem = setting.problem
    return problem.trained_output and problem.activation.degree is not None and not problem.regularized


def balance_drift(instant: Instant) -> Floats:
    """|w|^2 - q v^2 is conserved for neurons of homogeneity q; its change relative to the largest term, now or at first."""
    if instant.setting.problem.upper:
        return _of_layers(instant)
    snapshot, weights = instant.snapshot, instant.setting.problem.weights
    share = instant.setting.problem.activation.homogeneity
    now = np.maximum(snapshot.log_norm, snapshot.output_log)
    top = np.maximum(now, np.maximum(weights.log_norm, weights.output_log))

    def excess(log_norm: Floats, output_log: Floats) -> Floats:
        return np.exp(2 * (log_norm - top)) - share * np.exp(2 * (output_log - top))

    change = excess(snapshot.log_norm, snapshot.output_log) - excess(weights.log_norm, weights.output_log)
    return np.abs(change).max(axis=-1)


def _of_layers(instant: Instant) -> Floats:
    """Of every hidden neuron, the squared norm of its weights, bias included, less that of the weights it is seen with."""
    snapshot, weights = instant.snapshot, instant.setting.problem.weights

    def sizes(log_norm: Floats, upper: Sequence[Floats]) -> Iterator[tuple[Floats, Floats]]:
        below = np.exp(2 * log_norm)
        for matrix in upper:
            yield below, (matrix[..., : below.shape[-1]] ** 2).sum(axis=-2)
            below = (matrix**2).sum(axis=-1)

    pairs = zip(sizes(snapshot.log_norm, snapshot.upper), sizes(weights.log_norm, weights.upper), strict=True)
    drifts = []
    for (into, out_of), (first_into, first_out_of) in pairs:
        scale = np.maximum(np.maximum(into, out_of), np.maximum(first_into, first_out_of))
        change = np.abs((into - out_of) - (first_into - first_out_of))
        drifts.append((change / np.where(scale > 0, scale, 1.0)).max(axis=-1))
    return np.asarray(np.max(drifts, axis=0))
