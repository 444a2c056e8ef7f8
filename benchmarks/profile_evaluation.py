"""How much of a field evaluation, and of a whole solver step, are the two matrix products that it cannot do without.

    python benchmarks/profile_evaluation.py

The products are timed by themselves, in the same JAX, precision and run; of each time the best of several rounds counts.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from solvers import cores

import flowsim
from flowsim.run.prepare import Prepared
from flowsim.solve import make

SCENARIO = """
seed = 0

[data]
kind = "gaussian_mixture"
dimension = 1000
positive = 5
negative = 5
noise = { total = 0.1 }
samples = 5000

[model]
activation = "prelu"
degree = 3
width = 200

[init]
scale = 1e-7

[flow]
engine = "diffrax"
solver = "dopri8"
coordinates = "polar"
until = { time = 1200.0 }
"""
ROUNDS = 20


def main() -> None:
    print(f"cores: {cores()}, {platform.machine()}, JAX {jax.__version__}; best of {ROUNDS} rounds")
    exact, mixed = profile("float64"), profile("mixed")
    print(f"an evaluation in mixed precision takes {mixed / exact:.2f} of one in float64")


def profile(precision: str) -> float:
    """Print the shares of one precision; seconds of a field evaluation."""
    scenario = flowsim.loads(SCENARIO, overrides={"flow.precision": precision, "flow.rtol": 1e-5})
    prepared = Prepared(scenario)
    integrator: Any = make(scenario, prepared.reduced, prepared.plan)
    # the first step evaluates once more than the others
    carry = integrator.advance(integrator.begin(), jnp.inf, 1)
    after = integrator.advance(carry, jnp.inf, 1)
    evaluations = integrator.report(after).evaluations - integrator.report(carry).evaluations
    with jax.enable_x64(True):
        constants = integrator._constants
        inputs, directions = constants.data.inputs, carry.state.hidden
        field = jax.jit(integrator._stepper.coordinates.field)
        forward, backward = jax.jit(lambda u, x: u @ x.T), jax.jit(lambda s, x: s @ x)
        directions = directions.astype(inputs.dtype)
        slopes = forward(directions, inputs)
        seconds = fastest(
            {
                "forward": lambda: forward(directions, inputs),
                "backward": lambda: backward(slopes, inputs),
                "field": lambda: field(carry.state, constants),
                "step": lambda: integrator.advance(carry, jnp.inf, 1),
            }
        )
    products = seconds["forward"] + seconds["backward"]
    per_evaluation = seconds["step"] / evaluations
    print(
        f"{inputs.shape[0]} samples, {inputs.shape[1]} features, {directions.shape[0]} neurons, precision {precision}"
    )
    print(f"products U X^T and S X       {1e3 * seconds['forward']:8.2f} ms + {1e3 * seconds['backward']:.2f} ms")
    for what, whole in (("field evaluation", seconds["field"]), (f"step / {evaluations} evaluations", per_evaluation)):
        print(f"{what:<28} {1e3 * whole:8.2f} ms, of which the products are {100 * products / whole:.0f} %")
    return seconds["field"]


def fastest(functions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each function's fastest call, after one to warm up; the functions take turns."""
    for function in functions.values():
        jax.block_until_ready(function())
    return {name: min(times) for name, times in _rounds(functions).items()}


def _rounds(functions: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            begun = time.perf_counter()
            jax.block_until_ready(function())
            times[name].append(time.perf_counter() - begun)
    return times


if __name__ == "__main__":
    main()
