"""Neurons, and layers above them, as an ordinary network: a function of the arrays that are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    no function of these. Equal functions compute the same, so that compiled code can be shared.
    """
    if problem.network is not None:
        return problem.network.outputs
    activation, bias, several = problem.activation, problem.bias, problem.loss.several
    if problem.upper:
        return Layers(activation, bias, several)
    fixed = None if problem.trained_output else tuple(map(float, problem.output))
    return Neurons(activation, bias, several, problem.outputs, fixed)


@dataclass(frozen=True)
class Neurons:
    """arrays: rows (m, d), bias entries in a last column, and the output weights (m,), unless these are `fixed`."""

    activation: Activation
    bias: bool
    several: bool
    outputs: int
    fixed: tuple[float, ...] | None

    def __call__(self, arrays: Sequence[Any], inputs: Any) -> Any:
        rows, output = arrays if self.fixed is None else (*arrays, jnp.array(self.fixed))
        activation = _with_slope(self.activation)
        # a constant for derivatives, so that these have no squares of tiny norms in them
        scale = jax.lax.stop_gradient(jnp.abs(rows).max(axis=1))
        unit = rows / scale[:, None]
        norm = jnp.linalg.norm(unit, axis=1)
        log_norm = jnp.log(norm) + jnp.log(scale)
        seen = unit / norm[:, None] @ _seen(inputs, self.bias).T
        response, _ = activation.response(seen, log_norm[:, None], jnp)
        parts = (output * jnp.exp(activation.homogeneity * log_norm))[:, None] * response
        outputs = parts.reshape(self.outputs, -1, parts.shape[1]).sum(axis=1)
        return outputs if self.several else outputs[0]


@dataclass(frozen=True)
class Layers:
    """arrays: the matrix of every layer, biases in a last column."""

    activation: Activation
    bias: bool
    several: bool

    def __call__(self, arrays: Sequence[Any], inputs: Any) -> Any:
        first = arrays[0] @ _seen(inputs, self.bias).T
        outputs, _ = forward(first, arrays[1:], _with_slope(self.activation), jnp, matmul)
        return outputs if self.several else outputs[0]


def _seen(inputs: Any, bias: bool) -> Any:
    """What rows are multiplied with: inputs (n, d), and a column of ones for biases."""
    inputs = jnp.asarray(inputs)
    return jnp.concatenate([inputs, jnp.ones_like(inputs[:, :1])], axis=1) if bias else inputs


def _with_slope(activation: Activation) -> Activation:
    """The activation whose response has, for JAX, the derivative that the flow goes by, at a kink too."""

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

    return replace(activation, response=lambda s, log_norm, xp: (response(s, jnp.asarray(log_norm)), None))
