"""Formulas of kinds as JAX needs them."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special

from .activations import Activation


def normal_cdf(z: Any) -> Any:
    """Of the standard normal distribution."""
    return jax.scipy.special.ndtr(z)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def response(activation: Activation, s: Any, log_norm: Any) -> Any:
    """The activation's response, whose derivative for JAX is the one that the flow goes by, at a kink too."""
    return activation.response(s, log_norm, jnp)[0]


@response.defjvp
def _response_jvp(activation: Activation, at: Any, change: Any) -> Any:
    s, log_norm = at
    value, slope = activation.response(s, log_norm, jnp)
    # k is a power of s alone, or |w|^q k is a function of |w| s
    along = 0.0 if activation.degree is not None else s * slope - activation.homogeneity * value
    return value, slope * change[0] + along * change[1]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def pointwise(activation: Activation, s: Any) -> Any:
    """The same of an activation that is a function of <w, x> alone, s."""
    return activation.response(s, 0.0, jnp)[0]


@pointwise.defjvp
def _pointwise_jvp(activation: Activation, at: Any, change: Any) -> Any:
    value, slope = activation.response(at[0], 0.0, jnp)
    return value, slope * change[0]
