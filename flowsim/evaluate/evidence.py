"""A run as claims see it: its problem, its trajectory, its network at the end, and test data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import xarray as xr

from ..arrays import Floats, Integers
from ..errors import UsageError
from ..kinds.samples import Samples
from ..observe import OBSERVABLES, Instant, Setting
from ..problem import Problem, fresh
from ..results.weights import weights_of
from ..scenario import Scenario
from ..solve import Snapshot
from .kkt import Limit, angle, find
from .kkt.point import Point
from .robustness import TwoLayer, network_of

#: Test samples, or as many as have so many numbers.
TEST_SAMPLES, TEST_NUMBERS = 10_000, 20_000_000


class NotApplicable(Exception):
    """A claim speaks of something that the run does not have; the message says of what."""


class NotCovered(NotApplicable):
    """The run is of what a claim speaks of, and did not reach or keep the part that it speaks of; the message says what is
    missing. measured: the number as far as the run went, where there is one."""

    def __init__(self, message: str, measured: float = math.nan):
        super().__init__(message)
        self.measured = measured


@dataclass(frozen=True)
class Evidence:
    """trajectory: the root group of a result. step: that of gradient descent, None for a flow. known: what several claims
    share and takes long to find. given: a KKT point that claims about every one are asked of, None for the flow's own.
    say: told how far what takes long is. companion: of a certified run, its companion as evidence."""

    scenario: Scenario
    setting: Setting
    trajectory: xr.Dataset
    step: float | None = None
    known: dict[str, object] = field(default_factory=dict, compare=False, repr=False)
    given: Point | None = field(default=None, compare=False, repr=False)
    say: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    companion: Evidence | None = field(default=None, compare=False, repr=False)

    @property
    def problem(self) -> Problem:
        return self.setting.problem

    @cached_property
    def weights(self) -> Snapshot:
        """The instants whose weights were kept, as many."""
        try:
            return weights_of(self.setting, self.trajectory)
        except UsageError as error:
            raise NotApplicable(str(error)) from None

    @cached_property
    def end(self) -> Instant:
        """The last of them."""
        return Instant(self.setting, self.weights[-1])

    @cached_property
    def network(self) -> TwoLayer:
        """The ReLU network at the end, in the original features. With several outputs, their sum."""
        if self.problem.activation.name != "relu":
            raise NotApplicable(f"it speaks of ReLU, and the activation is {self.problem.activation.name}")
        return network_of(self.setting, self.weights[-1])

    @cached_property
    def limit(self) -> Limit:
        """The KKT point that the flow goes to. Its search may take as long as the last flow might."""
        *_, (_, flow) = self.scenario.flows()
        try:
            return find(self.setting, self.weights[-1], flow.wall_time, self.say)
        except UsageError as error:
            raise NotApplicable(str(error)) from None

    @property
    def kkt_point(self) -> Point:
        """The KKT point that claims about every one are asked of."""
        return self.limit.point if self.given is None else self.given

    def asked_of(self, setting: Setting, given: Point) -> Evidence:
        """The same for another KKT point of the same samples, with the same fresh ones; setting: of as many neurons."""
        other = replace(self, setting=setting, known={}, given=given, companion=None)
        if "test" in vars(self):  # they take longer to draw than claims to be asked
            vars(other)["test"] = self.test
        return other

    @property
    def limit_network(self) -> TwoLayer:
        """The limit in the original features."""
        hidden, bias = self.setting.reduced.lift(self.limit.network.hidden)
        return TwoLayer.of(hidden, bias, self.limit.network.output, self.problem.activation)

    def angle_to_limit(self, index: int) -> float:
        """Between the weights of a kept snapshot and the limit's, in rad."""
        return angle(self.limit, self.weights[index])

    @cached_property
    def neuron_output(self) -> Integers:
        """(m,): the output that each neuron belongs to"""
        if not self.problem.loss.classes:
            raise NotApplicable("it speaks of networks with an output per cluster")
        return self.problem.neuron_output

    def class_outputs(self, x: Floats) -> Floats:
        """(n, K): the outputs of a network that has one per cluster"""
        network, features = self.network, np.zeros((len(self.neuron_output), len(self.problem.centers)))
        features[np.arange(len(features)), self.neuron_output] = np.exp(network.log_scale) * network.weight
        return network.responses(x)[0] @ features

    @cached_property
    def test(self) -> Samples:
        """Fresh samples around the same centres."""
        count = min(TEST_SAMPLES, max(TEST_NUMBERS // self.problem.features, 1))
        try:
            return fresh(self.scenario, self.problem.samples, count)
        except UsageError as error:
            raise NotApplicable(str(error)) from None

    @cached_property
    def clean_label(self) -> Integers:
        """(n,): label of each training sample's cluster"""
        if not len(self.problem.centers) or (self.problem.sample_cluster < 0).any():
            raise NotApplicable("it speaks of clusters, which are unknown here")
        return self.problem.cluster_label[self.problem.sample_cluster]

    def accuracy(self, outputs: Floats, labels: Floats | Integers) -> float:
        """Share of outputs (n,) with the sign of their label."""
        return float(np.mean(np.sign(outputs) == labels))

    def over_time(self, name: str) -> tuple[Floats, Floats]:
        """(times (T,), values (T, …)) of an observable at all instants it was kept at; else at those that kept their
        weights."""
        if name in self.trajectory:
            return self.trajectory["time"].values, self.trajectory[name].values
        observable = OBSERVABLES[name]
        if not observable.exists(self.setting):
            raise NotApplicable(f"it needs {observable.needs}")
        snapshots = self.weights
        return snapshots.time, np.array(
            [observable.value(Instant(self.setting, snapshots[index])) for index in range(len(snapshots.time))]
        )

    def between(self, name: str, after: float, until: float = np.inf) -> Floats:
        """The values of an observable at the kept instants in (after, until]; there must be some."""
        times, values = self.over_time(name)
        inside = (times > after) & (times <= until * (1 + 1e-9))
        if not inside.any():
            raise NotCovered(f"no instant was kept after time {after:g} and until {until:g} (see observe.times)")
        return values[inside]
