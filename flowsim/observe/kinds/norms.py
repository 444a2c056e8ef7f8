"""Sizes of neurons and of their output weights."""

from __future__ import annotations

from ...arrays import Floats
from ..conditions import TWO_LAYERS, has_two_layers
from ..instant import Instant, representable
from ..observable import observable


@observable("log_norm", ("neuron",), "natural log of the neuron's norm")
def log_norm(instant: Instant) -> Floats:
    return instant.snapshot.log_norm


@observable("output_weight", ("neuron",), "output weight v_j", has_two_layers, needs=TWO_LAYERS)
def output_weight(instant: Instant) -> Floats:
    return representable(instant.snapshot.output_sign, instant.snapshot.output_log)


@observable("log_output_weight", ("neuron",), "natural log of |v_j|", has_two_layers, companion=True, needs=TWO_LAYERS)
def log_output_weight(instant: Instant) -> Floats:
    return instant.snapshot.output_log
