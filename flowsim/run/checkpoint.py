"""The group `checkpoint` of an unfinished run: the state from which it is resumed, bit for bit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import xarray as xr

from ..errors import UsageError
from ..kinds import plugins_used
from ..problem import Problem
from ..results.layout import data, init
from ..results.stored import scenario_of
from ..scenario import Scenario, referenced_files, toml
from ..solve import Integrator, Snapshot
from ..solve.advance import Course
from ..solve.compiling import Clock
from ..solve.equilibrium import Rest
from ..solve.schedule import Schedule
from ..solve.status import Status
from .drive import Run

GROUP = "checkpoint"
#: Keys that may have another value when a run is resumed.
BUDGET = re.compile(r"(flow|stage\[\d+\])\.(wall_time|until\.steps)")
#: An error names at most so many keys.
NAMED = 3
#: Prefix of the state with which a stage began.
BEGAN = "began_"
#: Prefix of the state that tells whether a flow has come to rest.
REST = "rest_"
#: The attribute that says how the flow ended.
FLOWN = "flown"
OTHER_VERSION = (
    "the run in this file was begun by another version of flowsim, and this one cannot go on with it; run it anew"
)
STARTS = ("direction", "log_norm", "output_sign", "output_log")


@dataclass(frozen=True)
class Begun:
    """The stage under way, and how it began.

    time, counts: of the whole run until then. instants: how many were kept until then. start: the weights; None in a run
    without stages.
    """

    stage: int = 0
    time: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    instants: int = 1
    start: Snapshot | None = None

    def saved(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """(arrays, attributes)"""
        if self.start is None:
            return {}, {}
        leaves = {f"leaf_{index}": leaf for index, leaf in enumerate(self.start.leaves)}
        arrays = {name: getattr(self.start, name) for name in STARTS} | leaves
        numbers = {"stage": self.stage, "time": self.time, "instants": self.instants, "counts": json.dumps(self.counts)}
        return {f"{BEGAN}{name}": array for name, array in arrays.items()}, {
            f"{BEGAN}{name}": value for name, value in numbers.items()
        }


def save(run: Run, begun: Begun) -> xr.Dataset:
    """The state of a run's only member. Members of ensembles are not saved: those that have not ended are run anew."""
    course = run.course
    arrays = course.integrator.save(course.carry)
    if run.rest is not None:
        arrays |= {f"{REST}{name}": array for name, array in run.rest.saved().items()}
    began, numbers = begun.saved()
    variables = {
        name: (
            tuple(f"{GROUP}_{name}_{axis}" for axis in range(array.ndim)),
            array,
            {"long_name": f"{name.replace('_', ' ')} of the solver, as its engine keeps it", "units": "1"},
        )
        for name, array in {**arrays, **began}.items()
    }
    schedule = json.dumps(asdict(course.schedule))
    return xr.Dataset(variables, attrs={"schedule": schedule, "loose": int(run.loose), **numbers})


def after_flow(status: Status) -> xr.Dataset:
    """The checkpoint of a run whose evaluation alone is not done. status: how the flow ended."""
    return xr.Dataset(attrs={FLOWN: json.dumps(asdict(status))})


def flown(tree: xr.DataTree) -> Status | None:
    """How the flow ended, if the evaluation alone is not done; else None. Raises UsageError where the run is complete."""
    told = _saved(tree).attrs.get(FLOWN)
    return None if told is None else Status(**json.loads(told))


def seconds_of(tree: xr.DataTree) -> float:
    """Seconds that the run had taken. Raises UsageError where the result holds no checkpoint."""
    return float(_saved(tree).attrs["seconds"])


def restore(tree: xr.DataTree, integrator: Integrator, clock: Clock, rest: Rest | None) -> Run:
    """The inverse of `save`. rest: that of the same run at its beginning, which is updated."""
    saved = _saved(tree)
    arrays = {str(name): array.values for name, array in saved.data_vars.items()}
    of_engine = {name: array for name, array in arrays.items() if not name.startswith((BEGAN, REST))}
    try:
        carry = integrator.restore(of_engine)
    except KeyError:
        raise UsageError(OTHER_VERSION) from None
    schedule = Schedule(**json.loads(saved.attrs["schedule"]))
    if rest is not None:
        rest.restore({name.removeprefix(REST): array for name, array in arrays.items() if name.startswith(REST)})
    return Run(Course(integrator, carry, schedule), clock, bool(saved.attrs["loose"]), rest)


