"""The field is minus the gradient of the loss, for every network, loss and way to write the state."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.reference import Plain

from flowsim import Problem, build, loads
from flowsim.arrays import Floats
from flowsim.problem import Reduced, reduce
from flowsim.solve import Plan, make
from flowsim.solve.diffrax.coordinates import Cartesian, Constants, Polar
from flowsim.solve.diffrax.field import Data, Network

#: Rates at the start as the engine has them: (m, r) of u or w, (m,) of log|w| (polar), (m,) of v/|w| or v; 0 where the
#: engine does not integrate it.
Rates = tuple[Floats, Floats, Floats]

ACTIVATIONS = [
    {"activation": "relu"},
    {"activation": "leaky_relu", "slope": 0.3},
    {"activation": "prelu", "degree": 3},
    {"activation": "prelu", "degree": 2.5},
    {"activation": "relu_power", "degree": 2},
    {"activation": "tanh"},
]


def diffrax_rates(problem: Problem, reduced: Reduced, coordinates: str) -> Rates:
    with jax.enable_x64(True):
        network, weights = Network(problem.activation, problem.loss, problem.outputs), problem.weights
        constants = Constants(Data.of(reduced), jnp.asarray(weights.output_sign), jnp.asarray(weights.output_log))
        form = (
            Polar(network, problem.balanced, problem.trained_output)
            if coordinates == "polar"
            else Cartesian(network, problem.trained_output)
        )
        field = form.field(form.start(reduced), constants)
        zeros = np.zeros(len(reduced.direction))
        return tuple(zeros if rate is None else np.asarray(rate) for rate in field[:3])


def numba_rates(problem: Problem, reduced: Reduced, coordinates: str) -> Rates:
    integrator = make(loads(""), reduced, Plan("numba", "dop853", coordinates, (), ()))
    ahead = integrator.begin().state.ahead
    return ahead[:, :-2], ahead[:, -2], ahead[:, -1]


RATES = {"diffrax": diffrax_rates, "numba": numba_rates}


def velocities(problem: Problem, engine: str, coordinates: str) -> tuple[Floats, Floats]:
    """(dw/dt (m, d + bias), dv/dt (m,)) at the start, put together from the field in the given coordinates."""
    reduced, weights = reduce(problem), problem.weights
    hidden, radial, output = RATES[engine](problem, reduced, coordinates)
    if coordinates == "polar":
        norm, ratio = np.exp(weights.log_norm), weights.output_sign * np.exp(weights.output_log - weights.log_norm)
        hidden = norm[:, None] * (hidden + radial[:, None] * reduced.direction)
        output = norm * (output + ratio * radial)
    lifted, bias = reduced.lift(hidden)
    return (np.column_stack([lifted, bias]) if problem.bias else lifted), output


@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
@pytest.mark.parametrize("loss", ["square", "logistic", "exponential", "cross_entropy"])
@pytest.mark.parametrize("model", ACTIVATIONS, ids=lambda model: "-".join(map(str, model.values())))
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("start", ["balanced", "unbalanced", "fixed"])
def test_the_field_is_minus_the_gradient(small, engine, coordinates, loss, model, bias, start):
    fixed = {"output": "fixed", "output_weight": 0.7} if start == "fixed" else {}
    by_cluster = loss == "cross_entropy"
    scenario = small(
        model={**model, **fixed, "width": 6 if by_cluster else 3, "bias": bias},
        loss__kind=loss,
        loss__reduction="sum",
        init__scale=0.5,
        init__balanced=start == "balanced",
        init__signs="random",
        data={
            "dimension": 7,
            "positive": 1,
            "negative": 2,
            "samples": 5,
            "balanced": False,
            **({"supervision": "cluster"} if by_cluster else {"label_noise": 0.2}),
        },
    )
    problem = build(scenario)
    plain = Plain(problem)
    by_hidden, by_output = plain.gradient(*plain.start())
    hidden_rate, output_rate = velocities(problem, engine, coordinates)
    np.testing.assert_allclose(hidden_rate, -by_hidden, rtol=1e-6, atol=1e-6 * np.abs(by_hidden).max())
    if start != "fixed":
        np.testing.assert_allclose(output_rate, -by_output, rtol=1e-6, atol=1e-6 * np.abs(by_output).max())
