"""Exact radii: the distance from a sample to the nearest point where a classifier has not the sample's sign.

"Exact" is a bracket with two proven ends: no point nearer than the first has another sign, and at the second there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from . import branching, orthonormal
from .classifier import Classifier, TwoLayer, restricted
from .ideal import ClusterRule
from .projection import SHAVED, nearer, shortest_step

#: Networks with no more different neurons are searched through.
FEW = 12
#: Products of neurons below this are those of orthogonal ones.
ORTHONORMAL = 1e-12
#: Boxes that a search through a network with few neurons may look at, for each sample.
BOXES = 3000
#: Neurons whose directions and offsets differ by less are one.
SAME = 1e-12

Radius = Callable[[Floats], tuple[float, float]]


def exact_radius(classifier: Classifier, x: Floats, tolerance: float = 1e-4) -> tuple[Floats, Floats]:
    """(lower (n,), upper (n,)): brackets of each sample's exact radius, no wider than the tolerance, relatively.

    Of Bayes' rule the bracket is as wide as about temperature log(K), and where a search comes to its end it may be wider;
    both ends hold all the same. Where no point has another sign, upper is inf. 0 where the value is 0.
    Raises UsageError for classifiers that there is no exact radius for: see `exactness`.
    """
    inside, basis = restricted(classifier)
    if isinstance(inside, TwoLayer):
        inside = merged(inside)
    kind, radius = _method(inside, tolerance)
    if kind == "none":
        raise UsageError(f'there is no exact radius for the classifier "{classifier.name}"')
    points = x if basis is None else x @ basis
    found = np.array([radius(point) for point in points]).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def exactness(classifier: Classifier) -> Literal["formula", "search", "none"]:
    """Whether there is an exact radius, and from what: something as quick as a formula, for linear networks, rules by
    clusters, and networks of orthonormal neurons with p > 2; or a search of up to seconds for each sample, for networks
    with at most FEW different neurons and powers as activations."""
    inside, _ = restricted(classifier)
    if isinstance(inside, TwoLayer):
        inside = merged(inside)
    kind, _ = _method(inside, 1.0)
    return kind


def merged(network: TwoLayer) -> TwoLayer:
    """The same network with one neuron for all of one direction and offset, where that alone tells them apart."""
    if network.activation.degree is None:
        return network
    rows = np.column_stack([network.direction, network.offset])
    neuron = np.full(len(rows), -1)
    first: list[int] = []
    for index, row in enumerate(rows):
        same = [place for place, other in enumerate(first) if np.abs(rows[other] - row).max() <= SAME]
        neuron[index] = same[0] if same else len(first)
        if not same:
            first.append(index)
    return replace(
        network,
        direction=network.direction[first],
        offset=network.offset[first],
        log_norm=network.log_norm[first],
        weight=np.bincount(neuron, network.weight, minlength=len(first)).astype(float),
    )


def _method(classifier: Classifier, tolerance: float) -> tuple[Literal["formula", "search", "none"], Radius]:
    if isinstance(classifier, ClusterRule):
        return "formula", lambda x: _of_clusters(classifier, x)
    if not isinstance(classifier, TwoLayer) or classifier.activation.degree is None:
        return "none", lambda x: (0.0, np.inf)
    network, degree = classifier, classifier.activation.degree
    if degree == 1 and network.activation.inactive_slope == 1:
        return "formula", lambda x: _linear(network, x)
    products = network.direction @ network.direction.T
    if degree > 2 and not network.offset.any() and np.abs(products - np.eye(len(products))).max() <= ORTHONORMAL:
        return "formula", lambda x: orthonormal.radius(network, x, tolerance)
    if len(network.weight) <= FEW:
        return "search", lambda x: branching.radius(network, x, tolerance, BOXES)
    return "none", lambda x: (0.0, np.inf)


def _linear(network: TwoLayer, x: Floats) -> tuple[float, float]:
    value, gradient = network.value_and_gradient(x[None])
    length = float(np.linalg.norm(gradient))
    found = abs(float(value[0])) / length if length > 0 else np.inf * abs(np.sign(value[0]))
    return found * (1 - SHAVED), found * (1 + SHAVED)


def _of_clusters(rule: ClusterRule, x: Floats) -> tuple[float, float]:
    """The least distance to the region in which a cluster of the other class is ahead of all of the sample's class.

    Bayes' rule changes sign at the earliest where the lead is -temperature log of the number of the other clusters, and at
    the latest where it is temperature log of the number of the own ones.
    """
    value = float(rule.value(x[None])[0])
    if value == 0:
        return 0.0, 0.0
    own = rule.label == np.sign(value)
    scores = rule.center @ x + rule.offset
    early, late = (rule.temperature * float(np.log(count)) for count in ((~own).sum(), own.sum()))
    lower = upper = np.inf
    candidates = []
    for other in np.flatnonzero(~own):
        rows, behind = rule.center[other] - rule.center[own], scores[own] - scores[other]
        length = np.maximum(np.linalg.norm(rows, axis=1), np.finfo(float).tiny)
        candidates.append((float(((behind - early) / length).max()), rows, behind))
    for single, rows, behind in sorted(candidates, key=lambda candidate: candidate[0]):
        if single >= upper:
            break
        step, least = shortest_step(rows, behind - early)
        lower, steps = min(lower, least), [step]
        if late + early > 0:
            steps.append(shortest_step(rows, behind + late)[0])
        upper = min(upper, *(nearer(rule, x, step)[0] for step in steps if np.isfinite(step).all()), np.inf)
    return min(lower, upper), upper
