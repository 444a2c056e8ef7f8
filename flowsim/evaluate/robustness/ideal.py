"""The classifiers that training could at best arrive at: Bayes' rule, the nearest cluster, and F^(p).

Min & Vidal 2025, Proposition 2 and equation 9, for clusters of any norms, angles and noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats, Integers
from ...errors import UsageError
from ...kinds.activations import ACTIVATIONS
from ...problem import Problem
from ...scenario import Scenario
from .classifier import Classifier, TwoLayer

#: The ideal classifiers by name.
IDEALS = ("bayes", "ideal", "nearest")
#: p of F^(p) where the network's activation has none.
DEGREE = 3.0


@dataclass(frozen=True)
class ClusterRule:
    """The label of the likeliest cluster, or class of clusters: with scores s_k(x) = <x, center_k> + offset_k (K,),

        temperature log sum_{+} exp(s_k/temperature) - temperature log sum_{-} exp(s_k/temperature),

    and for temperature 0 the difference of the largest scores. center (K, d), label (K,): +1/-1, both of them there.

    With offset_k = -|center_k|^2/2 + temperature log prior_k and the variance of the noise as the temperature this is
    Bayes' rule for Gaussian clusters, f* of Proposition 2 as log-odds times the variance; with temperature 0 it is that of
    the nearest cluster.
    """

    center: Floats
    offset: Floats
    label: Integers
    temperature: float
    name: str

    @property
    def dimension(self) -> int:
        return self.center.shape[1]

    @property
    def directions(self) -> Floats:
        return self.center

    def within(self, basis: Floats) -> ClusterRule:
        return replace(self, center=self.center @ basis)

    def value(self, x: Floats) -> Floats:
        return self._difference(x)[0]

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        value, share = self._difference(x)
        return value, share @ self.center

    def _difference(self, x: Floats) -> tuple[Floats, Floats]:
        """(value (n,), its derivative in the scores (n, K))"""
        scores = x @ self.center.T + self.offset
        value, share = np.zeros(len(x)), np.zeros(scores.shape)
        for sign in (1, -1):
            own = self.label == sign
            top = scores[:, own].max(axis=1, keepdims=True)
            if self.temperature > 0:
                odds = np.exp((scores[:, own] - top) / self.temperature)
            else:
                odds = (scores[:, own] == top).astype(float)
            total = odds.sum(axis=1, keepdims=True)
            value += sign * (top + self.temperature * np.log(total))[:, 0]
            share[:, own] = sign * odds / total
        return value, share


def nearest_cluster(centers: Floats, label: Integers) -> ClusterRule:
    """(min over - of |x - mu_k|^2 less that over +)/2, for centres (K, d) with labels (K,)."""
    return ClusterRule(centers, -(centers**2).sum(axis=1) / 2, label, 0.0, "nearest")


def bayes(centers: Floats, label: Integers, deviation: float, prior: Floats | None = None) -> ClusterRule:
    """Bayes' rule for Gaussian clusters of covariance deviation^2 I: f* as log-odds times deviation^2.

    prior (K,): how likely each cluster is, the same for all unless given.
    """
    rule = replace(nearest_cluster(centers, label), temperature=deviation**2, name="bayes")
    return rule if prior is None else replace(rule, offset=rule.offset + deviation**2 * np.log(prior))


def power_classifier(centers: Floats, label: Integers, degree: float) -> TwoLayer:
    """F^(p)(x) = sum_{+} max(<x, mu_k>, 0)^p - sum_{-} max(<x, mu_k>, 0)^p, p = degree (equation 9).

    For centres of other norms than 1, <x, mu_k>/|mu_k|^2 stands for <x, mu_k>: orthogonal centres have the values +1/-1.
    """
    norm = np.linalg.norm(centers, axis=1)
    activation = ACTIVATIONS["prelu"].model_validate({"degree": float(degree)}).formulas
    count = len(centers)
    return TwoLayer(
        centers / norm[:, None], np.zeros(count), np.zeros(count), label / norm**degree, activation, name="ideal"
    )


def ideal_classifier(name: str, scenario: Scenario, problem: Problem) -> Classifier:
    """One of IDEALS for the clusters of a problem; p of "ideal" is the degree of the network's activation, or DEGREE.

    Raises UsageError where the data have no such classifier.
    """
    centers, label = problem.centers, problem.cluster_label
    if not len(centers):
        raise UsageError(f'the classifier "{name}" is made of cluster centres, which are unknown here')
    if set(label.tolist()) != {-1, 1}:
        raise UsageError(f'the classifier "{name}" needs clusters of both labels, and of these only')
    if name == "nearest":
        return nearest_cluster(centers, label)
    if name == "bayes":
        return bayes(centers, label, _deviation(scenario))
    if not centers.any(axis=1).all():
        raise UsageError("F^(p) needs centres that are not at the origin")
    return power_classifier(centers, label, degree_of(problem))


def degree_of(problem: Problem) -> float:
    """p of the F^(p) that belongs to the problem's network"""
    return problem.activation.degree or DEGREE


def _deviation(scenario: Scenario) -> float:
    """Standard deviation of the Gaussian noise around the centres, in each coordinate."""
    try:
        return scenario.data.noise_deviation()
    except ValueError as wrong:
        raise UsageError(f'"bayes" {wrong}') from None
