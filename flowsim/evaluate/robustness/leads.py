"""Certified radii of networks with an output for each cluster: one output, or a mean of some, stays ahead of all others.

Every lead is a two-layer network with a single output, so it has a certificate of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Floats, Integers
from .certified import certified_radius, has_certificate
from .classifier import ByProbability, OwnClass, TwoLayer


def lead_radius(classifier: ByProbability | OwnClass, x: Floats) -> Floats | None:
    """(n,): a lower bound of each sample's distance from where the classifier has not its sign; 0 where it knows none, as
    for samples that are not of the class `own`. None where the activation has no certificates."""
    if not has_certificate(classifier.network):
        return None
    if isinstance(classifier, OwnClass):
        others = np.delete(np.arange(classifier.outputs), classifier.own)
        own = (np.arange(classifier.outputs) == classifier.own).astype(float)
        return _ahead(classifier.network, classifier.neuron_output, own, others, 0.0, x)
    return _by_probability(classifier, x)


def _by_probability(classifier: ByProbability, x: Floats) -> Floats:
    """P(+) > P(-) where an output of the first is ahead of every one of the second by the log of their number, and where
    the mean of the first is, by the log of their number over that of the first (Jensen's inequality)."""
    radius, value, outputs = np.zeros(len(x)), classifier.value(x), classifier(x)
    for sign in (1, -1):
        mine, others = np.flatnonzero(classifier.label == sign), np.flatnonzero(classifier.label == -sign)
        rows = np.flatnonzero(sign * value > 0)
        largest = mine[outputs[np.ix_(rows, mine)].argmax(axis=1)]
        each = np.eye(len(classifier.label))
        leaders = [(rows[largest == one], each[one], float(len(others))) for one in mine]
        leaders.append((rows, each[mine].mean(axis=0), len(others) / len(mine)))
        for part, share, count in leaders:
            lead = _ahead(classifier.network, classifier.neuron_output, share, others, float(np.log(count)), x[part])
            radius[part] = np.maximum(radius[part], lead)
    return radius


def _ahead(
    network: TwoLayer, neuron_output: Integers, share: Floats, others: Integers, behind: float, x: Floats
) -> Floats:
    """(n,): within it, the outputs weighed by `share` (K,) are ahead of each of the others by more than `behind`."""
    radius = np.full(len(x), np.inf)
    for other in others:
        lead = _lead(network, share[neuron_output] - 1.0 * (neuron_output == other), behind)
        there = np.flatnonzero((radius > 0) & (lead.value(x) > 0))
        found = np.zeros(len(x))
        found[there] = certified_radius(lead, x[there])
        radius = np.minimum(radius, found)
    return radius


def _lead(network: TwoLayer, share: Floats, behind: float) -> TwoLayer:
    """sum_j share_j (neuron j's part of its output) - behind; the last by a neuron that sees a bias only."""
    rows = np.flatnonzero(share)
    constant = network.activation.response(np.ones(1), np.zeros(1), np)[0]
    with np.errstate(over="ignore"):
        last = np.clip(-behind * np.exp(-network.log_scale) / constant, -1e300, 1e300)
    return replace(
        network,
        direction=np.concatenate([network.direction[rows], np.zeros((1, network.dimension))]),
        offset=np.append(network.offset[rows], 1.0),
        log_norm=np.append(network.log_norm[rows], 0.0),
        weight=np.append(share[rows] * network.weight[rows], last),
    )
