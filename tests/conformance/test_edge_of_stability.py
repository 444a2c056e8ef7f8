"""The sharpness of gradient descent, against what Cohen et al. (2021) have found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flowsim

SCENARIO = Path(__file__).parents[2] / "scenarios" / "theory" / "edge_of_stability.toml"


@pytest.mark.parametrize("step", [2.0, 1.8])
def test_descent_stays_at_a_sharpness_of_two_over_the_step_while_the_loss_falls(step):
    run = flowsim.run(flowsim.load(SCENARIO, {"flow.step": step}))
    sharpness, loss = run["sharpness"].values[:, 0], run["loss"].values
    assert sharpness[0] < 0.7 * 2 / step
    np.testing.assert_allclose(sharpness[50:], 2 / step, rtol=0.05)
    assert loss[-1] < 0.5 * loss[50] < 0.5e-3
    assert (np.diff(loss) > 0).any()


def test_the_flow_goes_on_to_a_larger_sharpness_and_its_loss_never_rises():
    overrides = {"flow.method": "gradient_flow", "flow.until.time": 6000.0, "observe.times": 31}
    run = flowsim.run(flowsim.load(SCENARIO, overrides, unset=["flow.step", "flow.iterations"]))
    assert float(run["sharpness"][-1, 0]) > 1.2
    assert (np.diff(run["loss"].values) < 0).all()
