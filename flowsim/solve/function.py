"""The network of a problem as a function of the arrays that are trained, in JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arrays import Floats
from ..kinds.activations import Activation
from ..kinds.in_jax import response
from ..kinds.network import Leaf, Network, Neurons
from ..problem import Problem, Reduced
from .snapshot import Snapshot


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


def first_arrays(reduced: Reduced, network: Network) -> tuple[Floats, ...]:
    """The trained arrays of `network_of` at time 0, in the reduced coordinates."""
    problem, first = reduced.problem, Snapshot.first(reduced)
    if problem.two_layers and problem.trained_output:
        first = replace(first, leaves=(problem.output,))
    return first.arrays(network)


def with_outputs(found: Snapshot, fixed: Floats) -> Snapshot:
    """Of two layers of neurons, what `Snapshot.of_arrays` makes of their arrays, with output weights v_j as other
    snapshots have them. fixed (m,): these where they are not trained."""
    (output,) = found.leaves or (fixed,)
    with np.errstate(divide="ignore"):
        return replace(found, output_sign=np.sign(output), output_log=np.log(np.abs(output)), leaves=())


def in_type_of(inputs: jax.Array, compute: Callable[..., Any], arrays: tuple[jax.Array, ...]) -> Any:
    """compute(arrays, inputs), computed in the type that the inputs have; results are in that of the arrays."""
    found = compute(tuple(array.astype(inputs.dtype) for array in arrays), inputs)
    return jax.tree.map(lambda part: part.astype(arrays[0].dtype), found)


def scale_of(pull: jax.Array, computed: jax.Array, axes: tuple[int, ...] | None = None) -> jax.Array:
    """What to divide a pull by, so that nothing underflows in the type of what is computed: 1 in its own. axes: over which
    its largest entry is taken."""
    if pull.dtype == computed.dtype:
        return jnp.ones(())
    largest = jnp.max(jnp.abs(pull), axis=axes, keepdims=axes is not None)
    return jnp.where(largest > 0, largest, 1.0)


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
