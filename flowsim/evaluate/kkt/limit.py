"""From where a flow stopped to the KKT point that it goes to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats
from ...errors import UsageError
from ...observe import Instant, Setting
from ...observe.kkt import certifiable
from ...solve import Snapshot
from .certificate import Network
from .follow import Followed, follow
from .point import SUPPORT, Point, beside
from .sizes import Hyperbolic, Plain, Sizes
from .state import State, System


@dataclass(frozen=True)
class Limit:
    """point: the KKT point that the flow goes to. followed: how the asymptotic flow went there from the flow's last
    snapshot. scale: margins of the data are this times those of its samples, which are of length 1 at most."""

    setting: Setting
    point: Point
    followed: Followed
    scale: float

    @property
    def network(self) -> Network:
        """At smallest margin 1."""
        return self.point.network

    @property
    def residual(self) -> float:
        return self.point.residual

    @property
    def own(self) -> bool:
        """Whether the asymptotic flow shows it to be the limit of the flow."""
        return self.point.certified and not self.followed.reason

    @property
    def margin(self) -> float:
        """The normalised margin, 1 / |theta|^L."""
        problem = self.setting.problem
        power = problem.activation.homogeneity + problem.trained_output
        return float(np.linalg.norm(self.network.flat(problem)) ** -power)

    @property
    def support(self) -> Booleans:
        """(n',): the samples with a multiplier"""
        return np.asarray(self.point.multiplier > SUPPORT * self.point.multiplier.max())

    @property
    def alive(self) -> Booleans:
        """(m,): the neurons that do not die"""
        return self.point.alive


def find(
    setting: Setting, snapshot: Snapshot, wall_time: float | None = None, say: Callable[[str], None] | None = None
) -> Limit:
    """The KKT point that a flow goes to from a network that classifies all samples. wall_time: seconds that this may take;
    say: told how far it is. Raises UsageError where there is none to look for, or none was found."""
    problem = setting.problem
    if not certifiable(problem):
        raise UsageError(
            "only homogeneous networks of one output, targets +1/-1, logistic or exponential loss go to a KKT point"
        )
    if not problem.two_layers:
        raise UsageError("the limit is looked for in networks of two layers")
    margin = Instant(setting, snapshot).certificate.normalised_margin
    if not margin > 0:
        raise UsageError("the flow has not separated the samples yet, so it shows no way to a limit")
    reduced = setting.reduced
    system = System.of(reduced)
    state = State(snapshot.direction, _sizes(setting, snapshot, system))
    followed = follow(
        system,
        state,
        lambda state, pull: beside(reduced, system, state, pull),
        lambda point, state: _apart(setting, point.network, state.direction, state.sizes),
        _clock(wall_time, say),
    )
    if followed.point is None:
        raise UsageError(followed.reason)
    longest = float(np.linalg.norm(reduced.inputs, axis=1).max())
    return Limit(setting, followed.point, followed, longest**system.degree)


def _clock(wall_time: float | None, say: Callable[[str], None] | None) -> Callable[[float, float], bool]:
    begun = time.monotonic()

    def ended(grown: float, distance: float) -> bool:
        if say is not None:
            say(f"limit: log10 |theta| + {grown / np.log(10):.3g}, distance {distance:.2g}")
        return wall_time is not None and time.monotonic() - begun >= wall_time

    return ended


def _sizes(setting: Setting, snapshot: Snapshot, system: System) -> Sizes:
    if not (system.trained and system.power == 1):
        return Plain(snapshot.log_norm, snapshot.output_log, snapshot.output_sign)
    start = setting.problem.weights
    now = snapshot.log_norm, snapshot.output_log, snapshot.output_sign
    return Hyperbolic.of(*now, start.log_norm, start.output_log)


def angle(found: Limit, snapshot: Snapshot) -> float:
    """Between the weights of the flow and those of the limit, in rad."""
    sizes = Plain(snapshot.log_norm, snapshot.output_log, snapshot.output_sign)
    return _apart(found.setting, found.network, snapshot.direction, sizes)


def _apart(setting: Setting, network: Network, direction: Floats, sizes: Sizes) -> float:
    problem = setting.problem
    top = max(sizes.log_norm.max(), sizes.output_log.max() if problem.trained_output else -np.inf)
    hidden = np.exp(sizes.log_norm - top)[:, None] * direction
    flow = Network(hidden, sizes.output_sign * np.exp(sizes.output_log - top)).flat(problem)
    other = network.flat(problem)
    flow, other = flow / np.linalg.norm(flow), other / np.linalg.norm(other)
    return float(2 * np.arctan2(np.linalg.norm(flow - other), np.linalg.norm(flow + other)))
