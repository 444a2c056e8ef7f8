"""The arrays of an ensemble, to be filled member by member, and how each member ended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..arrays import Booleans, Floats
from ..kinds.network import Network
from ..observe import NUMERICS, Instant, Selection, Setting, Trajectory, snapshot_indices
from ..problem import Problem
from ..scenario import Scenario
from ..solve import Snapshot
from ..solve.integrator import Flown
from ..solve.status import Status
from . import layout

NOT_RUN = Status("not_run", "not begun when this was written", exit_code=3)
#: What stands in a coordinate of a member that has not run.
MISSING = {"neuron_sign": 0, "target_cluster": -1, "label": math.nan, "clean_label": math.nan, "sample_cluster": -1}
#: name in `numerics` -> long name, of what is said of each member as a whole
MEMBERS = {
    "status": "how the member ended",
    "status_cause": "why the member ended",
    "exit_code": "0 where the member did what was asked",
    "stop_time": "flow time at which the member stopped; not a number where it has not run",
    "engine": "what integrated the member",
    "solver": "solver of the member",
    "flow_coordinates": "coordinates of the member's solver",
}


@dataclass(frozen=True)
class Outcome:
    """How a member ended, and what integrated it: empty where nothing has. warnings: reasons to be wary of it."""

    status: Status
    stop_time: float = math.nan
    engine: str = ""
    solver: str = ""
    coordinates: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """The values of MEMBERS."""
        ended = (self.status.name, self.status.cause, self.status.exit_code, self.stop_time)
        return dict(zip(MEMBERS, (*ended, self.engine, self.solver, self.coordinates), strict=True))


@dataclass(frozen=True)
class Gathered:
    """trajectory: on the whole grid of instants, every array but `time` and `kept_weights` with a leading member axis, NaN
    where a member that is there did not get; the last weights of a member are those where it stopped. final: variable, or
    name of NUMERICS, -> its values (members, …) where each member stopped. known: as `layout.root` takes it. outcomes: of
    every member. there (members,): which have been put; the arrays of others hold anything. network: an ordinary one.
    Members may be put by several threads at once.
    """

    trajectory: Trajectory
    final: dict[str, Floats]
    known: dict[str, NDArray[Any]]
    outcomes: list[Outcome]
    there: Booleans
    network: Network | None = None
    writing: AbstractContextManager[Any] = field(default_factory=Lock)

    @classmethod
    def empty(cls, scenario: Scenario, setting: Setting, selection: Selection, instants: Floats) -> Gathered:
        """Nothing yet. setting: that of one of the members."""
        members, slots = len(scenario.seeds), snapshot_indices(scenario)
        shape = setting.problem.hidden_direction.shape
        trajectory = Trajectory(
            time=instants,
            variables={name: _nothing(members, len(instants), *rest) for name, rest in selection.shapes.items()},
            numerics={name: _nothing(members, len(instants)) for name in NUMERICS},
            kept_weights=np.array(slots, dtype=np.int64),
            direction=_nothing(members, len(slots), *shape),
            bias=_nothing(members, len(slots), shape[0]),
            leaves=tuple(_nothing(members, len(slots), *array.shape) for array in setting.problem.leaves),
        )
        final = {name: _nothing(members, *rest) for name, rest in selection.shapes.items()}
        final |= {name: _nothing(members) for name in NUMERICS}
        known = layout.coordinates(setting)
        fixed = {"cluster_label", "neuron_output", *layout.shared(setting)} | (
            {"label", "sample_cluster"} if scenario.data.alike else set()
        )
        for name in known.keys() - fixed:
            known[name] = np.full((members, *known[name].shape), MISSING[name], dtype=known[name].dtype)
        known["seed"] = np.array(scenario.seeds)
        outcomes, there = [Outcome(NOT_RUN)] * members, np.zeros(members, dtype=np.bool_)
        return cls(trajectory, final, known, outcomes, there, setting.problem.network)

    def put(self, member: int, setting: Setting, selection: Selection, flown: Flown) -> None:
        """Fill in a member's arrays: what is observed of the instants it reached, and of where it stopped."""
        reached, mine = len(flown.snapshot.time), self.trajectory
        observed = [*selection.observe_all(setting, flown.snapshot)]
        last = selection.observe(Instant(setting, Snapshot.stack([flown.last])))
        slots = mine.kept_weights[:-1]
        there = np.flatnonzero(slots < reached)
        weights = setting.reduced.lift(
            np.concatenate([flown.snapshot.direction[slots[there]], flown.last.direction[None]])
        )
        with self.writing:
            if reached < len(mine.time):
                self._clear(member)
            for part, values in observed:
                for name, array in mine.variables.items():
                    array[member, part] = values[name]
            for name in mine.variables:
                self.final[name][member] = last[name][0]
            for name in NUMERICS:
                mine.numerics[name][member, :reached] = flown.numerics[name]
                self.final[name][member] = getattr(flown.report, name)
            if len(mine.kept_weights):
                filled = [*there, len(slots)]
                mine.direction[member, filled], mine.bias[member, filled] = weights
                for array, kept, last_one in zip(mine.leaves, flown.snapshot.leaves, flown.last.leaves, strict=True):
                    array[member, filled] = np.concatenate([kept[slots[there]], last_one[None]])
            for name, values in layout.coordinates(setting).items():
                if _by_member(self.known[name], name):
                    self.known[name][member] = values
            self.there[member] = True

    def _clear(self, member: int) -> None:
        for _, array in self._arrays():
            if array.dtype == float:
                array[member] = np.nan

    def restore(self, tree: xr.DataTree) -> None:
        """Take over the members that are done from a result of the same ensemble."""
        saved = {
            f"{node.path}/{name}".lstrip("/"): variable
            for node in tree.subtree
            for name, variable in node.to_dataset(inherit=False).variables.items()
        }
        facts = {name: saved[f"numerics/{name}"].values for name in MEMBERS}
        done = facts["exit_code"] == 0
        for name, array in self._arrays():
            if name in saved:
                array[done] = saved[name].values[done]
        self.there[done] = True
        for member in np.flatnonzero(done):
            name, cause, code, stop_time, engine, solver, coordinates = (facts[name][member] for name in MEMBERS)
            status = Status(str(name), str(cause), exit_code=int(code))
            self.outcomes[member] = Outcome(status, float(stop_time), str(engine), str(solver), str(coordinates))

    def groups(self, problem: Problem) -> dict[str, xr.Dataset]:
        """The root group of the result, and `final` and `numerics`; problem: of any of the members."""
        with self.writing:
            for member in np.flatnonzero(~self.there).tolist():
                self._clear(member)
        counts = layout.numerics(self.trajectory)
        facts = {name: np.array([outcome.facts[name] for outcome in self.outcomes]) for name in MEMBERS}
        of_members = {
            name: ("seed", values, {"long_name": MEMBERS[name], "units": "1"}) for name, values in facts.items()
        }
        return {
            "/": layout.root(self.trajectory, self.known, problem),
            "/final": layout.final(self.final, self.known),
            "/numerics": counts.assign(of_members),
        }

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Everything with a member axis, by its name in a result that has it."""
        mine = self.trajectory
        yield from mine.variables.items()
        yield from (("direction", mine.direction), ("bias_weight", mine.bias))
        if self.network is not None:
            leaves = layout.leaves(self.network, mine.leaves, ("snapshot",))
            yield from ((name, variable.values) for name, variable in leaves.items())
        yield from ((f"numerics/{name}", values) for name, values in mine.numerics.items())
        yield from ((f"final/{name}", values) for name, values in self.final.items())
        yield from (
            (name, self.known[name]) for name in self.known.keys() & MISSING if _by_member(self.known[name], name)
        )


def _by_member(values: NDArray[Any], name: str) -> bool:
    """Whether a coordinate has a leading member axis."""
    return values.ndim > len(layout.DIMENSIONS[name])


def _nothing(*shape: int) -> Floats:
    """Room that is not touched before something is put there."""
    return np.empty(shape)
