"""The arrays of an ensemble, to be filled member by member, and how each member ended."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..observe import NUMERICS, Selection, Setting, Trajectory, snapshot_indices
from ..problem.data.samples import Floats
from ..scenario import Scenario
from ..status import Status
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
    where a member did not get; the last weights of a member are those where it stopped. final: variable, or name of
    NUMERICS, -> its values (members, …) where each member stopped. known: as `layout.root` takes it. outcomes: of every
    member. Members may be put by several threads at once.
    """

    trajectory: Trajectory
    final: dict[str, Floats]
    known: dict[str, NDArray[Any]]
    outcomes: list[Outcome]

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
        )
        final = {name: _nothing(members, *rest) for name, rest in selection.shapes.items()}
        final |= {name: _nothing(members) for name in NUMERICS}
        known = layout.coordinates(setting)
        fixed = {"cluster_label"} | ({"label", "sample_cluster"} if scenario.data.kind == "table" else set())
        for name in known.keys() - fixed:
            known[name] = np.full((members, *known[name].shape), MISSING[name], dtype=known[name].dtype)
        known["seed"] = np.array(scenario.seeds)
        return cls(trajectory, final, known, [Outcome(NOT_RUN)] * members)

    def put(self, member: int, setting: Setting, kept: Trajectory) -> None:
        """Fill in a member's arrays; the last instant of `kept` is where it stopped, those before it are on the grid."""
        reached, mine = len(kept.time) - 1, self.trajectory
        for name, values in kept.variables.items():
            mine.variables[name][member, :reached] = values[:-1]
            self.final[name][member] = values[-1]
        for name, counts in kept.numerics.items():
            mine.numerics[name][member, :reached] = counts[:-1]
            self.final[name][member] = counts[-1]
        places = {int(place): index for index, place in enumerate(kept.kept_weights)}
        last = len(mine.kept_weights) - 1
        for slot, place in enumerate(mine.kept_weights.tolist()):
            if slot == last or place < reached:
                index = -1 if slot == last else places[place]
                mine.direction[member, slot] = kept.direction[index]
                mine.bias[member, slot] = kept.bias[index]
        for name, values in layout.coordinates(setting).items():
            if _by_member(self.known[name], name):
                self.known[name][member] = values

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
        for member in np.flatnonzero(done):
            name, cause, code, stop_time, engine, solver, coordinates = (facts[name][member] for name in MEMBERS)
            status = Status(str(name), str(cause), exit_code=int(code))
            self.outcomes[member] = Outcome(status, float(stop_time), str(engine), str(solver), str(coordinates))

    def groups(self, bias: bool) -> dict[str, xr.Dataset]:
        """The root group of the result, and `final` and `numerics`; bias: whether neurons have one."""
        counts = layout.numerics(self.trajectory)
        facts = {name: np.array([outcome.facts[name] for outcome in self.outcomes]) for name in MEMBERS}
        of_members = {
            name: ("seed", values, {"long_name": MEMBERS[name], "units": "1"}) for name, values in facts.items()
        }
        return {
            "/": layout.root(self.trajectory, self.known, bias),
            "/final": layout.final(self.final, self.known),
            "/numerics": counts.assign(of_members),
        }

    def _arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Everything with a member axis, by its name in a result that has it."""
        mine = self.trajectory
        yield from mine.variables.items()
        yield from (("direction", mine.direction), ("bias_weight", mine.bias))
        yield from ((f"numerics/{name}", values) for name, values in mine.numerics.items())
        yield from ((f"final/{name}", values) for name, values in self.final.items())
        yield from (
            (name, self.known[name]) for name in self.known.keys() & MISSING if _by_member(self.known[name], name)
        )


def _by_member(values: NDArray[Any], name: str) -> bool:
    """Whether a coordinate has a leading member axis."""
    return values.ndim > len(layout.DIMENSIONS[name])


def _nothing(*shape: int) -> Floats:
    return np.full(shape, np.nan)
