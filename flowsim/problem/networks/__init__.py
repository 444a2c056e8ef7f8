"""Networks. An activation is one module here and one line in ACTIVATIONS."""

from collections.abc import Callable
from typing import Any

from . import leaky_relu, linear, ntk_features, prelu, relu, relu_power, symmetric_relu, tanh
from .activation import Activation

#: model.activation -> function of the model section that gives its Activation
ACTIVATIONS: dict[str, Callable[[Any], Activation]] = {
    "relu": relu.build,
    "leaky_relu": leaky_relu.build,
    "prelu": prelu.build,
    "relu_power": relu_power.build,
    "tanh": tanh.build,
    "linear": linear.build,
    "symmetric_relu": symmetric_relu.build,
    "ntk_features": ntk_features.build,
}

#: Of networks that have no neurons.
NONE = Activation("none", lambda s, log_norm, xp: (s, xp.ones_like(s)), homogeneity=1, degree=None, smooth=True)

__all__ = ["ACTIVATIONS", "NONE", "Activation"]
