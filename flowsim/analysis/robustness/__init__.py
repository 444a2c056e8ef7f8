"""How far inputs may be moved before a classifier changes its mind: attacks, certificates, robust accuracy."""

from .classifier import ByProbability, Classifier, OwnClass, TwoLayer, restricted
from .evaluation import check, evaluated, robustness
from .ideal import IDEALS, ClusterRule, bayes, ideal_classifier, nearest_cluster, power_classifier
from .trained import classifier_of, network_of, of_result, weights_of

__all__ = [
    "IDEALS",
    "ByProbability",
    "Classifier",
    "ClusterRule",
    "OwnClass",
    "TwoLayer",
    "bayes",
    "check",
    "classifier_of",
    "evaluated",
    "ideal_classifier",
    "nearest_cluster",
    "network_of",
    "of_result",
    "power_classifier",
    "restricted",
    "robustness",
    "weights_of",
]
