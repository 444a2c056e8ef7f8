"""Which neurons the samples activate, and how far the features have moved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import Booleans, Floats
from ..conditions import LABELLED, UNGATED, has_labels, has_two_layers, is_ungated
from ..instant import BLOCK, Instant, Setting
from ..observable import observable


def _has_regions(setting: Setting) -> bool:
    return has_labels(setting) and has_two_layers(setting)


@observable(
    "activation_region",
    (),
    "share of the samples that activate every neuron of their own class; of several outputs, of their own output",
    _has_regions,
    on_request=True,
    needs=f"two layers and {LABELLED}",
)
def activation_region(instant: Instant) -> Floats:
    """(…): share of the samples that activate every neuron of their own class (Li et al. 2025, Lemmas 5.5 and C.5)"""
    other = ~_own_class(instant)
    inside = [(active | other[..., rows]).all(axis=-2) for rows, active in active_pairs(instant)]
    counts = instant.setting.multiplicity
    return np.concatenate(inside, axis=-1) @ counts / counts.sum()


def _own_class(instant: Instant) -> Booleans:
    """(…, m, n'): whether the neuron is for the sample's class: of its sign or, of its output, one of positive weight"""
    problem, targets = instant.setting.problem, instant.setting.reduced.targets
    sign = instant.snapshot.output_sign[..., :, None]
    if problem.loss.classes:
        return (problem.neuron_output[:, None] == targets) & (sign > 0)
    return sign == np.sign(targets)


def active_pairs(instant: Instant) -> Iterator[tuple[slice, Booleans]]:
    """(rows, whether each neuron is active on these samples (…, m, rows)); a pair that slides is not"""
    inputs, snapshot = instant.setting.reduced.inputs, instant.snapshot
    for rows in _blocks(len(inputs)):
        active = snapshot.direction @ inputs[rows].T > 0
        yield rows, active if snapshot.sliding is None else active & ~snapshot.sliding[..., rows]


@observable(
    "feature_change",
    (),
    "|phi(Wx) - phi(W(0)x)| / |phi(W(0)x)|, mean over the training samples that activate a neuron at time 0",
    is_ungated,
    on_request=True,
    needs=UNGATED,
)
def feature_change(instant: Instant) -> Floats:
    """(…): mean of `feature_changes` over the training samples that activate a neuron at time 0"""
    changes = feature_changes(instant)
    counts = np.where(np.isnan(changes), 0.0, instant.setting.multiplicity)
    return (np.where(counts > 0, changes, 0.0) * counts).sum(axis=-1) / counts.sum(axis=-1)


def feature_changes(instant: Instant) -> Floats:
    """(…, n'): |phi(W x) - phi(W(0) x)| / |phi(W(0) x)| (Frei et al. 2022, Proposition 3.2); NaN where phi(W(0) x) = 0"""
    problem, reduced, snapshot = instant.setting.problem, instant.setting.reduced, instant.snapshot
    start, power = problem.weights, problem.activation.homogeneity
    shift = power * start.log_norm.max()
    changes = np.empty((*snapshot.log_norm.shape[:-1], len(reduced.targets)))

    def features(direction: Floats, log_norm: Floats, rows: slice) -> Floats:
        """(…, m, rows), in units in which those at time 0 are of order 1"""
        projection = direction @ reduced.inputs[rows].T
        response, _ = problem.activation.response(projection, log_norm[..., None], np)
        return response * np.exp(power * log_norm - shift)[..., None]

    for rows in _blocks(len(reduced.targets)):
        first = features(reduced.direction, start.log_norm, rows)
        moved = features(snapshot.direction, snapshot.log_norm, rows) - first
        size = np.linalg.norm(first, axis=-2)
        changes[..., rows] = np.linalg.norm(moved, axis=-2) / np.where(size > 0, size, np.nan)
    return changes


def _blocks(samples: int) -> Iterator[slice]:
    return (slice(begin, begin + BLOCK) for begin in range(0, samples, BLOCK))
