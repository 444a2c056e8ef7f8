"""Neurons, and layers above them, as an ordinary network: a function of the arrays that are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import matmul
from typing import Any

import jax
import jax.numpy as jnp

from ...kinds.activations import Activation
from ...kinds.layers import forward
from ...problem import Problem


def function_of(problem: Problem) -> Callable[[Sequence[Any], Any], Any]:
    """The network of a problem as a function: (trained arrays, inputs (n, d)) -> outputs (n,), or (k, n) of several.

    The arrays are those of :func:`flowsim.observe.parameters.arrays`. An activation that changes with time, and gates, are
    no function of these.
    """
    if problem.network is not None:
        return problem.network.outputs
    return _layers(problem) if problem.upper else _neurons(problem)


def _neurons(problem: Problem) -> Callable[[Sequence[Any], Any], Any]:
    activation = replace(problem.activation, response=_with_slope(problem.activation))

    def function(arrays: Sequence[Any], inputs: Any) -> Any:
        rows, output = arrays if problem.trained_output else (*arrays, jnp.asarray(problem.output))
        # a constant for derivatives, so that these have no squares of tiny norms in them
        scale = jax.lax.stop_gradient(jnp.abs(rows).max(axis=1))
        unit = rows / scale[:, None]
        norm = jnp.linalg.norm(unit, axis=1)
        log_norm = jnp.log(norm) + jnp.log(scale)
        seen = unit / norm[:, None] @ _seen(problem, inputs).T
        response, _ = activation.response(seen, log_norm[:, None], jnp)
        parts = (output * jnp.exp(activation.homogeneity * log_norm))[:, None] * response
        outputs = parts.reshape(problem.outputs, -1, parts.shape[1]).sum(axis=1)
        return outputs if problem.loss.several else outputs[0]

    return function


def _layers(problem: Problem) -> Callable[[Sequence[Any], Any], Any]:
    activation = replace(problem.activation, response=_with_slope(problem.activation))

    def function(arrays: Sequence[Any], inputs: Any) -> Any:
        outputs, _ = forward(arrays[0] @ _seen(problem, inputs).T, arrays[1:], activation, jnp, matmul)
        return outputs if problem.loss.several else outputs[0]

    return function


def _seen(problem: Problem, inputs: Any) -> Any:
    """What rows are multiplied with: inputs (n, d), and a column of ones for biases."""
    inputs = jnp.asarray(inputs)
    return jnp.concatenate([inputs, jnp.ones_like(inputs[:, :1])], axis=1) if problem.bias else inputs


def _with_slope(activation: Activation) -> Callable[..., tuple[Any, Any]]:
    """The response, whose derivative is the one that the flow goes by, at a kink too."""

    @jax.custom_jvp
    def response(s: Any, log_norm: Any) -> Any:
        return activation.response(s, log_norm, jnp)[0]

    @response.defjvp
    def _(at: Any, change: Any) -> Any:
        s, log_norm = at
        value, slope = activation.response(s, log_norm, jnp)
        # k is a power of s alone, or |w|^q k is a function of |w| s
        along = 0.0 if activation.degree is not None else s * slope - activation.homogeneity * value
        return value, slope * change[0] + along * change[1]

    return lambda s, log_norm, xp: (response(s, jnp.asarray(log_norm)), None)
