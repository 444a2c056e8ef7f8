"""The network of a problem as a function of the arrays that are trained, in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from ..kinds.activations import Activation
from ..kinds.in_jax import response
from ..kinds.network import Leaf, Network, Neurons
from ..problem import Problem


def network_of(problem: Problem, time: float = 0.0) -> Network:
    """An ordinary network as it is; of two layers of neurons the same by the formulas of these, whose arrays are those of
    :func:`flowsim.observe.parameters.arrays`. time: of an activation that changes with time.

    The same object for problems of the same formulas and shapes, so that compiled code can be shared.
    """
    if problem.network is not None:
        return problem.network
    fixed = None if problem.trained_output else tuple(map(float, problem.output))
    neurons, features = problem.hidden_direction.shape
    function = TwoLayers(problem.activation.at(time), problem.outputs, fixed)
    return _of_two_layers(function, neurons, features, problem.bias)


@lru_cache(maxsize=64)
def _of_two_layers(function: TwoLayers, neurons: int, features: int, bias: bool) -> Network:
    leaves = [Leaf("hidden", "hidden", (neurons, features + bias), (0,))]
    if function.fixed is None:
        leaves.append(Leaf("output", "output", (neurons,), (0,)))
    return Network(
        name="two_layer",
        function=function,
        leaves=tuple(leaves),
        tree=lambda arrays: {leaf.name: array for leaf, array in zip(leaves, arrays, strict=True)},
        input_shape=(features,),
        count=function.outputs,
        neurons=Neurons(0, bias, reducible=True),
    )


@dataclass(frozen=True)
class TwoLayers:
    """params: "hidden", the rows (m, d), and "output", the output weights (m,), unless these are `fixed`. outputs: how
    many, each of as many neurons, in order."""

    activation: Activation
    outputs: int
    fixed: tuple[float, ...] | None

    def __call__(self, params: Mapping[str, Any], inputs: Any) -> Any:
        rows, output = params["hidden"], params["output"] if self.fixed is None else jnp.array(self.fixed)
        # a constant for derivatives, so that these have no squares of tiny norms in them
        scale = jax.lax.stop_gradient(jnp.abs(rows).max(axis=1))
        unit = rows / scale[:, None]
        norm = jnp.linalg.norm(unit, axis=1)
        log_norm = jnp.log(norm) + jnp.log(scale)
        seen = unit / norm[:, None] @ inputs.T
        found = response(self.activation, seen, log_norm[:, None])
        parts = (output * jnp.exp(self.activation.homogeneity * log_norm))[:, None] * found
        found = parts.reshape(self.outputs, -1, parts.shape[1]).sum(axis=1)
        return found[0] if self.outputs == 1 else found.T
