"""Which neurons a start does not determine: the flow of these depends discontinuously on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Booleans, Floats, Integers
from ..observe import Instant, Setting, Trajectory
from ..solve import Snapshot

#: What the variable `undetermined` says of a neuron.
DETERMINED, ON_BOUNDARY, ELSEWHERE = 0, 1, 2
REASONS = {
    ON_BOUNDARY: "starts on a boundary that repels it",
    ELSEWHERE: "ends elsewhere in the companion run",
}
#: A pre-activation below this, relative to both vectors, is 0: what engines take for it.
ON_PLANE = 4e-12
#: Neurons at a larger distance, as unit vectors, are apart; those that are nearer differ by their error.
APART = 0.1
#: A message names at most so many neurons.
NAMED = 12


def undetermined(setting: Setting, kept: Trajectory, companion: Trajectory) -> Integers:
    """(m,): ON_BOUNDARY, ELSEWHERE or DETERMINED of each neuron of a run and its companion; (0,) without neurons."""
    if not setting.problem.has_neurons:
        return np.zeros(0, dtype=np.int8)
    found = np.where(elsewhere(setting, kept, companion), ELSEWHERE, DETERMINED)
    return np.where(on_boundary(setting), ON_BOUNDARY, found).astype(np.int8)


def on_boundary(setting: Setting) -> Booleans:
    """(m,): which neurons start on a plane <w, x_i> = 0 that pushes them away on both sides, so that either is a flow.

    Only neurons of two layers with a kink have such planes. Where a neuron is on several planes, their gates may be any.
    """
    problem, reduced = setting.problem, setting.reduced
    neurons = len(problem.hidden_log_norm)
    if not problem.two_layers or problem.activation.smooth:
        return np.zeros(neurons, dtype=bool)
    inputs, start = reduced.inputs, Instant(setting, Snapshot.first(reduced))
    length = np.linalg.norm(inputs, axis=1)
    along = reduced.direction @ inputs.T
    on = (np.abs(along) <= ON_PLANE * length) & (length > 0)
    if not on.any():
        return np.zeros(neurons, dtype=bool)
    derivative = np.atleast_2d(start.derivative)[
        problem.neuron_output if problem.loss.several else np.zeros(neurons, int)
    ]
    pull = -reduced.sample_weight * derivative * problem.weights.output_sign[:, None]
    slope = np.array([problem.activation.inactive_slope, 1.0])
    return np.array(
        [
            any(_repels(pull[j], slope, along[j], on[j], inputs, i) for i in np.flatnonzero(on[j]).tolist())
            for j in range(neurons)
        ]
    )


def _repels(pull: Floats, slope: Floats, along: Floats, on: Booleans, inputs: Floats, i: int) -> bool:
    """Whether the velocity of <w, x_i> is negative with the gate of sample i closed and positive with it open, for some
    gates of the other samples whose planes the neuron is on. slope: of the activation on either side."""
    gram = pull * (inputs @ inputs[i])
    others = on.copy()
    others[i] = False
    fixed = float((gram * np.where(along > 0, slope[1], slope[0]))[~on].sum())
    low = np.minimum(slope[0] * gram, slope[1] * gram)[others].sum()
    high = np.maximum(slope[0] * gram, slope[1] * gram)[others].sum()
    return bool(fixed + low + slope[0] * gram[i] < 0 < fixed + high + slope[1] * gram[i])


def elsewhere(setting: Setting, kept: Trajectory, companion: Trajectory) -> Booleans:
    """(m,): which neurons end at another cluster, or on another side of some sample, than in the companion run. Nothing is
    said where no weights were kept at the end."""
    neurons = len(setting.problem.hidden_log_norm)
    if not len(kept.kept_weights) or len(companion.kept_weights) < len(kept.kept_weights):
        return np.zeros(neurons, dtype=bool)
    reduced = setting.reduced
    ends = [reduced.lower(one.direction[-1], one.bias[-1]) for one in (kept, companion)]
    units = [end / np.linalg.norm(end, axis=1, keepdims=True) for end in ends]
    sides = [unit @ reduced.inputs.T > 0 for unit in units]
    different = (sides[0] != sides[1]).any(axis=1)
    if len(setting.problem.centers):
        nearest = [reduced.center_products(unit).argmax(axis=1) for unit in units]
        different |= nearest[0] != nearest[1]
    return np.asarray(different & (np.linalg.norm(units[0] - units[1], axis=1) > APART))


def named(found: Integers, seeds: Any = None) -> str:
    """The undetermined neurons (m,), or (members, m), in words; "" where there are none."""
    told = []
    for place in np.argwhere(found > DETERMINED).tolist():
        of = f"seed {seeds[place[0]]}, " if seeds is not None else ""
        told.append(f"{of}neuron {place[-1]} ({REASONS[int(found[tuple(place)])]})")
    rest = f"; and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return "; ".join(told[:NAMED]) + rest
