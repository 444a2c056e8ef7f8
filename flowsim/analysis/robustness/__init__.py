"""How far inputs may be moved before a classifier changes its mind: attacks, certificates, robust accuracy."""

from .classifier import ByProbability, Classifier, TwoLayer, restricted
from .trained import classifier_of, network_of, of_result, weights_of

__all__ = [
    "ByProbability",
    "Classifier",
    "TwoLayer",
    "classifier_of",
    "network_of",
    "of_result",
    "restricted",
    "weights_of",
]
