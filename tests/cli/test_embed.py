"""flowsim embed: a table that another run trains on, and answers to what cannot be written."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim as package

TABLE = """
[data]
kind = "table"
path = "train.npz"
test = { path = "test.npz" }
[model]
width = 4
[flow]
until = { time = 3.0 }
[observe]
times = 3
"""
#: What a problem calls the arrays of a table.
FIELDS = {"x": "inputs", "y": "label", "cluster": "sample_cluster", "centers": "centers"}


@pytest.fixture
def result(flowsim):
    assert flowsim("run", "a.toml", "-o", "a.nc", "--set", "data.test.samples=20").code == 0


def test_features_of_one_run_are_the_data_of_another(flowsim, result, folder):
    written = flowsim("embed", "a.nc", "--layer", "hidden", "-o", "train.npz")
    assert (written.code, written.out, written.err) == (0, "", "train.npz: 24 samples, 6 features\n")
    assert flowsim("embed", "a.nc", "--layer", "hidden", "-o", "test.npz", "--samples", "test").code == 0
    (folder / "b.toml").write_text(TABLE)
    assert flowsim("run", "b.toml").code == 0
    expected = package.embed("a.nc", layer="hidden")
    with package.reopen("b.nc") as case:
        problem = case.problem
        for name, array in expected.arrays().items():
            samples = problem.test if name.startswith("test_") else problem
            np.testing.assert_array_equal(getattr(samples, FIELDS[name.removeprefix("test_")]), array)
        assert "test_accuracy" in case.trajectory


def test_the_table_says_where_its_features_come_from(flowsim, result):
    assert flowsim("embed", "a.nc", "--layer", "hidden", "-o", "train.npz").code == 0
    with package.open("a.nc") as tree, np.load("train.npz", allow_pickle=False) as table:
        assert str(table["scenario"]) == tree.attrs["scenario"]
        assert str(table["scenario_sha256"]) == tree.attrs["scenario_sha256"]
        assert (str(table["layer"]), str(table["samples"])) == ("hidden", "train")
        np.testing.assert_array_equal(table["centers"], package.embed("a.nc", layer="hidden").arrays()["centers"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--layer", "hiden", "-o", "c.npz"], 'did you mean "hidden"?'),
        (["--layer", "hidden", "-o", "c.csv"], "ends with .npz"),
        (["--layer", "hidden", "-o", "taken.npz"], "exists already"),
        (["--layer", "hidden", "-o", "c.npz", "--seed", "5"], "this is a single run"),
        (["--layer", "hidden", "-o", "c.npz", "--samples", "test"], "held no samples out; see data.test"),
    ],
)
def test_what_cannot_be_written_is_answered_and_nothing_is_left(flowsim, folder, files, given, said):
    assert flowsim("run", "a.toml", "-o", "a.nc").code == 0
    (folder / "taken.npz").write_bytes(b"mine")
    before = files()
    answer = flowsim("embed", "a.nc", *given)
    assert answer.code == 2
    assert said in answer.err
    assert files() == before
