"""The classifiers of Li et al. 2025 in closed form: averaging, decoupling, and the multi-class network that averages."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, Integers
from ...evaluate.robustness import TwoLayer
from ..relu import relu_network


def feature_averaging(centers: Floats, cluster_label: Integers, bias: tuple[float, float] = (0.0, 0.0)) -> TwoLayer:
    """f_FA = |J+| ReLU<mean of mu_j over J+, x> - |J-| ReLU<mean of mu_j over J-, x> (Definition 4.1).

    bias: of the neurons of J+ and of J- (Appendix D.1).
    """
    sums = np.array([centers[cluster_label == sign].sum(axis=0) for sign in (1, -1)])
    return relu_network(sums, np.array(bias), np.array([1.0, -1.0]))


def feature_decoupling(centers: Floats, cluster_label: Integers) -> TwoLayer:
    """f_FD: the sum over J+ of ReLU(<mu_j, x> - R^2/2) minus that over J-, R^2 = |mu_j|^2 (Theorem D.3)."""
    return relu_network(centers, -((centers**2).sum(axis=1)) / 2, cluster_label.astype(float))


def averaging_outputs(x: Floats, centers: Floats, cluster_label: Integers) -> Floats:
    """(n, k): f_j(x) = ReLU<mu_j + sum of the centres of j's class, x>, right but not robust (Proposition 4.8)."""
    same = cluster_label[:, None] == cluster_label
    return np.maximum(x @ (centers + same @ centers).T, 0.0)


def binary_probability(outputs: Floats, cluster_label: Integers) -> Floats:
    """(n,): the sum over J+ minus that over J- of the softmax p_j of outputs (n, k) (Section 4.2)."""
    relative = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return (relative @ cluster_label) / relative.sum(axis=1)


def binary_logit(outputs: Floats, cluster_label: Integers) -> Floats:
    """(n,): the sum over J+ minus that over J- of outputs f_j (n, k)."""
    return outputs @ cluster_label


def averaging_attack(centers: Floats, cluster_label: Integers) -> Floats:
    """(d,): the unit vector from the centres of J- to those of J+; samples are moved against their label along it
    (Remark 4.2)."""
    direction = cluster_label @ centers
    return direction / np.linalg.norm(direction)
