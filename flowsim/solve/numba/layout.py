"""What the compiled code works on: arrays in named tuples, allocated once and changed in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from ...arrays import Floats, Integers
from ...kinds.kernel import LEAKY
from ...kinds.threshold import Threshold
from ...problem import Problem, Reduced
from ...problem.planes import Planes
from ...scenario import Scenario
from ...scenario.flow import Stage
from ..constants import PIECES
from ..goals import Goals, Watch

#: More misfits than this in one step, and the step is tried again with a shorter one.
CANDIDATES = 1 << 16
#: At most so many times in a step a neuron goes on by itself from an event.
MOST_WALKS = 64
#: Bytes for the bases of the sliding neurons; it bounds the planes on which one neuron can slide at a time.
BASIS_BYTES = 2**28

# places in State.clock
TIME, STEP, LAST_ERROR, BEGIN, LENGTH, LOG_LOSS, RATE, LAST_EVENT = range(8)
# on the loss clock, where TIME is the clock: the flow's own time, its log, the log of dt/ds and its slope; what instants
# are named by; the spectral radius
FLOW_TIME, LOG_TIME, LOG_SPEED, SPEED_SLOPE, READING, SPECTRAL = range(8, 14)
# those where the last step began, the slope where it ended; how fast the fastest neuron moved at first; the flow time at
# which the loss clock began
BEGIN_LOG_TIME, BEGIN_LOG_SPEED, BEGIN_SLOPE, END_SLOPE, FIRST_RATE, LOSS_CLOCK_FROM = range(14, 20)
CLOCKS = 20
# places in State.counts
ACCEPTED, REJECTED, EVALUATIONS, EVENTS, STALLED, FINITE, REACHED, DENSE, CANDIDATE, BEGUN = range(10)
# LOSS_CLOCK: whether it runs; METHOD: 1 for the late solver, in the last step; SINCE: steps since that was looked at;
# PATIENCE: how many to wait; UNSEPARATED: the flow rests with a sample on the wrong side; GOES_OVER: whether the loss clock
# is to run from the step after all samples are on their own side; SEPARATED: they are; PIECED: pieces are those of the last
# step
LOSS_CLOCK, METHOD, SINCE, PATIENCE, UNSEPARATED, GOES_OVER, SEPARATED, PIECED = range(10, 18)
# WALKS: neurons that an event turned off the last step's path; UPDATES: velocities of one neuron alone; INEXACT: whether
# `ahead` has what neurons that were turned off change for the others still to be seen; TURNS: the last step ended at an
# event at which the next one has to choose gates first
WALKS, UPDATES, INEXACT, TURNS = range(18, 22)
COUNTERS = 22
#: Aims.reading: instants are named by the flow's time, by the clock, or by log10 of the time. BY_PART: of a
#: step, what is asked for by itself.
BY_TIME, BY_CLOCK, BY_LOG10_TIME, BY_PART = range(4)
READINGS = ("time", "clock", "log10_time")


#: Network.attack: nobody, or within a ball of this norm.
NO_ATTACK, L2, LINF = range(3)
#: The steps of PGD together are so many radii long.
PGD_LENGTH = 2.5


class Network(NamedTuple):
    """Which equations. kinked: gates are kept, because the derivative jumps at 0. slope: the derivative below 0. growth:
    1 - L/2 for a network of degree L in what is trained. square_decay, cubic_decay: of the regulariser. threshold,
    threshold_rate, threshold_cap, smoothing: of b(t) and of its noise, late_smoothing after the time `switch`. attack: 0
    for none, 1 in l2, 2 in linf; attack_steps of attack_step, within radius."""

    activation: int
    degree: float
    slope: float
    homogeneity: float
    loss: int
    polar: bool
    balanced: bool
    trained: bool
    kinked: bool
    growth: float
    square_decay: float
    cubic_decay: float
    threshold: float
    threshold_rate: float
    threshold_cap: float
    smoothing: float
    late_smoothing: float
    switch: float
    attack: int = NO_ATTACK
    radius: float = 0.0
    attack_steps: int = 0
    attack_step: float = 0.0

    @classmethod
    def of(cls, problem: Problem, coordinates: str, scenario: Scenario) -> Network:
        activation = problem.activation
        # plan chooses this engine for what has compiled code
        assert activation.kernel is not None
        assert problem.loss.kernel is not None
        kinked = not activation.smooth
        return cls(
            activation=LEAKY if activation.degree == 1 else activation.kernel,
            degree=float(activation.degree or 0),
            slope=float(activation.inactive_slope),
            homogeneity=float(activation.homogeneity),
            loss=problem.loss.kernel,
            polar=coordinates == "polar",
            balanced=problem.balanced,
            trained=problem.trained_output,
            kinked=kinked,
            growth=1.0 - 0.5 * problem.total_degree,
            square_decay=problem.square_decay,
            cubic_decay=problem.cubic_decay,
            **_threshold(scenario.model.common_threshold),
            **_attack(scenario),
        )


def _threshold(threshold: Threshold | None) -> dict[str, Any]:
    found = threshold or Threshold(0.0)
    return {
        "threshold": found.start,
        "threshold_rate": found.growth,
        "threshold_cap": found.cap,
        "smoothing": found.smoothing,
        "late_smoothing": found.late_smoothing,
        "switch": found.switch,
    }


def _attack(scenario: Scenario) -> dict[str, Any]:
    attack = scenario.flow.attack if isinstance(scenario.flow, Stage) else None
    if attack is None:
        return {}
    length = attack.radius if attack.kind == "fgm" else PGD_LENGTH * attack.radius / attack.iterations
    return {
        "attack": L2 if attack.norm == "l2" else LINF,
        "radius": attack.radius,
        "attack_steps": attack.iterations,
        "attack_step": length,
    }


class Data(NamedTuple):
    """inputs (n, r), targets, weight, norm (n,): the samples. output_index (m,): the output that each neuron is part of;
    output_start (k + 1,): the first neuron of each. plane (n,), factor (n,): x_i = factor_i times the
    sample first (H,) of its plane; member_start (H + 1,), member (n,): the samples of each plane. feature (r,): 1 for what
    an attacker may change, 0 for a bias. noise (n, m): added to pre-activations, or (0, m)."""

    inputs: Floats
    targets: Floats
    weight: Floats
    norm: Floats
    output_sign: Floats
    output_log: Floats
    output_index: Integers
    output_start: Integers
    plane: Integers
    factor: Floats
    first: Integers
    member_start: Integers
    member: Integers
    feature: Floats
    noise: Floats

    @classmethod
    def of(cls, reduced: Reduced, planes: Planes) -> Data:
        weights = reduced.problem.weights
        return cls(
            inputs=np.ascontiguousarray(reduced.inputs),
            targets=reduced.targets.astype(float),
            weight=reduced.sample_weight.astype(float),
            norm=np.sqrt(np.einsum("ij,ij->i", reduced.inputs, reduced.inputs)),
            output_sign=weights.output_sign.astype(float),
            output_log=weights.output_log.astype(float),
            output_index=reduced.problem.neuron_output,
            output_start=np.searchsorted(reduced.problem.neuron_output, np.arange(reduced.problem.outputs + 1)),
            plane=planes.plane,
            factor=planes.factor,
            first=planes.first,
            member_start=planes.member_start,
            member=planes.member,
            feature=reduced.feature_coordinates,
            noise=np.zeros((0, len(weights.output_sign))),
        )


class Aims(NamedTuple):
    """Tolerance, what instants are named by, and goals, ±inf where not asked for. The arrays
    are those of :class:`flowsim.solve.goals.Watch`."""

    rtol: float
    reading: int
    end: float
    log_loss: float
    alignment: float
    center: Floats
    targeted: Any
    feature: Floats

    @classmethod
    def of(cls, scenario: Scenario, reduced: Reduced, reading: str = "time") -> Aims:
        goals, watch = Goals.of(scenario.flow.until), Watch.of(reduced)
        return cls(scenario.flow.rtol, READINGS.index(reading), *goals, *watch)


class State(NamedTuple):
    """Everything between two steps.

    y (m, r + 2): rows are neurons: r entries of u or w, then log|w| (polar), then v/|w| or v. y_begin, k (stages, m,
    r + 2): where the last step began, and its velocities; ahead (m, r + 2): the velocity now. clock, counts: see above.
    mode (m, r + 2): the fastest direction of the field, for Chebyshev steps. pieces (2, PIECES + 1): log of dt/ds and its
    slope at even places of the last step.
    What follows is of a network with gates, None of any other, so that nothing is compiled for it. gate (m, n): 1 where
    the pair counts as active. strength (k, n), threshold (m,): a pair whose strength is beyond the neuron's threshold
    keeps its gate during a step, the others go by the sign of the pre-activation. gain (m,): |v/w|, by which a jump of
    the force moves the neuron. slide_count (m,), slide_plane (m, S): the planes that a neuron slides along; basis (m,
    S, r), triangle (m, S, S): their normals as triangle^T basis; begin_count, begin_plane: where it slid in the last
    step. hold, guard, guard_count (m,): until when a neuron's kinks are stepped over, and since when its events are
    counted.
    walk_row (W,): neurons that went on by themselves in the last step, walk_part (W,): from which part of it to its end;
    walk_y (W, r + 2), walk_k (stages, W, r + 2): from where, and their velocities; walk_count (W,), walk_plane (W, S):
    where they slid. seen_count, seen_plane: where neurons slid at the place that was last looked at within the step.
    """

    y: Floats
    y_begin: Floats
    k: Floats
    ahead: Floats
    clock: Floats
    counts: Integers
    mode: Floats
    pieces: Floats
    gate: Any = None
    strength: Any = None
    threshold: Any = None
    gain: Any = None
    slide_count: Any = None
    slide_plane: Any = None
    begin_count: Any = None
    begin_plane: Any = None
    basis: Any = None
    triangle: Any = None
    hold: Any = None
    guard: Any = None
    guard_count: Any = None
    walk_row: Any = None
    walk_part: Any = None
    walk_y: Any = None
    walk_k: Any = None
    walk_count: Any = None
    walk_plane: Any = None
    seen_count: Any = None
    seen_plane: Any = None

    @classmethod
    def empty(cls, network: Network, stages: int, neurons: int, coordinates: int, shape: tuple[int, int]) -> State:
        """shape: (k, n), of the outputs."""
        rows, entries = neurons, coordinates + 2
        return cls(
            y=np.zeros((rows, entries)),
            y_begin=np.zeros((rows, entries)),
            k=np.zeros((stages, rows, entries)),
            ahead=np.zeros((rows, entries)),
            clock=np.zeros(CLOCKS),
            counts=np.zeros(COUNTERS, dtype=np.int64),
            mode=np.zeros((rows, entries)),
            pieces=np.zeros((2, PIECES + 1)),
            **(_gates(stages, rows, coordinates, shape) if network.kinked else {}),
        )


def _gates(stages: int, rows: int, coordinates: int, shape: tuple[int, int]) -> dict[str, Any]:
    """What a state has of gates."""
    entries, (outputs, samples) = coordinates + 2, shape
    most = max(1, min(coordinates, samples, BASIS_BYTES // (8 * rows * coordinates)))
    return {
        "gate": np.zeros((rows, samples), dtype=np.int8),
        "strength": np.zeros((outputs, samples)),
        "threshold": np.zeros(rows),
        "gain": np.zeros(rows),
        "slide_count": np.zeros(rows, dtype=np.int64),
        "slide_plane": np.zeros((rows, most), dtype=np.int64),
        "begin_count": np.zeros(rows, dtype=np.int64),
        "begin_plane": np.zeros((rows, most), dtype=np.int64),
        "basis": np.zeros((rows, most, coordinates)),
        "triangle": np.zeros((rows, most, most)),
        "hold": np.full(rows, -np.inf),
        "guard": np.full(rows, -np.inf),
        "guard_count": np.zeros(rows, dtype=np.int64),
        "walk_row": np.zeros(MOST_WALKS, dtype=np.int64),
        "walk_part": np.zeros(MOST_WALKS),
        "walk_y": np.zeros((MOST_WALKS, entries)),
        "walk_k": np.zeros((stages, MOST_WALKS, entries)),
        "walk_count": np.zeros(MOST_WALKS, dtype=np.int64),
        "walk_plane": np.zeros((MOST_WALKS, most), dtype=np.int64),
        "seen_count": np.zeros(rows, dtype=np.int64),
        "seen_plane": np.zeros((rows, most), dtype=np.int64),
    }


class Work(NamedTuple):
    """What one evaluation leaves for those that look at it, and room to work in.

    direction (m, r), log_norm, norm, ratio, output (m,): the state, |v| only in cartesian coordinates; factor (m,): v
    |w|^q; outputs, pull (k, n): f(x_i) and -weight dl/df; pre (m, n) with a kink, (n, m)
    without: pre-activations, then slope times pull; force (m, r): slope times pull times x, summed over the samples. size
    (m,), reach (m,): the neuron's norm in this step, the larger one of its ends, and how much larger than now that is, at
    least 1 (1 in polar coordinates). estimate (2, m, r + 2): of the step's error. log_speed (all stages,): log of dt/ds on
    the loss clock. attacked, ascent (n, r): the samples moved by an attacker, and where the loss rises from there. The
    factors of matrix products and what comes of them are float32 where the inputs are.
    What follows is of a network with gates, None of any other. slide_z, slide_cap (all stages, m, S): the force onto
    each sliding plane, and what its gate can take of it. candidate (2, C): pairs whose sign does not fit their gate.
    flagged (m,): neurons at an event. pulls (all stages, k, n): `pull` at the stages, with a kink. share (n,): one
    neuron's part of its output. shift (k, n): what the walks have changed of the outputs at the end of the step. where
    (m,): the part of the step at which each neuron has its next event.
    """

    direction: Floats
    log_norm: Floats
    norm: Floats
    ratio: Floats
    output: Floats
    factor: Floats
    outputs: Floats
    pull: Floats
    force: Floats
    pre: Floats
    stage: Floats
    estimate: Floats
    total: Floats
    size: Floats
    reach: Floats
    log_speed: Floats
    attacked: Floats
    ascent: Floats
    slide_z: Any = None
    slide_cap: Any = None
    candidate: Any = None
    flagged: Any = None
    pulls: Any = None
    share: Any = None
    shift: Any = None
    where: Any = None

    @classmethod
    def empty(cls, network: Network, state: State, shape: tuple[int, int], number: DTypeLike = float) -> Work:
        """shape: (k, n), of the outputs; number: what matrix products are computed in."""
        rows, entries = state.y.shape
        moved = (shape[1] if network.attack else 0, entries - 2)
        return cls(
            direction=np.zeros((rows, entries - 2), number),
            log_norm=np.zeros(rows),
            norm=np.zeros(rows),
            ratio=np.zeros(rows),
            output=np.zeros(rows),
            factor=np.zeros(rows),
            outputs=np.zeros(shape),
            pull=np.zeros(shape),
            force=np.zeros((rows, entries - 2), number),
            pre=np.zeros((rows, shape[1]) if network.kinked else (shape[1], rows), number),
            stage=np.zeros((rows, entries)),
            estimate=np.zeros((2, rows, entries)),
            total=np.zeros(rows),
            size=np.zeros(rows),
            reach=np.ones(rows),
            log_speed=np.zeros(len(state.k)),
            attacked=np.zeros(moved, number),
            ascent=np.zeros(moved, number),
            **(_room_of_gates(state, shape) if network.kinked else {}),
        )


def _room_of_gates(state: State, shape: tuple[int, int]) -> dict[str, Any]:
    stages, rows, most = len(state.k), len(state.y), state.slide_plane.shape[1]
    return {
        "slide_z": np.zeros((stages, rows, most)),
        "slide_cap": np.zeros((stages, rows, most)),
        "candidate": np.zeros((2, CANDIDATES), dtype=np.int64),
        "flagged": np.zeros(rows, dtype=np.bool_),
        "pulls": np.zeros((stages, *shape)),
        "share": np.zeros(shape[1]),
        "shift": np.zeros(shape),
        "where": np.zeros(rows),
    }


class Log(NamedTuple):
    """What is kept of many instants: y (T, m, r + 2), log_time (T,), counts (T, …), step (T,), and sliding (T, m, H) for
    the planes of a network with gates, None of any other."""

    y: Floats
    log_time: Floats
    counts: Integers
    step: Floats
    sliding: Any = None

    @classmethod
    def empty(cls, instants: int, network: Network, shape: tuple[int, int], planes: int) -> Log:
        """shape: that of y."""
        return cls(
            y=np.zeros((instants, *shape)),
            log_time=np.zeros(instants),
            counts=np.zeros((instants, COUNTERS), dtype=np.int64),
            step=np.zeros(instants),
            sliding=np.zeros((instants, shape[0], planes), dtype=np.bool_) if network.kinked else None,
        )
