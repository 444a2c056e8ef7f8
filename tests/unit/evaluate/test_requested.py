"""What is computed after the flow: nothing of it can lose what came before."""

from __future__ import annotations

import pytest
import xarray as xr

import flowsim
from flowsim.evaluate import requested
from flowsim.scenario.evaluate import Evaluate

#: Between them they ask for everything.
NEURONS = """
[data]
dimension = 8
positive = 1
negative = 1
samples = 12
noise = { total = 0.01 }
[model]
activation = "relu"
width = 8
[init]
scale = 0.01
signs = "half"
[loss]
kind = "exponential"
[flow]
until = { loss = 0.01, steps = 2000 }
[observe]
times = 5
[evaluate]
claims = ["min_vidal_2025.assumption_2"]
distance = {}
limit = true
robustness = { radii = [0.1], attacks = ["universal"], samples = 10 }
smoothing = { noise = 0.1, radii = [0.1], draws = 10, select = 5, samples = 10 }
"""
IMAGES = """
[data]
kind = "digits"
samples = 20
supervision = "cluster"
[model]
kind = "conv"
channels = [2]
[init]
shape = "he"
[loss]
kind = "cross_entropy"
[flow]
method = "gradient_descent"
step = 0.05
iterations = 3
[observe]
times = 2
snapshots = "ends"
[evaluate]
features = { units = 1, starts = 1, steps = 2, samples = 5 }
density = { radius = 0.5, samples = 2, penalties = [0.5] }
"""
ASKED = {text: requested.wanted(flowsim.loads(text)) for text in (NEURONS, IMAGES)}


def test_every_key_of_evaluate_has_its_evaluation():
    assert list(requested.EVALUATIONS) == sorted(Evaluate.model_fields) == sorted(ASKED[NEURONS] + ASKED[IMAGES])


@pytest.mark.parametrize(("text", "names"), ASKED.items(), ids=["neurons", "images"])
def test_each_is_told_of_when_it_is_begun_and_written(tmp_path, text, names):
    told: list[str] = []
    tree = flowsim.run(flowsim.loads(text), tmp_path / "a.nc", progress=lambda standing: told.append(standing.phase))
    assert [what for what in told if what in names] == names
    with flowsim.open(tmp_path / "a.nc") as written:
        for name in names:
            xr.testing.assert_identical(written[name].to_dataset(inherit=False), tree[name].to_dataset(inherit=False))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("name", ASKED[NEURONS])
def test_what_ends_an_evaluation_leaves_the_trajectory_and_all_that_was_evaluated(tmp_path, monkeypatch, name, error):
    def end(*_: object) -> xr.Dataset:
        raise error

    monkeypatch.setitem(requested.EVALUATIONS, name, end)
    with pytest.raises(error):
        flowsim.run(flowsim.loads(NEURONS), tmp_path / "a.nc")
    before = ASKED[NEURONS][: ASKED[NEURONS].index(name)]
    with flowsim.open(tmp_path / "a.nc") as left:
        assert left.attrs["status"] == left["numerics"].attrs["status"] == "evaluating"
        assert left["loss"].values[-1] <= 0.01
        assert [group for group in requested.EVALUATIONS if group in left] == before


def test_a_run_that_does_not_reach_its_end_is_not_evaluated(tmp_path):
    tree = flowsim.run(flowsim.loads(NEURONS, overrides={"flow.until.steps": 1}), tmp_path / "a.nc")
    assert tree["numerics"].attrs["exit_code"] == 3
    # why there is no limit is said all the same
    assert set(requested.EVALUATIONS) & set(tree.children) == {"limit"}
    assert tree["limit"].attrs["found"] == 0
    assert "step_limit" in tree["limit"].attrs["verdict"]
