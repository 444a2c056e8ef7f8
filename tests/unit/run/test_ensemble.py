"""An ensemble is its members: each as if it had run alone, whatever the company, however often it was cut short."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import xarray as xr
from support.checkpoints import at_every_chance

import flowsim
from flowsim.arrays import Booleans
from flowsim.kinds import tables
from flowsim.problem import reduce
from flowsim.results.gathered import NOT_RUN, Outcome
from flowsim.run import members, prepare, simulate
from flowsim.run.member import Member
from flowsim.run.prepare import Prepared
from flowsim.run.progress import Standing
from flowsim.signals import Ending
from flowsim.solve import Plan
from flowsim.solve.compiling import Clock
from flowsim.solve.plan import SOLVERS
from flowsim.solve.status import Status

#: Ensembles that are small in different ways.
KINDS = {
    "usual": {},
    "all weights, with a bias": {"observe__snapshots": "all", "model__bias": True},
    "five snapshots of many instants": {"observe": {"times": 40, "snapshots": 5}},
    "instants spaced logarithmically, no weights": {"observe": {"times": 11, "spacing": "log", "snapshots": "none"}},
    "merged and in the span of the data": {"data__noise": {"total": 0.0}, "data__dimension": 40},
    "clusters drawn, labels flipped": {"data__balanced": False, "data__label_noise": 0.25},
    "an output for every cluster": {"data__supervision": "cluster", "loss__kind": "cross_entropy", "model__width": 8},
    "some polar, some cartesian": {"init__balanced": False, "data__dimension": 4, "init__scale": 0.1},
}


@pytest.fixture(scope="module")
def member_of() -> Callable[..., xr.DataTree]:
    """What an ensemble says of one member, laid out like the result of a single run."""

    def make(tree: xr.DataTree, seed: int) -> xr.DataTree:
        groups = {
            path: tree[path].to_dataset(inherit=False).assign_coords(seed=tree["seed"].values).sel(seed=seed)
            for path in ("/", "/phases", "/numerics")
        }
        return xr.DataTree.from_dict({path: group.drop_vars("seed") for path, group in groups.items()})

    return make


def assert_same_member(member: xr.DataTree, alone: xr.DataTree) -> None:
    """Bitwise, in everything that a single run says."""
    for path in ("/", "/numerics"):
        one, other = member[path].to_dataset(inherit=False), alone[path].to_dataset(inherit=False)
        for name, variable in other.variables.items():
            np.testing.assert_array_equal(one[name], variable, err_msg=f"{path} {name}")
            assert one[name].dims == variable.dims
    assert set(member.variables) == set(alone.variables)
    instants = alone["phases/instant"].to_series()
    assert member["phases/instant"].to_series()[instants.index].equals(instants)


def assert_same(one: xr.DataTree, other: xr.DataTree) -> None:
    """Bitwise in all groups; not the attributes, which have wall times."""
    assert set(one.children) == set(other.children)
    for node in one.subtree:
        xr.testing.assert_equal(node.to_dataset(), other[node.path].to_dataset())


@pytest.mark.parametrize("overrides", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("engine", SOLVERS)
def test_a_member_is_the_run_of_its_seed(small, member_of, engine, overrides):
    tree = flowsim.run(small(seed=[3, 0], **overrides, flow__engine=engine))
    assert tree.attrs["status"] == "done"
    for seed in (3, 0):
        assert_same_member(member_of(tree, seed), flowsim.run(small(seed=seed, **overrides, flow__engine=engine)))


def test_members_that_slide_are_each_as_they_would_be_alone(small, member_of):
    relu = {"model": {"activation": "relu", "width": 6}, "observe__variables": ["log_norm", "gate", "sliding_pairs"]}
    tree = flowsim.run(small(seed=[3, 0], **relu))
    assert tree["sliding_pairs"].max("time").min() > 0
    for seed in (3, 0):
        assert_same_member(member_of(tree, seed), flowsim.run(small(seed=seed, **relu)))


def test_the_kinds_of_ensembles_differ_as_they_say(small):
    coordinates = flowsim.run(small(seed=[0, 1, 2, 3], **KINDS["some polar, some cartesian"]))[
        "numerics/flow_coordinates"
    ]
    assert set(coordinates.values) == {"polar", "cartesian"}


def test_a_member_does_not_depend_on_its_company(small, monkeypatch, member_of):
    first = flowsim.run(small(seed=[0, 1, 2], flow__until={"time": 30.0, "alignment": 0.9}))
    # in another order, among others, and two at a time
    monkeypatch.setattr(members, "cores", lambda: 2)
    second = flowsim.run(small(seed=[2, 7, 5, 0], flow__until={"time": 30.0, "alignment": 0.9}))
    for seed in (0, 2):
        assert_same(member_of(first, seed), member_of(second, seed))
        np.testing.assert_array_equal(first["final/cosine"].sel(seed=seed), second["final/cosine"].sel(seed=seed))


def test_members_whose_samples_merge_differently_are_each_as_they_would_be_alone(small, member_of):
    overrides = {"data__noise": {"total": 0.0}, "data__label_noise": 0.1, "data__balanced": False}
    seeds = [0, 1, 2, 3]
    scenarios = {seed: small(seed=seed, **overrides) for seed in seeds}
    assert len({len(reduce(flowsim.build(scenario)).targets) for scenario in scenarios.values()}) > 1
    tree = flowsim.run(small(seed=seeds, **overrides))
    for seed, scenario in scenarios.items():
        assert_same_member(member_of(tree, seed), flowsim.run(scenario))


def test_an_ensemble_of_one_has_a_dimension_all_the_same(small, member_of):
    tree = flowsim.run(small(seed=[4]))
    assert tree.sizes["seed"] == 1
    assert tree["cosine"].dims == ("seed", "time", "neuron", "cluster")
    assert_same_member(member_of(tree, 4), flowsim.run(small(seed=4)))


def test_what_differs_between_members_has_their_dimension_first_and_nothing_else_has_it(small):
    root = flowsim.run(small(seed=[0, 1], observe__snapshots="all", model__bias=True)).to_dataset()
    shared = {name for name, variable in root.variables.items() if "seed" not in variable.dims}
    assert shared == {"time", "snapshot", "cluster_label"}
    assert all(variable.dims[0] == "seed" for name, variable in root.variables.items() if name not in shared)


def test_run_ensemble_is_run_with_the_seeds_written_into_the_scenario(small):
    one = flowsim.run_ensemble(small(), range(2))
    other = flowsim.run(small(seed=[0, 1]))
    assert_same(one, other)
    np.testing.assert_array_equal(one.attrs["seed"], [0, 1])
    assert flowsim.loads(one.attrs["scenario"]).seed == (0, 1)
    assert_same(flowsim.run_ensemble(small(), np.array([0, 1])), one)


@pytest.mark.parametrize("seeds", [[], [0, 0], [-1], [2**63], [0.5], ["a"]], ids=str)
def test_seeds_that_are_none_are_refused(small, seeds):
    with pytest.raises(flowsim.ScenarioError, match="seed"):
        flowsim.run_ensemble(small(), seeds)


def test_an_ensemble_has_no_one_problem(small):
    with pytest.raises(flowsim.UsageError, match=r"ensemble of 2 seeds; flowsim\.run runs it.*scenario\.members"):
        flowsim.build(small(seed=[0, 1]))
    members = small(seed=[0, 1]).members
    np.testing.assert_array_equal(flowsim.build(members[1]).inputs, flowsim.build(small(seed=1)).inputs)


def test_the_file_holds_what_run_returns_and_says_so_in_every_variable(small, tmp_path):
    returned = flowsim.run(small(seed=[0, 5]), tmp_path / "run.nc")
    with flowsim.open(tmp_path / "run.nc") as read:
        assert_same(read.load(), returned)
        np.testing.assert_array_equal(read.attrs["seed"], [0, 5])
        for node in read.subtree:
            for name, variable in node.to_dataset(inherit=False).variables.items():
                assert variable.attrs.get("long_name"), f"{node.path}: {name}"
                assert variable.attrs.get("units") == "1", f"{node.path}: {name}"


# --- members that stop early


@pytest.fixture(scope="module")
def stopped_early(small) -> tuple[xr.DataTree, dict[int, xr.DataTree]]:
    """An ensemble some of whose members reach a goal before the end, and its members alone, their grids open."""
    until = {"time": 60.0, "loss": 0.2}
    tree = flowsim.run(small(seed=[0, 1, 2], flow__until=until, observe={"times": 21, "snapshots": 3}))
    return tree, {seed: flowsim.run(small(seed=seed, flow__until=until)) for seed in (0, 1, 2)}


def test_after_a_member_has_stopped_there_is_nothing(stopped_early):
    tree, _ = stopped_early
    stop_time = tree["numerics/stop_time"]
    assert 0 < stop_time.min() < stop_time.median() < stop_time.max() == 60
    reached = (tree["time"] <= stop_time).transpose("seed", "time")
    for dataset in (tree.to_dataset(), tree["numerics"].to_dataset()):
        for name, variable in dataset.data_vars.items():
            if "time" in variable.dims:
                there = variable.notnull().all([dim for dim in variable.dims if dim not in ("seed", "time")])
                np.testing.assert_array_equal(there.transpose("seed", "time"), reached, err_msg=str(name))


def test_where_a_member_stopped_is_kept_to_the_last_bit(stopped_early):
    tree, alone = stopped_early
    for seed, run in alone.items():
        assert tree["numerics/stop_time"].sel(seed=seed) == run["time"][-1]
        final, last = tree["final"].to_dataset().sel(seed=seed), run.to_dataset().isel(time=-1)
        for name in ("loss", "cosine", "log_norm", "output_weight", "margin"):
            np.testing.assert_array_equal(final[name], last[name], err_msg=name)
        for name in ("steps", "rejections", "evaluations", "step_size"):
            assert final[name] == run["numerics"][name][-1]
        np.testing.assert_array_equal(tree["direction"].sel(seed=seed)[-1], run["direction"][-1])


def test_weights_between_the_start_and_the_stop_are_those_of_their_instant(stopped_early):
    tree, _ = stopped_early
    start, middle, _ = tree["snapshot"].values
    np.testing.assert_allclose((tree["direction"].sel(snapshot=start) ** 2).sum("feature"), 1, rtol=1e-12)
    late = tree["numerics/stop_time"] < middle
    np.testing.assert_array_equal(tree["direction"].sel(snapshot=middle).isnull().all(["neuron", "feature"]), late)


def test_phases_are_those_of_every_member(stopped_early, small, member_of):
    tree, _ = stopped_early
    assert tree["phases/instant"].dims == ("phase", "seed")
    asked = tree.to_dataset().flow.phases
    xr.testing.assert_identical(asked.drop_vars("seed"), tree["phases"].to_dataset(inherit=False))
    for seed in tree["seed"].values:
        member = tree.to_dataset().sel(seed=seed)
        own = member.isel(time=slice(0, int(member["log_norm"].notnull().all("neuron").sum())))
        for dataset in (member, own):
            np.testing.assert_array_equal(dataset.flow.phases["instant"], tree["phases/instant"].sel(seed=seed))


def test_cosines_with_targets_are_those_of_every_member(stopped_early):
    root = stopped_early[0].to_dataset()
    together = root.flow.target_cosine
    assert together.dims == ("seed", "time", "neuron")
    for seed in root["seed"].values:
        member = root.sel(seed=seed)
        targeted = member["target_cluster"].values >= 0
        np.testing.assert_array_equal(together.sel(seed=seed)[:, targeted], member.flow.target_cosine)
        assert together.sel(seed=seed)[:, ~targeted].isnull().all()
    np.testing.assert_array_equal(root.flow.best_cosine.isel(seed=1), root.isel(seed=1).flow.best_cosine)


# --- members that do not get where they should


def test_a_budget_is_every_member_s_own_and_the_cause_says_whose_did_not_suffice(small):
    seeds = [0, 1, 3]
    whole = flowsim.run(small(seed=seeds))
    steps = whole["final/steps"].values
    assert len(set(steps)) == 3
    budget = int(sorted(steps)[1])
    tree = flowsim.run(small(seed=seeds, flow__until={"time": 30.0, "steps": budget}))
    slowest = whole["seed"].values[steps > budget]
    assert tree.attrs["status"] == "step_limit"
    assert tree.attrs["status_cause"] == f"1 of 3 members: step_limit (seed {slowest[0]})"
    assert "flow.until.steps" in tree.attrs["status_remedy"]
    assert tree["numerics"].attrs["exit_code"] == 3
    np.testing.assert_array_equal(tree["numerics/status"] == "step_limit", steps > budget)
    np.testing.assert_array_equal(tree["numerics/exit_code"], np.where(steps > budget, 3, 0))
    assert (tree["final/steps"].sel(seed=slowest) == budget).all()


def outcomes(*names: str) -> list[Outcome]:
    codes = {"done": 0, "interrupted": 130}
    return [
        NOT_BEGUN if name == "not_run" else Outcome(Status(name, "", f"cure {name}", codes.get(name, 3)), 1.0)
        for name in names
    ]


NOT_BEGUN = Outcome(NOT_RUN)


@pytest.mark.parametrize(
    ("ended", "cut", "expected", "code"),
    [
        (["done", "done"], "", "done", 0),
        (["done", "done"], "interrupted", "done", 0),
        (["step_limit", "done", "at_rest", "at_rest"], "", "at_rest", 3),
        (["step_limit", "step_limit", "interrupted"], "interrupted", "interrupted", 130),
        (["at_rest", "not_run", "not_run"], "interrupted", "interrupted", 130),
        (["at_rest", "not_run", "wall_time_limit"], "wall_time_limit", "wall_time_limit", 3),
        (["at_rest", "done"], "interrupted", "at_rest", 3),
    ],
)
def test_the_status_of_the_whole_is_that_of_its_worst_members(ended, cut, expected, code):
    status = members._together(range(len(ended)), outcomes(*ended), cut)
    assert (status.name, status.exit_code) == (expected, code)
    assert bool(status.remedy) == bool(code)
    for name in set(ended) - {"done"}:
        assert f"{ended.count(name)} of {len(ended)} members: {name} (seed" in status.cause


def test_a_cause_does_not_list_a_thousand_seeds():
    cause = members._together(range(1000), outcomes(*["at_rest"] * 1000), "").cause
    assert cause == "1000 of 1000 members: at_rest (seeds 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …)"


def test_a_member_that_cannot_be_run_is_told_and_the_others_run(small):
    def alone(seed: int) -> str:
        scenario = small(seed=seed, model__width=1, flow__until={"time": 5.0, "alignment": 0.99})
        try:
            flowsim.run(scenario)
        except flowsim.ScenarioError as error:
            return str(error)
        return ""

    errors = {seed: alone(seed) for seed in range(6)}
    seeds = sorted(errors, key=lambda seed: bool(errors[seed]))
    assert errors[seeds[0]] == "" != errors[seeds[-1]]
    tree = flowsim.run(small(seed=seeds, model__width=1, flow__until={"time": 5.0, "alignment": 0.99}))
    for seed in seeds:
        numerics = tree["numerics"].to_dataset().sel(seed=seed)
        assert (numerics["status"] == "refused") == bool(errors[seed])
        assert not errors[seed] or numerics["status_cause"] == errors[seed]
        assert np.isnan(numerics["stop_time"]) == bool(errors[seed])
    assert tree.attrs["status"] == "refused"
    # with the one that cannot be run in front, nothing is
    with pytest.raises(flowsim.ScenarioError, match="no neuron has a target"):
        flowsim.run(small(seed=seeds[::-1], model__width=1, flow__until={"time": 5.0, "alignment": 0.99}))


# --- cut short and taken up again


@pytest.fixture
def third_waits(monkeypatch) -> Callable[[], None]:
    """From now on members run one at a time, and the third flight begins with Ctrl-C, or as the last second ends, and
    waits until all are stopped."""
    ending = Ending()

    @contextmanager
    def listening() -> Iterator[Ending]:
        yield ending

    def set_up(pressed: bool) -> None:
        drive, gone = Member.drive, []

        def waiting(member: Member, progress: Any, save: Any, stopped: Booleans) -> Status:
            gone.append(member)
            if len(gone) == 3:
                if pressed:
                    ending.flag[0] = True
                else:
                    monkeypatch.setattr(Clock, "seconds", 1e6)
                while not stopped[0]:
                    time.sleep(0.001)
            return drive(member, progress, save, stopped)

        monkeypatch.setattr(members, "cores", lambda: 1)
        monkeypatch.setattr(simulate, "endings", listening)
        monkeypatch.setattr(Member, "drive", waiting)

    return set_up


def test_one_engine_runs_members_side_by_side_the_other_has_threads_of_its_own(small, monkeypatch):
    monkeypatch.setattr(members, "cores", lambda: 4)
    prepared = {engine: Prepared(small(seed=[0], flow__engine=engine)) for engine in SOLVERS}
    assert {engine: members._threads(first) for engine, first in prepared.items()} == {"diffrax": 1, "numba": 4}


@pytest.mark.parametrize(("cause", "code"), [("interrupted", 130), ("wall_time_limit", 3)])
def test_an_ensemble_that_was_cut_short_goes_on_to_be_the_whole_one(
    small, tmp_path, monkeypatch, third_waits, cause, code
):
    scenario, file = small(seed=[0, 1, 2, 3], observe__snapshots="all"), tmp_path / "run.nc"
    third_waits(pressed=cause == "interrupted")
    tree = flowsim.run(small(seed=[0, 1, 2, 3], observe__snapshots="all", flow__wall_time=1e6), file)
    assert (tree.attrs["status"], tree["numerics"].attrs["exit_code"]) == (cause, code)
    assert tree["numerics/status"].values.tolist() == ["done", "done", cause, "not_run"]
    assert tree.attrs["status_cause"] == f"1 of 4 members: {cause} (seed 2); 1 of 4 members: not_run (seed 3)"
    assert "--resume" in tree.attrs["status_remedy"]
    np.testing.assert_array_equal(tree["numerics/stop_time"], [30, 30, 0, np.nan])
    np.testing.assert_array_equal(tree["log_norm"].notnull().all("neuron").sum("time"), [11, 11, 1, 0])
    monkeypatch.undo()
    resumed = flowsim.run(scenario, file, resume=True)
    assert_same(resumed, flowsim.run(scenario))
    assert resumed.attrs["wall_time"] > tree.attrs["wall_time"]


def test_only_members_that_are_not_done_are_run_again(small, tmp_path, monkeypatch):
    seeds, file = [0, 1, 3], tmp_path / "run.nc"
    whole = flowsim.run(small(seed=seeds))
    budget = int(sorted(whole["final/steps"].values)[1])
    flowsim.run(small(seed=seeds, flow__until={"time": 30.0, "steps": budget}), file)
    flown: list[int] = []
    drive = Member.drive
    monkeypatch.setattr(Member, "drive", lambda *arguments: (flown.append(1), drive(*arguments))[1])
    resumed = flowsim.run(small(seed=seeds), file, resume=True)
    assert len(flown) == 1
    assert_same(resumed, whole)


class Killed(Exception):
    """Stands for the end of the process."""


def test_a_killed_ensemble_goes_on_from_its_last_checkpoint(small, tmp_path, monkeypatch):
    scenario, file = small(seed=[0, 1, 2]), tmp_path / "run.nc"
    at_every_chance(monkeypatch)

    def kill(standing: Standing) -> None:
        if standing.ended == 2 and file.exists():
            raise Killed

    with pytest.raises(Killed):
        flowsim.run(scenario, file, progress=kill)
    with flowsim.open(file) as left:
        assert left.attrs["status"] == "running"
    assert_same(flowsim.run(scenario, file, resume=True), flowsim.run(scenario))


def test_an_ensemble_that_is_done_has_nothing_to_resume(small, tmp_path):
    file = tmp_path / "run.nc"
    flowsim.run(small(seed=[0, 1]), file)
    with pytest.raises(flowsim.UsageError, match="nothing to resume"):
        flowsim.run(small(seed=[0, 1]), file, resume=True)


def test_another_ensemble_is_not_resumed(small, tmp_path):
    file = tmp_path / "run.nc"
    flowsim.run(small(seed=[0, 1], flow__until={"time": 30.0, "steps": 3}), file)
    with pytest.raises(flowsim.UsageError, match=r"made by another scenario: seed is \[0, 1\] there and \[0, 2\] here"):
        flowsim.run(small(seed=[0, 2]), file, resume=True)


def test_a_defect_in_one_member_ends_the_ensemble(small, monkeypatch):
    def keep(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(members.Gathered, "put", keep)
    with pytest.raises(ZeroDivisionError):
        flowsim.run(small(seed=[0, 1, 2]))


# --- what members share


def test_members_on_a_table_share_its_samples_and_draw_their_own_weights(on_table, monkeypatch):
    reads: list[object] = []
    read = tables.read_table
    monkeypatch.setattr(tables, "read_table", lambda path: (reads.append(path), read(path))[1])
    arrays = {"x": np.eye(4), "y": np.array([1.0, 1.0, -1.0, -1.0]), "cluster": np.array([0.0, 0, 1, 1])}
    scenario = on_table(arrays, seed=[0, 1, 2], flow__until={"time": 2.0})
    tree = flowsim.run(scenario)
    assert len(reads) == 1
    assert tree["label"].dims == ("sample",)
    np.testing.assert_array_equal(tree["data/x"], arrays["x"])
    for member in scenario.members:
        np.testing.assert_array_equal(
            tree["log_norm"].sel(seed=member.seed), flowsim.run(member).to_dataset()["log_norm"]
        )


def test_centres_from_a_file_are_kept_once_and_the_samples_around_them_are_each_member_s_own(tmp_path):
    np.save(tmp_path / "c.npy", np.eye(4, 12))
    scenario = flowsim.loads(
        'seed = [0, 1]\n[data]\ncenters = "c.npy"\ndimension = 12\nsamples = 24\n[model]\nwidth = 3\n'
        "[flow]\nuntil = { time = 2.0 }\n",
        folder=tmp_path,
    )
    tree = flowsim.run(scenario)
    assert set(tree["data"].to_dataset(inherit=False).variables) == {"centers"}
    np.testing.assert_array_equal(tree["data/centers"], np.eye(4, 12))
    for member in scenario.members:
        np.testing.assert_array_equal(tree["margin"].sel(seed=member.seed), flowsim.run(member).to_dataset()["margin"])


def test_warnings_of_any_member_are_told_once(small, monkeypatch):
    told: list[str] = []
    choose = prepare.choose

    def wary(scenario: flowsim.Scenario, reduced: object) -> Plan:
        plan = choose(scenario, reduced)
        own = ("an odd seed",) if scenario.single_seed % 2 else ()
        return Plan(plan.engine, plan.solver, plan.coordinates, plan.reasons, ("beware", *own))

    monkeypatch.setattr(prepare, "choose", wary)
    tree = flowsim.run(small(seed=[0, 1, 2, 3], flow__until={"time": 1.0}), warn=told.append)
    assert told == ["beware", "an odd seed"]
    assert tree.attrs["warnings"] == "beware\nan odd seed"