def restore_begun(tree: xr.DataTree) -> Begun:
    """The stage under way, of a run in stages."""
    saved = _saved(tree)
    if f"{BEGAN}upper_0" in saved:
        raise UsageError(OTHER_VERSION)
    leaves: list[Any] = []
    while (name := f"{BEGAN}leaf_{len(leaves)}") in saved:
        leaves.append(saved[name].values)
    time = float(saved.attrs[f"{BEGAN}time"])
    direction, log_norm, sign, size = (saved[f"{BEGAN}{name}"].values for name in STARTS)
    return Begun(
        stage=int(saved.attrs[f"{BEGAN}stage"]),
        time=time,
        counts=json.loads(saved.attrs[f"{BEGAN}counts"]),
        instants=int(saved.attrs[f"{BEGAN}instants"]),
        start=Snapshot(time, direction, log_norm, sign, size, leaves=tuple(leaves)),
    )


def check_same(tree: xr.DataTree, scenario: Scenario, problem: Problem, output: str) -> None:
    """Raise UsageError where a result cannot be resumed by this scenario.

    The scenarios may differ in title and budgets alone; plugins, data and initial weights must be the same.
    """
    try:
        made_by = scenario_of(tree)
    except UsageError as error:
        raise UsageError(f"{output}: {error}") from None
    if others := plugins_used.different(tree.attrs, scenario.to_dict()):
        raise UsageError(
            f"{output}: was begun with another plugin: {others}; resume with the file that it was begun with"
        )
    there, here = _compared(made_by.to_dict()), _compared(scenario.to_dict())
    different = [
        f"{key} is {_told(there, key)} there and {_told(here, key)} here"
        for key in {**here, **there}
        if there.get(key) != here.get(key)
    ]
    if different:
        named = "; ".join(different[:NAMED]) + (f"; and {len(different) - NAMED} more" * (len(different) > NAMED))
        raise UsageError(
            f"{output}: was made by another scenario: {named}; only flow.wall_time and flow.until.steps may differ"
        )
    for name, layout in (("data", data), ("init", init)):
        here_too = layout(scenario, problem)
        if here_too is None:
            continue
        began = tree.children[name].to_dataset(inherit=False)
        names = {*map(str, began), *map(str, here_too)}
        unequal = sorted(array for array in names if not _same(began, here_too, array))
        if unequal:
            files = [str(path) for key, path in referenced_files(scenario).items() if key.startswith(f"{name}.")]
            what = " and ".join(files) or f"{'Data' if name == 'data' else 'Weights'} in memory"
            raise UsageError(f"{output}: {what} has changed since this run was begun: {', '.join(unequal)}")


def _same(one: xr.Dataset, other: xr.Dataset, name: str) -> bool:
    return name in one and name in other and one[name].equals(other[name])


def _compared(values: Any, key: str = "") -> dict[str, Any]:
    """Dotted key -> value, for all keys but the title and the budgets."""
    if isinstance(values, dict):
        inner = [(f"{key}.{name}" if key else name, value) for name, value in values.items()]
    elif isinstance(values, list) and values and isinstance(values[0], dict):
        inner = [(f"{key}[{index}]", value) for index, value in enumerate(values)]
    else:
        return {} if key == "title" or BUDGET.fullmatch(key) else {key: values}
    return {name: leaf for inside, value in inner for name, leaf in _compared(value, inside).items()}


def _told(values: Mapping[str, Any], key: str) -> str:
    return toml.inline(values[key]) if key in values else "not set"


def _saved(tree: xr.DataTree) -> xr.Dataset:
    if GROUP not in tree.children:
        raise UsageError("there is nothing to resume: the run in this file is complete")
    return tree.children[GROUP].to_dataset(inherit=False)
