"""The mathematics to integrate, in plain NumPy: data, network, loss, initial weights, exact reduction."""

from ..kinds.in_memory import Data
from .beside import Wider, beside
from .fresh import fresh
from .given import with_given
from .problem import Problem, build
from .redrawn import redrawn
from .reduction import Reduced, reduce
from .weights import Weights

__all__ = [
    "Data",
    "Problem",
    "Reduced",
    "Weights",
    "Wider",
    "beside",
    "build",
    "fresh",
    "redrawn",
    "reduce",
    "with_given",
]
