"""Losses. A loss is one module here and one line in LOSSES."""

from .cross_entropy import CROSS_ENTROPY
from .exponential import EXPONENTIAL
from .logistic import LOGISTIC
from .loss import Loss
from .square import SQUARE

LOSSES = {loss.name: loss for loss in (SQUARE, LOGISTIC, EXPONENTIAL, CROSS_ENTROPY)}

__all__ = ["LOSSES", "Loss"]
