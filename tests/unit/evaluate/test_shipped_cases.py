"""Shipped scenarios are reopened as they ran, whichever road leads back to them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from support.reduced import draw_little, reduced
from support.reopened import check_evaluations, check_problem, check_weights, same
from support.sweeps import fly_here

import flowsim
from flowsim.observe import OBSERVABLES
from flowsim.scenario.shipped import shipped

#: What is evaluated of scenarios that ask for nothing; of those that keep no weights, what shows in a trajectory.
CHEAP = {"robustness": {"radii": [0.1], "samples": 2, "steps": 2, "attacks": ["pgd"]}}


OF_TRAJECTORY = {"claims": ["min_vidal_2025"]}


#: Another seed than any shipped scenario has.
OTHER = 77


class Roads:
    """Ways back to the run of a scenario with another seed than its own, and what each of them must find."""

    def __init__(self, scenario: flowsim.Scenario):
        self.single = scenario.replace({"sweep": None})
        self.copy = self.single.model_copy(update={"seed": OTHER})
        self.written = {key: value for key, value in self.copy.to_dict().get("evaluate", {}).items() if value}
        self.tree = run(self.copy)
        self.case = flowsim.reopen(self.tree)
        self.evaluated = self.evaluate(self.case)

    def by_copy(self) -> None:
        assert self.case.scenario.model_dump() == self.copy.model_dump()
        check_problem(self.case, self.copy)
        for name in self.written:
            xr.testing.assert_identical(self.evaluated[name], self.tree[name].to_dataset(inherit=False))

    def by_point(self, folder: Path) -> None:
        fly_here(self.single.replace({"sweep": {"grid": {"seed": [self.single.seed, OTHER]}}}), folder)
        found = flowsim.reopen(folder, point={"seed": OTHER})
        assert found.scenario.model_dump() == self.copy.model_dump()
        for name in self.written:
            xr.testing.assert_identical(found.tree[name].to_dataset(inherit=False), self.evaluated[name])
        self.check(found, self.case)

    def by_member(self) -> None:
        """Where there are no ensembles of such scenarios, the reason is told."""
        refused = refused_to_ensembles(self.single)
        if "seed" in refused:
            assert re.match("a run in stages is of a single seed|an ensemble is not for model.kind", refused["seed"])
            with pytest.raises(flowsim.UsageError, match=f"a single run, of seed {OTHER}; leave the seed out"):
                flowsim.reopen(self.tree, seed=self.single.seed)
            return
        # the grids of an open end and of an ensemble are not the same
        end = {"flow.until": {"time": 1e4}} if "flow.until" in refused else {}
        followed = sorted(OBSERVABLES.keys() & self.tree.data_vars.keys())
        changes = {"seed": [self.single.seed, OTHER], "evaluate": None, "observe.variables": followed, **end}
        together = self.single.replace(changes)
        alone = flowsim.reopen(run(together.members[1])) if end else self.case
        self.check(flowsim.reopen(run(together), seed=OTHER), alone)

    def by_stage(self) -> None:
        """Each is as the run of the stages up to it."""
        asked = None if "robustness" in self.written else CHEAP["robustness"]
        for count, stage in enumerate(self.copy.stage, start=1):
            case = flowsim.reopen(self.tree, stage=stage.name)
            check_problem(case, self.copy)
            until = self.case
            if count < len(self.copy.stage):
                until = flowsim.reopen(run(self.copy.model_copy(update={"stage": self.copy.stage[:count]})))
            check_weights(case.weights[-1], until.weights[-1])
            xr.testing.assert_identical(flowsim.robustness(case, asked), flowsim.robustness(until, asked))

    def evaluate(self, case: flowsim.Case) -> dict[str, xr.Dataset]:
        attacked = "snapshot" in case.trajectory.dims and not case.problem.loss.vectors
        cheap = CHEAP if attacked else OF_TRAJECTORY
        groups = flowsim.evaluate(case, self.written or cheap).children.items()
        return {
            name: group.to_dataset(inherit=False).drop_vars(["snapshot", "seed"], errors="ignore")
            for name, group in groups
        }

    def check(self, found: flowsim.Case, expected: flowsim.Case) -> None:
        """That another road leads to the same run."""
        assert found.seed == OTHER
        check_problem(found, self.copy)
        trajectory = found.trajectory.drop_vars("seed", errors="ignore")
        assert trajectory.variables.keys() == expected.trajectory.variables.keys()
        for name, variable in trajectory.variables.items():
            same(variable.values, expected.trajectory[name].values)
        if "snapshot" in expected.trajectory.dims:
            check_weights(found.weights, expected.weights)
        wanted = self.evaluated if expected is self.case else self.evaluate(expected)
        again = self.evaluate(found)
        assert again.keys() == wanted.keys()
        for name, group in again.items():
            xr.testing.assert_identical(group, wanted[name])


def run(scenario: flowsim.Scenario, output: Path | None = None) -> xr.DataTree:
    tree = flowsim.run(scenario, output, warn=lambda message: None)
    assert tree.attrs["status"] == "done"
    return tree


def refused_to_ensembles(scenario: flowsim.Scenario) -> dict[str, str]:
    """Key -> why a scenario that has it cannot be that of an ensemble."""
    try:
        scenario.replace({"seed": [scenario.seed, OTHER]})
    except flowsim.ScenarioError as error:
        return {issue.key: issue.message for issue in error.issues}
    return {}


#: What tells kinds of a section apart, and the roads that a run takes.
TELLING = ("kind", "shape", "activation", "method", "engine", "stage", "evaluate")


def words_of(value: object, key: str = "") -> Iterator[str]:
    """Which kinds of what a scenario has."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from words_of(part, f"{key}.{name}")
            if name in TELLING:
                yield f"{key}.{name}"
    elif isinstance(value, list):
        for part in value:
            yield from words_of(part, key)
    elif key.rpartition(".")[2] in TELLING:
        yield f"{key} = {value}"


def by_what_they_say() -> Iterator[Any]:
    """The shipped scenarios but those for an accelerator. A choice of them has all kinds that there are in any; the others,
    and convolutional networks but one, which take long to compile, are for make test-papers."""
    said = {}
    for name, file in shipped().items():
        if "accelerator" not in file.read_text():
            raw = tomllib.loads(file.read_text())
            said[name] = {".model.kind = conv"} if raw.get("model", {}).get("kind") == "conv" else {*words_of(raw)}
    chosen, left = set(), set().union(*said.values())
    while left:
        chosen.add(max(said, key=lambda name: len(said[name] & left)))
        left -= set().union(*(said[name] for name in chosen))
    return (pytest.param(name, marks=[] if name in chosen else [pytest.mark.papers]) for name in said)


@pytest.mark.parametrize("name", list(by_what_they_say()))
def test_a_shipped_scenario_is_reopened_as_it_ran(name, tmp_path, monkeypatch):
    draw_little(monkeypatch)
    scenario = reduced(name)
    tree = run(scenario, tmp_path / "run.nc")
    with flowsim.reopen(tmp_path / "run.nc") as case:
        assert case.scenario == scenario or case.scenario.model_dump() == scenario.model_dump()
        check_problem(case, scenario)
        xr.testing.assert_identical(case.trajectory.load(), tree.to_dataset(inherit=False))
        check_evaluations(case, tree)
    roads = Roads(scenario)
    roads.by_copy()
    roads.by_point(tmp_path / "sweep")
    roads.by_member()
    roads.by_stage()
