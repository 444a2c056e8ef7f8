"""How far inputs may be moved before a classifier changes its mind: attacks, certificates, robust accuracy."""

from .classifier import ByProbability, Classifier, TwoLayer, restricted
from .ideal import IDEALS, ClusterRule, bayes, ideal_classifier, nearest_cluster, power_classifier
from .trained import classifier_of, network_of, of_result, weights_of

__all__ = [
    "IDEALS",
    "ByProbability",
    "Classifier",
    "ClusterRule",
    "TwoLayer",
    "bayes",
    "classifier_of",
    "ideal_classifier",
    "nearest_cluster",
    "network_of",
    "of_result",
    "power_classifier",
    "restricted",
    "weights_of",
]
