"""A goal of the loss or of alignment ends a flow where it is met, within a step, whatever integrates it."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

#: What `flowsim.solve.ending` finds is within 1e-11 of the goal's logarithm; ten times that for the rounding of margins,
#: which are summed anew here.
CLOSE = 1e-10
FAR = {"loss__kind": "logistic", "flow__clock": "loss", "flow__until": {"log10_loss": -100.0}}
FLOWS = {
    "time": {"flow__clock": "time", "flow__until": {"loss": 0.4}, "observe__spacing": "log"},
    "cartesian": {"flow__clock": "time", "flow__coordinates": "cartesian", "flow__until": {"loss": 0.4}},
    "going over": {"loss__kind": "logistic", "flow__until": {"log10_loss": -30.0}},
    "loss clock": {**FAR, "observe__spacing": "log"},
    "stiff": {**FAR, "flow__solver": "rkc2"},
    "every step": {**FAR, "observe__spacing": "solver"},
}


def goal_of(flow: dict) -> float:
    until = flow["flow__until"]
    return float(until.get("log10_loss", np.log10(until.get("loss", 1.0))))


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
def test_the_loss_at_the_end_is_the_goal(small, flow):
    scenario = small(**flow, flow__rtol=1e-5)
    tree = flowsim.run(scenario)
    assert tree.attrs["status"] == "done"
    goal, found = goal_of(flow), tree["log10_loss"].values
    assert goal - CLOSE * max(1.0, abs(goal)) <= found[-1] <= goal
    # no instant after the end is kept, and the end is kept once
    assert (found[:-1] > goal).all()
    times = tree["log10_time" if "log10_time" in tree else "time"].values
    assert (np.diff(times) > 0).all()


def test_the_end_s_time_is_the_one_at_which_the_loss_is_the_goal(small):
    """A run to that time, which is met exactly, has that loss: as nearly as the interpolant inside a step is as good as the
    step, whose errors are rtol of each neuron."""
    rtol = 1e-6
    scenario = small(**FLOWS["time"], flow__rtol=rtol)
    end = flowsim.run(scenario)
    there = flowsim.run(scenario.replace({"flow.until": {"time": float(end["time"].values[-1])}}))
    assert there["log10_loss"].values[-1] == pytest.approx(np.log10(0.4), abs=100 * rtol)
    np.testing.assert_allclose(there["direction"][-1], end["direction"][-1], atol=100 * rtol)


def test_an_alignment_is_met_within_a_step(small):
    tree = flowsim.run(small(flow__until={"alignment": 0.9}, init__shape="nudged", init__nudge=0.5, flow__rtol=1e-5))
    targeted = np.flatnonzero(tree["target_cluster"].values >= 0)
    worst = tree["cosine"].values[:, targeted, tree["target_cluster"].values[targeted]].min(axis=1)
    assert tree.attrs["status"] == "done"
    assert worst[-1] == pytest.approx(0.9, abs=CLOSE)
    assert (worst[:-1] < 0.9).all()


def test_an_earlier_time_comes_first(small):
    tree = flowsim.run(small(**{**FAR, "flow__until": {"log10_loss": -100.0, "time": 1e20}}))
    assert tree["time"].values[-1] == 1e20
    assert tree["log10_loss"].values[-1] > -100


def test_a_stage_begins_where_the_one_before_has_met_its_goal(small):
    values = small().to_dict()
    engine = values.pop("flow")["engine"]
    goals = {"first": {"loss": 0.4}, "second": {"time": 1.0}}
    values["stage"] = [{"name": name, "engine": engine, "until": until} for name, until in goals.items()]
    tree = flowsim.run(values)
    loss, stage = tree["loss"].values, tree["stage"].values
    assert loss[stage == "first"][-1] == pytest.approx(0.4, rel=CLOSE)
    assert tree["time"].values[-1] == tree["time"].values[stage == "first"][-1] + 1.0


def test_engines_end_at_the_same_time():
    """Both stop where the loss is the goal, so that what is left is their errors: not a step, which is a factor of time."""
    run = {
        "data": {"dimension": 6, "positive": 1, "negative": 1, "samples": 12, "noise": {"total": 0.3}},
        "model": {"activation": "prelu", "degree": 2, "width": 6},
        "init": {"scale": 1e-2},
        "loss": {"kind": "exponential"},
    }
    flow = {"rtol": 1e-5, "clock": "loss", "until": {"log10_loss": -100.0}}
    ends = [
        flowsim.run({**run, "flow": {**flow, "engine": engine}})["log10_time"].values[-1]
        for engine in ("numba", "diffrax")
    ]
    assert ends[0] == pytest.approx(ends[1], abs=1e-4)


def test_each_member_of_an_ensemble_has_an_end_of_its_own(small):
    tree = flowsim.run(small(seed=[0, 1, 2], flow__until={"time": 1e6, "loss": 0.4}))
    reached = tree["final/loss"].values < 0.41
    assert reached.any()
    np.testing.assert_allclose(tree["final/loss"].values[reached], 0.4, rtol=CLOSE)
