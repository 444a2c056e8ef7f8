"""Formulas of registered kinds, by name."""

from __future__ import annotations

from typing import Any

from flowsim.kinds import losses
from flowsim.kinds.activations import ACTIVATIONS, Activation

#: Every loss with its default keys.
LOSSES = {name: kind.model_validate({"kind": name}).formulas for name, kind in losses.LOSSES.items()}


def activation(name: str, **keys: Any) -> Activation:
    """Of a two-layer network."""
    return ACTIVATIONS[name].model_validate({"activation": name, **keys}).formulas
