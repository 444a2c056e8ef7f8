"""Instants of one's own: `observe.times` as an array of times."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flowsim
from flowsim.errors import ScenarioError
from flowsim.solve.schedule import Schedule

ENGINES = ["diffrax", "numba"]


@pytest.mark.parametrize("engine", ENGINES)
def test_they_are_kept_exactly_beside_the_start_and_the_stop(small, engine):
    wanted = [0.1, 1 / 3, 7, 20.5]
    tree = flowsim.run(small(flow__engine=engine, observe__times=wanted, observe__snapshots="all"))
    assert tree["time"].values.tolist() == [0.0, *wanted, 30.0]
    assert tree["snapshot"].values.tolist() == [0.0, *wanted, 30.0]
    assert tree.attrs["status"] == "done"


@pytest.mark.parametrize("engine", ENGINES)
def test_between_steps_the_state_is_that_of_a_run_that_ends_there(small, engine):
    options = {"init__scale": 0.1, "flow__engine": engine}
    listed = flowsim.run(small(observe__times=[0, 3.3, 11], **options))
    for time in (3.3, 11.0):
        ending = flowsim.run(small(observe__times=2, flow__until={"time": time}, **options))
        there = listed.to_dataset().sel(time=time)
        # rtol for each of the steps, and once more for the interpolation between two of them
        bound = 1e-6 * (float(listed["numerics/steps"][-1]) + 1)
        np.testing.assert_allclose(there["log_norm"], ending["log_norm"][-1], rtol=0, atol=bound)
        np.testing.assert_allclose(there["loss"], ending["loss"][-1], rtol=10 * bound)


@pytest.mark.parametrize("snapshots", ["ends", 3, "none"])
def test_weights_are_kept_at_so_many_of_them(small, snapshots):
    tree = flowsim.run(small(observe={"times": [1, 2, 5, 9], "snapshots": snapshots}, flow__until={"time": 9.5}))
    kept = tree["snapshot"].values.tolist() if "snapshot" in tree.coords else []
    assert len(kept) == {"ends": 2, 3: 3, "none": 0}[snapshots]
    assert set(kept) <= {0.0, 1.0, 2.0, 5.0, 9.0, 9.5}
    assert snapshots == "none" or (kept[0], kept[-1]) == (0.0, 9.5)


def test_what_lies_beyond_the_end_is_not_reached(small):
    at_a_time = flowsim.run(small(observe__times=[1, 5, 9], flow__until={"time": 5.0}))
    assert at_a_time["time"].values.tolist() == [0.0, 1.0, 5.0]
    at_a_goal = flowsim.run(small(init__scale=0.1, observe__times=[1, 500], flow__until={"loss": 0.3, "time": 1000.0}))
    stop = float(at_a_goal["time"][-1])
    assert at_a_goal["time"].values.tolist() == [0.0, 1.0, stop]
    assert stop < 500
    assert float(at_a_goal["loss"][-1]) <= 0.3
    by_steps = flowsim.run(small(observe__times=[1e-3, 1e6], flow__until={"steps": 5}))
    assert by_steps["time"].values.tolist()[:2] == [0.0, 1e-3]
    assert by_steps.sizes["time"] == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_the_loss_clock_finds_them_by_time(small, engine):
    scenario = small(
        loss__kind="logistic",
        init__scale=0.3,
        flow={"until": {"log10_loss": -20, "steps": 10_000}, "clock": "loss", "engine": engine},
        observe__times=[2, 50.5, 1e6],
    )
    tree = flowsim.run(scenario)
    assert tree.attrs["status"] == "done"
    assert tree["time"].values[:4].tolist() == [0.0, 2.0, 50.5, 1e6]
    assert tree.sizes["time"] == 5
    np.testing.assert_allclose(tree["log10_time"][1:4], np.log10([2, 50.5, 1e6]), rtol=1e-12)
    assert (tree["loss"].diff("time") < 0).all()
    flow = {"until": {"time": 50.5}, "engine": engine}
    timed = flowsim.run(small(loss__kind="logistic", init__scale=0.3, flow=flow, observe__times=2))
    # flow.rtol for each step of either run, and the loss moves by ten times what weights do
    steps = float(tree["numerics/steps"][2] + timed["numerics/steps"][-1])
    np.testing.assert_allclose(tree["loss"][2], timed["loss"][-1], rtol=10 * 1e-6 * steps)


def test_descent_keeps_the_nearest_iterations_once(small):
    flow = {"method": "gradient_descent", "step": 0.1, "iterations": 40}
    tree = flowsim.run(small(flow=flow, observe__times=[0.01, 0.52, 0.54, 1.26, 3.0]))
    assert tree["iteration"].values.tolist() == [0, 5, 13, 30, 40]
    everything = flowsim.run(small(flow=flow, observe__times=41))
    np.testing.assert_array_equal(tree["loss"], everything["loss"][[0, 5, 13, 30, 40]])
    open_ended = {"method": "gradient_descent", "step": 0.1, "until": {"loss": 1e-9, "steps": 60}}
    tree = flowsim.run(small(flow=open_ended, observe__times=[1, 2]))
    assert tree["iteration"].values[:3].tolist() == [0, 10, 20]
    assert tree.sizes["time"] == 4


def test_the_members_of_an_ensemble_share_them(small):
    times = [0, 1.5, 10, 90]
    together = flowsim.run(small(seed=[3, 4], observe={"times": times, "snapshots": "all"}))
    assert together["time"].values.tolist() == [0.0, 1.5, 10.0, 30.0]
    alone = flowsim.run(small(seed=4, observe={"times": times, "snapshots": "all"}))
    np.testing.assert_allclose(together["log_norm"].sel(seed=4), alone["log_norm"], rtol=0, atol=1e-6)  # flow.rtol
    assert together["snapshot"].values.tolist() == alone["snapshot"].values.tolist()


def test_every_stage_has_them_from_its_own_beginning(small):
    text = '[[stage]]\nname = "a"\nuntil = { time = 3.0 }\n[[stage]]\nname = "b"\nuntil = { time = 4.0 }\n'
    scenario = flowsim.loads(text + "[observe]\ntimes = [1, 3.5]\n[model]\nwidth = 6\n[data]\nsamples = 8\n")
    assert flowsim.run(scenario)["time"].values.tolist() == [0.0, 1.0, 3.0, 4.0, 6.5, 7.0]


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("times = [1, 1]", "observe.times[1]", "1 is not above 1; times are in increasing order"),
        ("times = [2, 1.5]", "observe.times[1]", "1.5 is not above 2"),
        ("times = [-1, 2]", "observe.times[0]", "greater than or equal to 0"),
        ("times = [0, inf]", "observe.times[1]", "finite"),
        ("times = [0, nan]", "observe.times[1]", "finite"),
        ('times = [0, "1"]', "observe.times[1]", "valid number"),
        ("times = []", "observe.times", "at least 1"),
        ('times = [0, 1]\nspacing = "log"', "observe.spacing", "only with a number of times"),
        ('times = [0, 1]\nspacing = "solver"', "observe.spacing", "only with a number of times"),
        ("times = [0, 1]\n[flow]\nuntil = { loss = 0.1 }", "flow.until", "needs time or steps"),
    ],
)
def test_what_makes_no_sense_is_refused(text, key, message):
    with pytest.raises(ScenarioError) as caught:
        flowsim.loads(f"[observe]\n{text}\n", name="a.toml")
    (issue,) = caught.value.issues
    assert issue.key == key
    assert message in issue.message


def test_a_default_spacing_may_be_given_and_whole_numbers_are_times():
    scenario = flowsim.loads('[observe]\ntimes = [0, 1, 2.5]\nspacing = "linear"\n')
    assert scenario.observe.times == (0.0, 1.0, 2.5)


def test_the_schedule_is_the_list_between_time_0_and_the_end(small):
    assert Schedule.of(small(observe__times=[2, 30, 31]), math.nan).instants == [0.0, 2.0, 30.0]
    open_ended = Schedule.of(small(observe__times=[2, 50], flow__until={"steps": 3}), math.nan)
    assert open_ended.instants == [0.0, 2.0, 50.0]
    assert not open_ended.bound <= 1e300
