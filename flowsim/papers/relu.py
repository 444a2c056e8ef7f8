"""Two-layer ReLU networks as plain functions, and how far two of them are apart on a sphere, up to scale."""

from __future__ import annotations

from ..arrays import Floats
from ..evaluate.robustness import TwoLayer
from ..evaluate.sphere import sphere_distance
from ..kinds.activations import ACTIVATIONS


def relu_network(hidden: Floats, bias: Floats, output: Floats, name: str = "network") -> TwoLayer:
    """x (n, d) -> sum_j output_j max(<hidden_j, x> + bias_j, 0) (n,); hidden (m, d), bias and output (m,)."""
    relu = ACTIVATIONS["relu"].model_validate({"activation": "relu"})
    return TwoLayer.of(hidden, bias, output, relu.formulas, name)


def distance_up_to_scale(network: TwoLayer, ideal: TwoLayer, radius: float) -> tuple[float, float, float]:
    """(inf_{C > 0} sup_{|x| = radius} |C ideal(x) - network(x)|, that C, sup |network(x)|)."""
    found = sphere_distance(ideal, network, radius)
    return found.up_to_scale, found.factor, found.size
