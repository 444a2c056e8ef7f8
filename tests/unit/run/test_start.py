"""A goal that is met at the start is reported there, by every engine."""

from __future__ import annotations

import pytest

import flowsim

ENGINES = {
    "numba": {"flow.engine": "numba"},
    "diffrax": {"flow.engine": "diffrax"},
    "descent": {"flow.method": "gradient_descent", "flow.step": 0.1},
    "optax": {
        "model": {"kind": "mlp", "activation": "tanh", "widths": [4]},
        "init.scale": 0.5,
        "flow.method": "adam",
        "flow.step": 0.1,
    },
}


@pytest.mark.parametrize("kind", ENGINES)
def test_a_loss_that_is_there_at_time_0_is_reached_there(small, kind):
    scenario = small().replace({**ENGINES[kind], "flow.until": {"loss": 10.0}})
    tree = flowsim.run(scenario)
    assert (tree.attrs["status"], tree["time"].values.tolist()) == ("done", [0.0])
    assert tree.attrs["status_cause"] == "reached loss 10 at time 0 after 0 steps"


@pytest.mark.parametrize(("wanted", "steps"), [(1e-3, 0), (0.999, None)])
def test_so_is_an_alignment(small, wanted, steps):
    tree = flowsim.run(small(flow__engine="numba", flow__until={"alignment": wanted, "time": 100.0}))
    found = tree["numerics/steps"].values[-1]
    assert found == 0 if steps == 0 else found > 0
