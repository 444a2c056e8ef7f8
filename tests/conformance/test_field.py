"""The field is minus the gradient of the loss, for every network, loss and way to write the state."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.reference import Plain

from flowsim import build
from flowsim.engine.diffrax.coordinates import Cartesian, Constants, Polar
from flowsim.engine.diffrax.field import Data, Network
from flowsim.problem import reduce

ACTIVATIONS = [
    {"activation": "relu"},
    {"activation": "leaky_relu", "slope": 0.3},
    {"activation": "prelu", "degree": 3},
    {"activation": "prelu", "degree": 2.5},
    {"activation": "relu_power", "degree": 2},
    {"activation": "tanh"},
]


def velocities(problem, coordinates):
    """(dw/dt (m, d + bias), dv/dt (m,)) at the start, put together from the field in the given coordinates."""
    with jax.enable_x64(True):
        network, reduced = Network(problem.activation, problem.loss), reduce(problem)
        weights = problem.weights
        constants = Constants(Data.of(reduced), jnp.asarray(weights.output_sign), jnp.asarray(weights.output_log))
        form = (
            Polar(network, problem.balanced, problem.trained_output)
            if coordinates == "polar"
            else Cartesian(network, problem.trained_output)
        )
        state = form.start(reduced)
        field = form.field(state, constants)
        norm = np.exp(weights.log_norm)
        if coordinates == "cartesian":
            hidden, output = np.asarray(field.hidden), field.output
        else:
            radial = np.asarray(field.log_norm)[:, None]
            hidden = norm[:, None] * (np.asarray(field.hidden) + radial * np.asarray(state.hidden))
            ratio = np.asarray(form.unit(state, constants)[2])
            rate = 0.0 if field.output is None else np.asarray(field.output)
            output = norm * (rate + ratio * radial[:, 0]) if problem.trained_output else None
        lifted, bias = reduced.lift(hidden)
    return (np.column_stack([lifted, bias]) if problem.bias else lifted), output


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
@pytest.mark.parametrize("model", ACTIVATIONS, ids=lambda model: "-".join(map(str, model.values())))
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("start", ["balanced", "unbalanced", "fixed"])
def test_the_field_is_minus_the_gradient(small, coordinates, loss, model, bias, start):
    fixed = {"output": "fixed", "output_weight": 0.7} if start == "fixed" else {}
    scenario = small(
        model={**model, **fixed, "width": 3, "bias": bias},
        loss__kind=loss,
        loss__reduction="sum",
        init__scale=0.5,
        init__balanced=start == "balanced",
        data={"dimension": 7, "positive": 1, "negative": 2, "samples": 5, "balanced": False, "label_noise": 0.2},
    )
    problem = build(scenario)
    plain = Plain(problem)
    by_hidden, by_output = plain.gradient(*plain.start())
    hidden_rate, output_rate = velocities(problem, coordinates)
    np.testing.assert_allclose(hidden_rate, -by_hidden, rtol=1e-6, atol=1e-6 * np.abs(by_hidden).max())
    if start != "fixed":
        np.testing.assert_allclose(output_rate, -by_output, rtol=1e-6, atol=1e-6 * np.abs(by_output).max())
