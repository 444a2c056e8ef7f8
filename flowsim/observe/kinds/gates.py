"""The gates of a network with a kink: its derivative at every pair of neuron and sample, between 0 and 1 where the pair
slides."""

from __future__ import annotations

import numpy as np

from ...arrays import Booleans, Floats
from ...problem.planes import planes
from ..conditions import has_clusters, is_ungated
from ..instant import Instant, Setting
from ..observable import observable


def _has_activity(setting: Setting) -> bool:
    return has_clusters(setting) and is_ungated(setting)


def _follows_sliding(setting: Setting) -> bool:
    return setting.follows_sliding


def _is_kinked(setting: Setting) -> bool:
    return not setting.problem.activation.smooth


@observable(
    "active_fraction",
    ("neuron", "cluster"),
    "share of the cluster's samples on which the neuron is active",
    _has_activity,
)
def active_fraction(instant: Instant) -> Floats:
    return instant.active_fraction


@observable(
    "sliding_pairs",
    (),
    "pairs of neuron and sample that slide along their boundary <w_j, x_i> = 0",
    _follows_sliding,
)
def sliding_pairs(instant: Instant) -> Floats:
    """(…): how many pairs of neuron and sample slide; equal samples count each."""
    sliding = instant.snapshot.sliding
    assert sliding is not None
    return np.asarray((sliding @ instant.setting.multiplicity).sum(axis=-1))


@observable(
    "gate",
    ("neuron", "sample"),
    "derivative of the kink: 1 where the neuron is active on the sample, 0 where not, between where the pair slides",
    _is_kinked,
    on_request=True,
)
def gates(instant: Instant) -> Floats:
    """(…, m, n'): 1 where a neuron is active on a sample, 0 where it is not; where it slides, what holds it there."""
    problem, reduced, snapshot = instant.setting.problem, instant.setting.reduced, instant.snapshot
    gate = np.asarray(snapshot.direction @ reduced.inputs.T > 0, dtype=float)
    if snapshot.sliding is None:
        return gate
    pull = -reduced.sample_weight * instant.derivative
    # of its own output for every neuron: (…, m, n')
    pulls = (
        pull[..., problem.neuron_output, :] if problem.loss.classes else np.broadcast_to(pull[..., None, :], gate.shape)
    )
    for place in np.argwhere(snapshot.sliding.any(axis=-1)):
        row = tuple(place)
        gate[row] = _held(gate[row], snapshot.sliding[row], pulls[row], instant)
    return gate


def _held(gate: Floats, sliding: Booleans, pull: Floats, instant: Instant) -> Floats:
    """A neuron's gates (n',) where those on the planes it slides along leave no force across them.

    The samples of a plane share one gate; those that point the other way have 1 minus it.
    """
    reduced, slope = instant.setting.reduced, instant.setting.problem.activation.inactive_slope
    shared = planes(reduced.inputs)
    along = np.unique(shared.plane[sliding])
    normals = reduced.inputs[shared.first[along]]
    ahead = shared.factor > 0
    below = np.where(sliding, ~ahead, gate)
    force = ((slope + (1 - slope) * below) * pull) @ reduced.inputs
    needed = np.linalg.lstsq(normals.T, -force)[0]
    turned = np.bincount(shared.plane, np.abs(shared.factor) * pull)[along]
    share = np.zeros(len(shared.first))
    share[along] = needed / ((1 - slope) * np.where(turned != 0, turned, np.inf))
    of_sample = np.clip(share[shared.plane], 0.0, 1.0)
    return np.where(sliding, np.where(ahead, of_sample, 1 - of_sample), gate)
