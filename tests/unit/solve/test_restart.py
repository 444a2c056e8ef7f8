"""A carry that was saved goes on as it would have, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.problem import reduce
from flowsim.solve import choose, make

MLP = {"model": {"kind": "mlp", "widths": [6, 5], "activation": "tanh"}, "init__scale": 0.3, "flow__solver": "tsit5"}
KINDS = {
    "diffrax": {"flow__engine": "diffrax"},
    "numba": {"flow__engine": "numba"},
    "numba, cartesian, unbalanced": {
        "flow__engine": "numba",
        "flow__solver": "dopri5",
        "flow__coordinates": "cartesian",
        "init__balanced": False,
    },
    "mlp": MLP,
    "mlp, sgd": {**MLP, "flow": {"method": "sgd", "step": 0.05, "batch": 7, "iterations": 600}},
    "two layers, adam": {"flow": {"method": "adam", "step": 0.05, "iterations": 600}},
    "two layers, rates": {"flow__rates": {"output": 0.5}, "init__scale": 0.3},
    "diffrax, loss clock": {
        "flow__engine": "diffrax",
        "flow__rtol": 1e-9,
        "flow__clock": "loss",
        "loss__kind": "exponential",
    },
    "numba, loss clock": {"flow__engine": "numba", "flow__clock": "loss", "loss__kind": "logistic"},
    "numba, loss clock, sliding": {
        "model": {"activation": "relu", "width": 10, "bias": True},
        "data__noise": {"total": 1.0},
        "loss__kind": "exponential",
        "flow__clock": "loss",
        "flow__solver": "rkc2",
    },
    "numba, sliding": {"model": {"activation": "relu", "width": 6}},
    "numba, sliding, cartesian": {
        "model": {"activation": "relu", "width": 10, "bias": True},
        "data__noise": {"total": 1.0},
        "loss__kind": "exponential",
        "flow__solver": "dop853",
        "flow__coordinates": "cartesian",
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_carry_goes_on_to_the_last_bit(small, kind):
    scenario = small(**KINDS[kind])
    reduced = reduce(flowsim.build(scenario))
    integrator = make(scenario, reduced, choose(scenario, reduced))
    saved, slid = [], 0
    carry = integrator.begin()
    while integrator.report(carry).time < 30:
        saved.append({name: np.array(array) for name, array in integrator.save(carry).items()})
        carry = integrator.advance(carry, np.inf, attempts=3)
        sliding = integrator.now(carry).sliding
        slid += sliding is not None and sliding.any()
    assert (slid > 0.5 * len(saved)) == ("sliding" in kind)
    # how many steps there are differs between machines: the first ones' errors are mere rounding, and choose later sizes
    assert len(saved) > 4
    report, end = integrator.report(carry), integrator.now(carry)
    for arrays in saved[:: max(len(saved) // 10, 1)]:
        again = integrator.advance(integrator.restore(arrays), np.inf, attempts=10_000)
        assert integrator.report(again) == report
        for name, array in vars(integrator.now(again)).items():
            if name != "leaves":
                np.testing.assert_array_equal(array, getattr(end, name), err_msg=name)
        for matrix, wanted in zip(integrator.now(again).leaves, end.leaves, strict=True):
            np.testing.assert_array_equal(matrix, wanted)
