"""How far inputs may be moved before a classifier changes its mind: attacks, certificates, robust accuracy."""

from .certified import certified_radius
from .classifier import ByProbability, Classifier, Network, OwnClass, TwoLayer, restricted
from .evaluation import check, evaluated, robustness
from .exact import exact_radius
from .ideal import IDEALS, ClusterRule, bayes, ideal_classifier, nearest_cluster, power_classifier
from .ordinary import Ordinary
from .trained import classifier_of, network_of
from .transfer import transfer

__all__ = [
    "IDEALS",
    "ByProbability",
    "Classifier",
    "ClusterRule",
    "Network",
    "Ordinary",
    "OwnClass",
    "TwoLayer",
    "bayes",
    "certified_radius",
    "check",
    "classifier_of",
    "evaluated",
    "exact_radius",
    "ideal_classifier",
    "nearest_cluster",
    "network_of",
    "power_classifier",
    "restricted",
    "robustness",
    "transfer",
]
