"""From where a flow stopped to the KKT point that it goes to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ...arrays import Booleans, Floats
from ...errors import UsageError
from ...observe import Instant, Setting
from ...observe.kkt import certifiable, homogeneity
from ...solve import Snapshot
from ...threads import blas_threads
from ..case import Result, reopened
from .certificate import Network, gradient, residuals
from .piecewise import Piecewise
from .smooth import LARGEST, polish

#: A network whose conditions are met to this is a KKT point.
FOUND = 1e-8
#: A smooth neuron whose pull is at most this part of its size is taken for one that dies.
DYING = 0.5
#: Rounding of margins: those of a flow never fall.
SLACK = 1e-6
#: A cosine between neuron and sample below this is that of a pair that slides.
SLIDES = 1e-9


@dataclass(frozen=True)
class Limit:
    """network: at smallest margin 1; multiplier (n',); gate (m, n'): slopes, None where the activation has no kink.
    conditions: as :func:`flowsim.evaluate.kkt.certificate.residuals` says. rounds: guesses of support and gates.
    flow_gate: the same of the flow where it stopped, NaN where a pair slides; flow_support (n',): its support;
    flow_margin: its smoothed margin, NaN where the loss is too large for one."""

    setting: Setting
    network: Network
    multiplier: Floats
    gate: Floats | None
    conditions: dict[str, float]
    rounds: int
    settled: bool
    flow_gate: Floats | None
    flow_support: Booleans
    flow_margin: float

    @property
    def residual(self) -> float:
        return max(self.conditions.values())

    @property
    def margin(self) -> float:
        """The normalised margin, 1 / |theta|^L."""
        power = homogeneity(self.setting.problem)
        assert power is not None
        return float(np.linalg.norm(self.network.flat(self.setting.problem)) ** -power)

    @property
    def support(self) -> Booleans:
        """(n',): the samples with a multiplier"""
        return np.asarray(self.multiplier > 1e-9 * self.multiplier.max())

    @property
    def alive(self) -> Booleans:
        """(m,): the neurons that the limit has"""
        return np.asarray(np.linalg.norm(self.network.hidden, axis=1) > 0)

    @property
    def gates_apart(self) -> int:
        """How many gates of its neurons differ from the flow's."""
        if self.gate is None or self.flow_gate is None:
            return 0
        apart = self.gate != self.flow_gate
        between = (self.gate > self._slope) & (self.gate < 1) & np.isnan(self.flow_gate)
        return int((apart & ~between)[self.alive].sum())

    @property
    def supports_apart(self) -> int:
        """How many samples support the margin of one, the flow or the limit, but not of the other."""
        return int((self.support != self.flow_support).sum())

    @property
    def _slope(self) -> float:
        return self.setting.problem.activation.inactive_slope


def find(setting: Setting, snapshot: Snapshot) -> Limit:
    """The KKT point near a network that classifies all samples. Raises UsageError where there is none to look for, or
    none was found."""
    problem = setting.problem
    if not certifiable(problem):
        raise UsageError("only homogeneous networks with targets +1/-1, logistic or exponential loss go to a KKT point")
    instant = Instant(setting, snapshot)
    certificate = instant.certificate
    if not np.isfinite(certificate.residual):
        raise UsageError("the flow has not separated the samples yet, so it shows no way to a limit")
    multiplier = certificate.multiplier * setting.multiplicity
    power = problem.activation.homogeneity + problem.trained_output
    log_margin = np.log(certificate.normalised_margin)  # of theta at norm 1
    size = 0.5 * np.logaddexp.reduce(
        2 * np.concatenate([snapshot.log_norm, snapshot.output_log] if problem.trained_output else [snapshot.log_norm])
    )
    shift = size + log_margin / power
    hidden = np.exp(snapshot.log_norm - shift)[:, None] * snapshot.direction
    output = snapshot.output_sign * np.exp(snapshot.output_log - (shift if problem.trained_output else 0.0))
    support, smoothed = np.asarray(certificate.support, dtype=bool), float(certificate.smoothed_margin)
    try:
        if problem.activation.degree == 1:
            return _piecewise(setting, snapshot, Network(hidden, output), support, smoothed)
        return _smooth(setting, Network(hidden, output), multiplier, support, smoothed)
    except np.linalg.LinAlgError as error:
        raise UsageError(str(error)) from None


def _piecewise(setting: Setting, snapshot: Snapshot, network: Network, support: Booleans, margin: float) -> Limit:
    problem, reduced = setting.problem, setting.reduced
    slope = problem.activation.inactive_slope
    cosine = snapshot.direction @ reduced.inputs.T / np.linalg.norm(reduced.inputs, axis=1)
    sliding = np.abs(cosine) < SLIDES if slope < 1 else np.zeros(cosine.shape, dtype=bool)
    size = np.abs(network.output)
    strength = size * np.linalg.norm(network.hidden, axis=1) if problem.trained_output else size**2
    solver = Piecewise(reduced, np.sign(network.output), None if problem.trained_output else strength)
    found = solver.solve(snapshot.direction, sliding, strength)
    own = np.sqrt(found.strength)
    gate = np.clip(found.gate, slope, 1.0)
    limit = Network(own[:, None] * found.pull, np.sign(network.output) * own)
    # a neuron that is 0 has any gates
    gate = np.where(found.strength[:, None] > 0, gate, slope)
    flow_gate = np.where(sliding, np.nan, np.where(cosine > 0, 1.0, slope))
    conditions = residuals(limit, reduced, found.multiplier, gate)
    return Limit(
        setting, limit, found.multiplier, gate, conditions, found.rounds, found.settled, flow_gate, support, margin
    )


def _smooth(setting: Setting, network: Network, multiplier: Floats, support: Booleans, margin: float) -> Limit:
    problem, reduced = setting.problem, setting.reduced
    if network.hidden.size + network.output.size > LARGEST:
        raise UsageError(f"the limit of a smooth activation is looked for with up to {LARGEST} weights, not more")
    if problem.trained_output:
        # what pulls a neuron less than it would take to keep up with the others dies
        pulled = gradient(network, reduced, multiplier, None).hidden
        lives = np.linalg.norm(pulled, axis=1) > DYING * np.linalg.norm(network.hidden, axis=1)
        network = Network(network.hidden * lives[:, None], network.output * lives)
    limit, found, rounds, settled = polish(network, reduced, multiplier, support)
    conditions = residuals(limit, reduced, found, None)
    return Limit(setting, limit, found, None, conditions, rounds, settled, None, support, margin)


def limit(result: Result, *, seed: int | None = None) -> xr.Dataset:
    """The group `limit` of a finished run: the KKT point that its flow goes to, and how far the flow is from it.

    seed: the member of an ensemble. Attributes: found (1 or 0), verdict (in words), rounds.
    """
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        try:
            return limit_group(find(case.setting, case.weights[-1]), case.weights)
        except UsageError as error:
            return without_limit(str(error))


def without_limit(reason: str) -> xr.Dataset:
    """The group of a run that shows no way to a KKT point: only the reason, in its attributes."""
    return xr.Dataset(attrs={"found": 0, "rounds": 0, "verdict": f"no KKT point found: {reason}"})


def limit_group(found: Limit, snapshots: Snapshot) -> xr.Dataset:
    """The group of a limit; snapshots: the instants of its flow whose weights were kept, as many."""
    setting, reduced, network = found.setting, found.setting.reduced, found.network
    hidden, bias = reduced.lift(network.hidden)
    each = reduced.representative
    angles = np.array([angle(found, snapshots[index]) for index in range(len(snapshots.time))])
    variables: dict[str, tuple[tuple[str, ...], object, str]] = {
        "hidden": (("neuron", "feature"), hidden, "w_j of the limit, at smallest margin 1; 0 for a neuron that dies"),
        "output_weight": (("neuron",), network.output, "v_j of the limit, at smallest margin 1"),
        "multiplier": (
            ("sample",),
            (found.multiplier / setting.multiplicity)[each],
            "lambda_i, of each of equal samples",
        ),
        "margin": (("sample",), network.margins(reduced)[each], "margin y f(x) in the limit"),
        "angle": (("snapshot",), angles, "angle between the flow's weights and the limit's, in rad"),
        "residual": ((), found.residual, "the largest of the conditions below"),
        **{name: ((), value, CONDITIONS[name]) for name, value in found.conditions.items()},
        "alive": ((), int(found.alive.sum()), "neurons of the limit that are not 0"),
        "support": ((), int(found.support[each].sum()), "samples with a multiplier"),
        "supports_apart": (
            (),
            found.supports_apart,
            "samples that support the margin of only one of the two",
        ),
        "gates_apart": ((), found.gates_apart, "gates of living neurons that differ between the flow and the limit"),
    }
    if setting.problem.bias:
        variables["hidden_bias"] = (("neuron",), bias, "b_j of the limit, at smallest margin 1")
    dataset = xr.Dataset(
        {name: (dims, values, {"long_name": said, "units": "1"}) for name, (dims, values, said) in variables.items()}
    )
    settled = int(found.settled and found.residual <= FOUND)
    dataset.attrs = {"found": settled, "rounds": found.rounds, "verdict": verdict(found)}
    return dataset


#: condition -> long name
CONDITIONS = {
    "stationarity": "|theta - sum lambda_i grad q_i| / |theta|",
    "feasibility": "by how much the smallest margin is below 1",
    "complementarity": "largest lambda_i |q_i - 1| / |theta|^2",
    "sign": "size of the most negative multiplier, relative to the largest",
    "gates": "largest cosine of a pair whose gate is not allowed by the side it is on",
}


def verdict(found: Limit) -> str:
    """In words, whether this is the limit of the flow itself."""
    if not (found.settled and found.residual <= FOUND):
        return f"no KKT point found: residual {found.residual:.3g} after {found.rounds} guesses of support and gates"
    if found.margin < found.flow_margin * (1 - SLACK):
        return "a KKT point of a smaller margin than the flow has already, so not its limit; let the flow go on"
    if found.gates_apart or found.supports_apart:
        return (
            f"a KKT point near the flow: {found.supports_apart} samples in or out of the support and "
            f"{found.gates_apart} gates differ, so the flow may yet turn to another"
        )
    return "the flow's own limit: the same support and the same gates"


def angle(found: Limit, snapshot: Snapshot) -> float:
    """Between the weights of the flow and those of the limit, in rad."""
    problem = found.setting.problem
    top = max(snapshot.log_norm.max(), snapshot.output_log.max() if problem.trained_output else -np.inf)
    hidden = np.exp(snapshot.log_norm - top)[:, None] * snapshot.direction
    flow = Network(hidden, snapshot.output_sign * np.exp(snapshot.output_log - top)).flat(problem)
    other = found.network.flat(problem)
    flow, other = flow / np.linalg.norm(flow), other / np.linalg.norm(other)
    return float(2 * np.arctan2(np.linalg.norm(flow - other), np.linalg.norm(flow + other)))
