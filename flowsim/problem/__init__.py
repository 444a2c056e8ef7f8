"""The mathematics to integrate, in plain NumPy: data, network, loss, initial weights, exact reduction."""

from .fresh import fresh
from .problem import Problem, build
from .reduction import Reduced, reduce

__all__ = ["Problem", "Reduced", "build", "fresh", "reduce"]
