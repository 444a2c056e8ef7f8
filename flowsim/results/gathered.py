"""The arrays of several members on the same instants, to be filled member by member, and how each member ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..arrays import Booleans, Floats, Integers
from ..kinds.network import Network
from ..observe import NUMERICS, Selection, Setting, Trajectory, snapshot_indices
from ..problem import Problem
from ..scenario import Scenario
from ..solve.schedule import Schedule
from ..solve.status import Status
from . import companion as beside
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
    name of NUMERICS, -> its values (members, …) where each member stopped. known: as `layout.root` takes it. there
    (members,): which have been put; the arrays of others hold anything. network: an ordinary one. companion: of a certified
    ensemble, the companions' trajectory on the same grid; undetermined (members, m): what
    :func:`flowsim.evaluate.undetermined.undetermined` says of each member.
    Members may be put by several threads at once.
    """

    trajectory: Trajectory
    final: dict[str, Floats]
    known: dict[str, NDArray[Any]]
    there: Booleans
    network: Network | None = None
    companion: Trajectory | None = None
    undetermined: Floats | None = None
    writing: AbstractContextManager[Any] = field(default_factory=Lock)

    @classmethod
    def empty(cls, scenario: Scenario, setting: Setting, selection: Selection) -> Gathered:
        """Nothing yet. setting: that of one of the members."""
        members, slots = len(scenario.seeds), snapshot_indices(scenario)
        instants = np.array(Schedule.of(scenario, math.nan).instants)
        shape = setting.problem.kept_shape

        def nothing_yet() -> Trajectory:
            return Trajectory(
                time=instants,
                variables={name: _nothing(members, len(instants), *rest) for name, rest in selection.shapes.items()},
                numerics={name: _nothing(members, len(instants)) for name in NUMERICS},
                kept_weights=np.array(slots, dtype=np.int64),
                direction=_nothing(members, len(slots), *shape),
                bias=_nothing(members, len(slots), shape[0]),
                leaves=tuple(_nothing(members, len(slots), *array.shape) for array in setting.problem.leaves),
            )

        trajectory = nothing_yet()
        final = {name: _nothing(members, *rest) for name, rest in selection.shapes.items()}
        final |= {name: _nothing(members) for name in NUMERICS}
        known = layout.coordinates(setting)
        fixed = {"cluster_label", "neuron_output", *layout.shared(setting)} | (
            {"label", "sample_cluster"} if scenario.data.alike else set()
        )
        for name in known.keys() - fixed:
            known[name] = np.full((members, *known[name].shape), MISSING[name], dtype=known[name].dtype)
        known["seed"] = np.array(scenario.seeds)
        there, network = np.zeros(members, dtype=np.bool_), setting.problem.network
        if not scenario.certified:
            return cls(trajectory, final, known, there, network)
        flags = _nothing(members, shape[0] if setting.problem.has_neurons else 0)
        return cls(trajectory, final, known, there, network, nothing_yet(), flags)

    def put_companion(self, member: int, kept: Trajectory, flags: Integers) -> None:
        """Fill in what the companion of a member that did what was asked has at all instants. flags: of undetermined
        neurons."""
        mine = self.companion
        assert mine is not None, "a certified ensemble"
        assert self.undetermined is not None, "a certified ensemble"
        with self.writing:
            for name, array in mine.variables.items():
                array[member] = kept.variables[name]
            for name, array in mine.numerics.items():
                array[member] = kept.numerics[name]
            held = np.searchsorted(kept.kept_weights, mine.kept_weights)
            pairs = [(mine.direction, kept.direction), (mine.bias, kept.bias)]
            for array, values in [*pairs, *zip(mine.leaves, kept.leaves, strict=True)]:
                array[member] = values[held]
            self.undetermined[member] = flags

    def put(self, member: int, setting: Setting, kept: Trajectory, loose: bool) -> None:
        """Fill in a member's arrays.

        kept: the instants that it reached, with all weights that are held, and where it stopped as the last one. loose:
        that one is not on the grid.
        """
        reached, mine = len(kept.time) - loose, self.trajectory
        slots = mine.kept_weights[:-1]
        there = np.flatnonzero(slots < reached)
        weights = np.append(np.searchsorted(kept.kept_weights, slots[there]), -1)
        filled = [*there, len(slots)]
        with self.writing:
            if reached < len(mine.time) or self.companion is not None:
                self._clear(member)
            for name, array in mine.variables.items():
                array[member, :reached] = kept.variables[name][:reached]
                self.final[name][member] = kept.variables[name][-1]
            for name, array in mine.numerics.items():
                array[member, :reached] = kept.numerics[name][:reached]
                self.final[name][member] = kept.numerics[name][-1]
            if len(mine.kept_weights):
                pairs = [(mine.direction, kept.direction), (mine.bias, kept.bias)]
                for array, values in [*pairs, *zip(mine.leaves, kept.leaves, strict=True)]:
                    array[member, filled] = values[weights]
            for name, values in layout.coordinates(setting).items():
                if _by_member(self.known[name], name):
                    self.known[name][member] = values
            self.there[member] = True

    def _clear(self, member: int) -> None:
        for _, array in self._arrays():
            if array.dtype == float:
                array[member] = np.nan

    def resume(self, tree: xr.DataTree) -> list[Outcome]:
        """Take over the members that are done from a result of the same ensemble; how they ended, and that others have not
        been run."""
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
        return [_ended(facts, member) if done[member] else Outcome(NOT_RUN) for member in range(len(done))]

    def groups(self, scenario: Scenario, problem: Problem, outcomes: Sequence[Outcome]) -> dict[str, xr.Dataset]:
        """All groups of what was observed. problem: of any of the members; outcomes: of every member."""
        with self.writing:
            for member in np.flatnonzero(~self.there).tolist():
                self._clear(member)
        groups = layout.groups(scenario, problem, self.trajectory, self.known)
        facts = {name: np.array([outcome.facts[name] for outcome in outcomes]) for name in MEMBERS}
        of_members = {
            name: ("seed", values, {"long_name": MEMBERS[name], "units": "1"}) for name, values in facts.items()
        }
        groups["/numerics"] = groups["/numerics"].assign(of_members)
        groups |= {"/final": layout.final(self.final, self.known)}
        if self.companion is None:
            return groups
        found = beside.group(scenario, problem, self.companion, self.known)
        if self.undetermined is not None and self.undetermined.size:
            found[beside.UNDETERMINED] = beside.flags(self.undetermined, ("seed", "neuron"))
        return groups | {f"/{beside.GROUP}": found}

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Everything with a member axis, by its name in a result that has it."""
        yield from self._of(self.trajectory, "", "numerics/")
        if self.companion is not None and self.undetermined is not None:
            yield from self._of(self.companion, f"{beside.GROUP}/", f"{beside.GROUP}/")
            yield (f"{beside.GROUP}/{beside.UNDETERMINED}", self.undetermined)
        yield from ((f"final/{name}", values) for name, values in self.final.items())
        yield from (
            (name, self.known[name]) for name in self.known.keys() & MISSING if _by_member(self.known[name], name)
        )

    def _of(self, trajectory: Trajectory, root: str, numerics: str) -> Iterator[tuple[str, NDArray[Any]]]:
        """The arrays of a trajectory. root, numerics: what stands before the names of its variables, and of its counts."""
        found = {**trajectory.variables, "direction": trajectory.direction, "bias_weight": trajectory.bias}
        if self.network is not None:
            leaves = layout.leaves(self.network, trajectory.leaves, ("snapshot",))
            found |= {name: variable.values for name, variable in leaves.items()}
        yield from ((f"{root}{name}", values) for name, values in found.items())
        yield from ((f"{numerics}{name}", values) for name, values in trajectory.numerics.items())


def _ended(facts: Mapping[str, NDArray[Any]], member: int) -> Outcome:
    """The inverse of `Outcome.facts`, but for what a member that is done has not: a remedy, and warnings of its own."""
    name, cause, code, stop_time, engine, solver, coordinates = (facts[name][member] for name in MEMBERS)
    status = Status(str(name), str(cause), exit_code=int(code))
    return Outcome(status, float(stop_time), str(engine), str(solver), str(coordinates))


def _by_member(values: NDArray[Any], name: str) -> bool:
    """Whether a coordinate has a leading member axis."""
    return values.ndim > len(layout.DIMENSIONS[name])


def _nothing(*shape: int) -> Floats:
    """Room that is not touched before something is put there."""
    return np.empty(shape)
