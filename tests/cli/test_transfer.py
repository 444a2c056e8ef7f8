"""flowsim transfer: a table, a summary, and answers to what does not go together."""

from __future__ import annotations

import json

import pytest

import flowsim as package


@pytest.fixture
def results(flowsim):
    """a.nc and b.nc, of two seeds on one distribution."""
    for seed, name in enumerate(("a.nc", "b.nc")):
        assert flowsim("run", "a.toml", "-o", name, "--set", f"seed={seed}", "--set", "data.seed=0").code == 0


def test_table_and_summary_say_what_the_function_says(flowsim, results):
    found = package.transfer("a.nc", "b.nc", [0.1, 1.0], attacks=["fgm"], samples=200)
    asked = ("transfer", "a.nc", "b.nc", "--radii", "0.1", "1", "--attacks", "fgm", "--samples", "200")
    page, summary = flowsim(*asked), flowsim(*asked, "--json")
    assert (page.code, page.err) == (0, "")
    row = page.out.splitlines()[2].split()
    assert row[:3] == ["fgm", "1", f"{found['attacked_accuracy'].values[0, 1]:.3f}"]
    rows = json.loads(summary.out)["rows"]
    assert [row["transferred_accuracy"] for row in rows] == found["transferred_accuracy"].values[0].tolist()


def test_networks_of_different_distributions_are_refused(flowsim, results):
    assert flowsim("run", "a.toml", "-o", "c.nc", "--set", "seed=1").code == 0
    answer = flowsim("transfer", "a.nc", "c.nc", "--radii", "0.1")
    assert answer.code == 2
    assert "data.seed" in answer.err
