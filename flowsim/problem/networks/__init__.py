"""Networks. An activation is one module here and one line in ACTIVATIONS."""

from collections.abc import Callable
from typing import Any

from . import leaky_relu, linear, prelu, relu, relu_power, tanh
from .activation import Activation

#: model.activation -> function of the model section that gives its Activation
ACTIVATIONS: dict[str, Callable[[Any], Activation]] = {
    "relu": relu.build,
    "leaky_relu": leaky_relu.build,
    "prelu": prelu.build,
    "relu_power": relu_power.build,
    "tanh": tanh.build,
    "linear": linear.build,
}

__all__ = ["ACTIVATIONS", "Activation"]
