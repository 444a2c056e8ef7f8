"""Whichever road a scenario comes by, every public function gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim import papers

TEXT = """\
title = "samples of one's own"     # a comment
seed = 3

[data]
kind = "table"
path = "table.npz"

[model]
width = 8

[init]
scale = 0.1

[loss]
kind = "exponential"

[flow]
until = { log10_loss = -60.0 }

[observe]
times = 5
snapshots = 3
"""
EVALUATED = {
    "robustness": {"radii": [0.0, 0.3], "samples": 3, "steps": 5, "attacks": ["pgd"]},
    "distance": {"to": "ideal"},
    "limit": True,
    "claims": ["min_vidal_2025.proposition_3", "min_vidal_2025.lemma_17"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roads")
    random, cluster = np.random.default_rng(0), np.arange(24) % 4
    centers = np.linalg.qr(random.standard_normal((6, 4)))[0].T
    x = centers[cluster] + 0.05 * random.standard_normal((24, 6))
    arrays = {"x": x, "y": np.where(cluster < 2, 1.0, -1.0), "cluster": cluster, "centers": centers}
    np.savez(folder / "table.npz", **arrays)
    (folder / "s.toml").write_text(TEXT)
    return folder


def copied(folder: Path) -> flowsim.Scenario:
    """By pydantic's own way, which keeps the text of another scenario with it."""
    wanted, other = (flowsim.load(folder / "s.toml", changes) for changes in ({}, {"seed": 8, "init.scale": 0.3}))
    return other.model_copy(update={"seed": wanted.seed, "init": wanted.init})


def replaced(folder: Path) -> flowsim.Scenario:
    other = flowsim.load(folder / "s.toml", {"seed": 8, "model": {"activation": "relu", "width": 3}})
    return other.replace({"seed": 3, "model.activation": "prelu", "model.width": 8})


def mapped(folder: Path) -> flowsim.Scenario:
    values = flowsim.load(folder / "s.toml").to_dict()
    return flowsim.Scenario({**values, "data": {"kind": "table", "path": str(folder / "table.npz")}})


ROADS = {"copy": copied, "replace": replaced, "mapping": mapped, "memory": mapped}


def gone(road: str, folder: Path, output: Path) -> xr.DataTree:
    """The run that a road leads to; in memory, of a scenario that speaks of no table."""
    if road == "file":
        return flowsim.run(folder / "s.toml", output)
    scenario = ROADS[road](folder)
    if road != "memory":
        return flowsim.run(scenario, output)
    data = flowsim.Data(**np.load(folder / "table.npz"))
    return flowsim.run(scenario.replace({"data": None}), output, data=data)


def answers(result: Path | xr.DataTree, page: Path) -> Iterator[tuple[str, xr.Dataset]]:
    """What each public function says of a result."""
    radii = [0.1, 0.3]
    yield "robustness", flowsim.robustness(result, EVALUATED["robustness"])
    yield "distance", flowsim.distance(result, over_time=True)
    yield "limit", flowsim.limit(result)
    yield "density", flowsim.density(result, 0.2, samples=5, steps=5)
    yield "transfer", flowsim.transfer(result, result, radii, samples=5, steps=5)
    yield "compare", flowsim.compare(result, result)
    yield "claims", papers.evaluate(result, EVALUATED["claims"])
    for name, group in flowsim.evaluate(result, EVALUATED).children.items():
        yield f"evaluate: {name}", group.to_dataset()
    with flowsim.reopen(result) as case:
        problem, weights = case.problem, case.weights
        yield "trajectory", case.trajectory.load()
        yield "problem", xr.Dataset({"x": (("n", "d"), problem.inputs), "w": (("m", "d"), problem.hidden)})
        yield (
            "network",
            xr.Dataset({"f": ("n", case.network(problem.inputs)), "u": (("s", "m", "r"), weights.direction)}),
        )
    kept = flowsim.weights(result)
    yield "weights", xr.Dataset({"u": (("m", "d"), kept.direction), "v": ("m", kept.output_log)})
    flowsim.write_report(result, page)
    assert page.stat().st_size > 10_000


@pytest.fixture(scope="module")
def wanted(folder: Path) -> dict[str, xr.Dataset]:
    output = folder / "file.nc"
    gone("file", folder, output)
    return dict(answers(output, folder / "file.html"))


@pytest.mark.parametrize(
    "road", [pytest.param(road, marks=[pytest.mark.papers] * (road in ("copy", "replace"))) for road in ROADS]
)
def test_every_function_says_of_a_run_what_it_says_of_the_file_s(road, folder, wanted):
    found = dict(answers(gone(road, folder, folder / f"{road}.nc"), folder / f"{road}.html"))
    assert found.keys() == wanted.keys()
    for name, group in found.items():
        assert group.equals(wanted[name]), name


@pytest.mark.parametrize("road", [road for road in ROADS if road != "memory"])
def test_every_road_is_one_scenario(road, folder):
    wanted, scenario = flowsim.load(folder / "s.toml"), ROADS[road](folder)
    for name, array in vars(flowsim.build(wanted).weights).items():
        np.testing.assert_array_equal(array, getattr(flowsim.build(scenario).weights, name), err_msg=name)
    if road != "mapping":  # that names the table by another path
        assert scenario == wanted
        assert scenario.sha256 == wanted.sha256


def test_a_copy_s_file_says_what_ran(folder):
    gone("file", folder, folder / "plain.nc")
    with flowsim.open(folder / "plain.nc") as plain:
        assert "# a comment" in plain.attrs["scenario_source"]
    copy = flowsim.load(folder / "s.toml").model_copy(update={"seed": 5})
    tree = flowsim.run(copy)
    assert (tree.attrs["seed"], flowsim.loads(tree.attrs["scenario"], folder=folder).seed) == (5, 5)
    assert "scenario_source" not in tree.attrs
