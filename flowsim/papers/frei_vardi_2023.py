"""Frei, Vardi, Bartlett & Srebro 2023, The Double-Edged Sword of Implicit Bias: its robust network and its claims.

Clusters around nearly orthogonal means of norm sqrt(d). Every KKT point of the margin problem classifies fresh samples, and
one perturbation, z = eta sum_j y_j mu_j of norm about sqrt(d/k), flips almost all of them, though a network exists that
nothing shorter than sqrt(d)/8 flips.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..arrays import Booleans, Floats, Integers
from ..evaluate.claim import Claim, Premise, register_all
from ..evaluate.evidence import Evidence, NotApplicable
from ..evaluate.robustness import TwoLayer
from ..kinds.clusters import Drawn
from ..problem import Problem
from .relu import relu_network

PAPER = "Frei, Vardi, Bartlett & Srebro 2023"
#: epsilon, the share of fresh samples of which a claim need not hold.
EPSILON = 0.01
#: A KKT point meets its conditions to this.
KKT = 1e-8
#: Two numbers that are equal, but for rounding.
NEAR = 1e-9
#: Bisections of a strength or a radius.
BISECTIONS = 60


def robust_network(centers: Floats, label: Integers) -> TwoLayer:
    """sum_j y_j ReLU(<4 mu_j/d, x> - 2) for the means (k, d) and their labels (k,): Theorem 4.1."""
    return relu_network(4 * centers / centers.shape[1], np.full(len(centers), -2.0), label.astype(float))


def certified_radius(x: Floats, y: Floats, centers: Floats, label: Integers) -> Floats:
    """(n,): no perturbation of the samples (n, d) that is shorter changes the sign y (n,) that `robust_network` gives them;
    0 where it does not give it.

    A perturbation of length t sqrt(d)/4 moves no pre-activation by more than t, since all weights have norm 4/sqrt(d).
    """
    network = robust_network(centers, label)
    before = x @ network.hidden.T + network.bias
    own = y[:, None] == label
    low, high = np.zeros(len(x)), np.full(len(x), float(np.abs(before).max()))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        helping = np.maximum(np.where(own, before - middle[:, None], 0.0), 0.0).sum(axis=1)
        against = np.maximum(np.where(own, 0.0, before + middle[:, None]), 0.0).sum(axis=1)
        safe = helping > against
        low, high = np.where(safe, middle, low), np.where(safe, high, middle)
    return np.asarray(low / np.linalg.norm(network.hidden, axis=1).max())


def universal_direction(centers: Floats, label: Integers) -> Floats:
    """(d,): u = sum_j y_j mu_j"""
    return np.asarray(label @ centers)


class Flips:
    """What the perturbations -y eta u, of any strength eta, do to the samples x (n, d) with labels y (n,); u (d,)."""

    def __init__(self, network: TwoLayer, x: Floats, y: Floats, direction: Floats):
        lives = np.flatnonzero(network.weight)
        hidden, self._output = network.direction[lives], network.weight[lives]
        self._before = x @ hidden.T + network.offset[lives]
        self._along = y[:, None] * (hidden @ direction)
        self._positive = self._signs(0.0)

    def share(self, strength: float) -> float:
        """Of the samples whose sign of the output it changes."""
        return float(np.mean(self._signs(strength) != self._positive))

    def smallest(self, share: float = 1 - EPSILON) -> float:
        """The smallest strength that flips this share; inf where 1 does not, which mirrors the mean of every cluster."""
        low, high = 0.0, 1.0
        if self.share(high) < share:
            return math.inf
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.share(middle) >= share else (middle, high)
        return high

    def _signs(self, strength: float) -> Booleans:
        return np.asarray(np.maximum(self._before - strength * self._along, 0.0) @ self._output > 0)


def _problem(evidence: Evidence) -> Problem:
    """The problem, where the paper speaks of such."""
    problem = evidence.problem
    if evidence.scenario.data.kind != "gaussian_mixture" or problem.activation.name != "relu":
        raise NotApplicable("it speaks of Gaussian clusters and ReLU")
    if not problem.trained_output or problem.loss.tail is None:
        raise NotApplicable("it speaks of two trained layers, logistic or exponential loss")
    if abs(problem.cluster_label.sum()) == len(problem.cluster_label):
        raise NotApplicable("it speaks of clusters of both labels")
    return problem


def _sizes(evidence: Evidence) -> tuple[int, int, float, float]:
    """(k, d, p, Delta): Delta = 4 sigma sqrt(d) ln(d), p the largest |<mu_i, mu_j>|"""
    problem = _problem(evidence)
    data = evidence.scenario.data
    assert isinstance(data, Drawn)
    clusters, dimension = problem.centers.shape
    products = np.abs(problem.centers @ problem.centers.T)
    np.fill_diagonal(products, 0.0)
    noise = data.noise.standard_deviation(dimension)
    return clusters, dimension, float(products.max()), 4 * noise * math.sqrt(dimension) * math.log(dimension)


def _assumption(evidence: Evidence) -> float:
    """The left side of the third part of Assumption 2.2 over the right; inf where the right is not positive"""
    clusters, dimension, product, delta = _sizes(evidence)
    right = (dimension - delta + 1) / 10
    return clusters * (product + delta + 1) / right if right > 0 else math.inf


def _strength_of_proof(evidence: Evidence) -> float:
    """eta_1 + eta_2, before Lemma D.7"""
    clusters, dimension, product, delta = _sizes(evidence)
    rest = dimension - delta - clusters * (product + delta)
    c, part = _smaller_class(evidence), clusters * (product + delta + 1) / (dimension - delta + 1)
    if rest <= 0 or not 0 < part < 1 / 3:
        raise NotApplicable("the strength that the proof gives exists only near Assumption 2.2")
    second = 3 * (3 * dimension + delta + 1) * (1 - 2 * part) / (rest * (1 - 3 * part) * c * clusters)
    return (2 * delta + product + 1) / rest + second


def _smaller_class(evidence: Evidence) -> float:
    """c: the smaller share of the clusters with either label"""
    positive = float(np.mean(_problem(evidence).cluster_label > 0))
    return min(positive, 1 - positive)


def _limit(evidence: Evidence) -> TwoLayer:
    _problem(evidence)
    if evidence.limit.residual > KKT:
        raise NotApplicable(f"no KKT point was found (residual {evidence.limit.residual:.3g})")
    return evidence.limit_network


def _fresh_error(network: TwoLayer, evidence: Evidence) -> float:
    return 1 - evidence.accuracy(network.value(evidence.test.inputs), evidence.test.targets)


def _training_error(evidence: Evidence) -> float:
    problem = evidence.problem
    return 1 - evidence.accuracy(_limit(evidence)(problem.inputs), problem.targets)


def _linear_error(evidence: Evidence) -> float:
    problem = _problem(evidence)
    outputs = evidence.test.inputs @ universal_direction(problem.centers, problem.cluster_label)
    return 1 - evidence.accuracy(outputs, evidence.test.targets)


def _linear_bound(evidence: Evidence) -> float:
    dimension = _sizes(evidence)[1]
    return min(2 * dimension ** (1 - math.log(dimension) / 2), 1.0)


def _after(evidence: Evidence, name: str) -> Floats:
    """An observable from the first kept instant at which the mean loss is below 1/n"""
    problem = _problem(evidence)
    _, log_loss = evidence.over_time("log10_loss")
    mean = log_loss - math.log10(problem.sample_weight.sum())
    below = mean < -math.log10(len(problem.targets))
    if not below.any():
        raise NotApplicable("the loss does not fall below 1/n")
    values = evidence.over_time(name)[1][int(below.argmax()) :]
    if len(values) < 2:
        raise NotApplicable("no instant was kept after the loss fell below 1/n")
    return values


def _log_size(evidence: Evidence) -> Floats:
    """log |theta| from then on"""
    hidden = _after(evidence, "log_norm")
    with np.errstate(divide="ignore"):
        output = np.log(np.abs(_after(evidence, "output_weight")))
    return np.asarray(0.5 * np.logaddexp.reduce(2 * np.concatenate([hidden, output], axis=1), axis=1))


def _approach(evidence: Evidence) -> float:
    """Angle to the KKT point at the last snapshot over that at the first one with a loss below 1/n"""
    _limit(evidence)
    times, log_loss = evidence.over_time("log10_loss")
    mean = log_loss - math.log10(evidence.problem.sample_weight.sum())
    first = times[int((mean < -math.log10(len(evidence.problem.targets))).argmax())]
    snapshots = np.flatnonzero(evidence.weights.time >= first)
    if len(snapshots) < 2:
        raise NotApplicable("too few weights were kept after the loss fell below 1/n (see observe.snapshots)")
    begin, end = (evidence.angle_to_limit(int(index)) for index in snapshots[[0, -1]])
    return end / begin


def _at_least_one(evidence: Evidence) -> float:
    problem, test = _problem(evidence), evidence.test
    network = robust_network(problem.centers, problem.cluster_label)
    return float(np.mean(test.targets * network(test.inputs) >= 1))


def _radius(evidence: Evidence) -> float:
    """The certified radius that all but a share of EPSILON of the fresh samples have, over sqrt(d)"""
    problem, test = _problem(evidence), evidence.test
    radii = certified_radius(test.inputs, test.targets, problem.centers, problem.cluster_label)
    return float(np.quantile(radii, EPSILON)) / math.sqrt(problem.centers.shape[1])


def _flips(network: TwoLayer, evidence: Evidence) -> Flips:
    problem, test = _problem(evidence), evidence.test
    return Flips(network, test.inputs, test.targets, universal_direction(problem.centers, problem.cluster_label))


def _smallest(evidence: Evidence) -> float:
    return _flips(_limit(evidence), evidence).smallest()


def _perturbation(evidence: Evidence) -> float:
    """|z| / sqrt(d) at the smallest eta"""
    problem = _problem(evidence)
    direction = universal_direction(problem.centers, problem.cluster_label)
    return _smallest(evidence) * float(np.linalg.norm(direction)) / math.sqrt(problem.centers.shape[1])


def _over_radius(evidence: Evidence) -> float:
    """inf where the robust network is wrong on more than EPSILON of the samples: the certified radius is then 0"""
    size, radius = _perturbation(evidence), _radius(evidence)
    return size / radius if radius else math.inf


def _flips_of_proof(evidence: Evidence) -> float:
    return _flips(_limit(evidence), evidence).share(_strength_of_proof(evidence))


def _transfers(evidence: Evidence) -> float:
    """Share of fresh samples that a little more than the smallest eta of the limit flips where the flow stopped"""
    return _flips(evidence.network, evidence).share(1.2 * _smallest(evidence))


def _premises(evidence: Evidence) -> Iterator[Premise]:
    """Assumption 2.2 and what the theorems ask of n"""
    problem = evidence.problem
    clusters, dimension, product, delta = _sizes(evidence)
    norm = np.linalg.norm(problem.centers, axis=1) / math.sqrt(dimension)
    yield Premise("Assumption 2.2: |mu| = sqrt(d): largest relative deviation", float(np.abs(norm - 1).max()), NEAR)
    deviation = delta / (4 * math.sqrt(dimension) * math.log(dimension))
    yield Premise("Assumption 2.2: sigma <= 1", deviation, 1.0)
    left, right = clusters * (product + delta + 1), (dimension - delta + 1) / 10
    yield Premise("Assumption 2.2: k (max |<mu_i, mu_j>| + Delta + 1) <= (d - Delta + 1)/10", left, right)
    yield Premise("n >= k ln(d)^2", len(problem.targets), clusters * math.log(dimension) ** 2, True)


_CLAIMS = {
    "assumption_2_2": Claim(
        f"{PAPER}, Assumption 2.2",
        "k (max |<mu_i, mu_j>| + 4 sigma sqrt(d) ln d + 1) over (d - 4 sigma sqrt(d) ln d + 1)/10",
        _assumption,
        1.0,
    ),
    "theorem_2_1.loss": Claim(
        f"{PAPER}, Theorem 2.1",
        "largest rise of log10 of the loss between kept instants, once the loss is below 1/n",
        lambda evidence: float(np.diff(_after(evidence, "log10_loss")).max()),
        0.0,
        observables=("log10_loss",),
    ),
    "theorem_2_1.norm": Claim(
        f"{PAPER}, Theorem 2.1",
        "smallest growth of log |theta| between kept instants, once the loss is below 1/n",
        lambda evidence: float(np.diff(_log_size(evidence)).min()),
        0.0,
        at_least=True,
        observables=("log10_loss",),
    ),
    "theorem_2_1.kkt": Claim(
        f"{PAPER}, Theorem 2.1",
        "largest of the KKT conditions' residuals at the limit; 1e-8 for a KKT point",
        lambda evidence: evidence.limit.residual if _problem(evidence) else math.nan,
        KKT,
    ),
    "theorem_2_1.direction": Claim(
        f"{PAPER}, Theorem 2.1",
        "angle between flow and limit at the last snapshot, over that at the first one with a loss below 1/n",
        _approach,
        1.0,
        observables=("log10_loss",),
    ),
    "lemma_2_1": Claim(
        f"{PAPER}, Lemma 2.1", "error of sign(<sum_j y_j mu_j, x>) on fresh samples", _linear_error, _linear_bound
    ),
    "theorem_3_1.training_error": Claim(f"{PAPER}, Problem (2)", "training error of the limit", _training_error, 0.0),
    "theorem_3_1.test_error": Claim(
        f"{PAPER}, Theorem 3.1",
        f"error of the limit on fresh samples; epsilon = {EPSILON:g}",
        lambda evidence: _fresh_error(_limit(evidence), evidence),
        EPSILON,
    ),
    "theorem_4_1.margin": Claim(
        f"{PAPER}, Theorem 4.1",
        "share of fresh samples with y N(x) >= 1, N the robust network",
        _at_least_one,
        1 - EPSILON,
        at_least=True,
    ),
    "theorem_4_1.radius": Claim(
        f"{PAPER}, Theorem 4.1",
        f"certified radius of the robust network over sqrt(d), which a share 1 - {EPSILON:g} of fresh samples have",
        _radius,
        1 / 8,
        at_least=True,
    ),
    "theorem_4_2.flips": Claim(
        f"{PAPER}, Theorem 4.2",
        "share of fresh samples that z = eta sum_j y_j mu_j flips for the limit, eta as in the proof",
        _flips_of_proof,
        1 - EPSILON,
        at_least=True,
    ),
    "theorem_4_2.strength": Claim(
        f"{PAPER}, Theorem 4.2",
        f"smallest eta that flips a share 1 - {EPSILON:g}; at most that of the proof",
        _smallest,
        _strength_of_proof,
    ),
    "theorem_4_2.norm": Claim(
        f"{PAPER}, Theorem 4.2",
        "|z| at the smallest eta, over sqrt(d/(c^2 k)); 1 for O(1)",
        lambda evidence: _perturbation(evidence) * _smaller_class(evidence) * math.sqrt(len(evidence.problem.centers)),
        1.0,
    ),
    "theorem_4_2.not_robust": Claim(
        f"{PAPER}, Theorem 4.2 beside 4.1",
        "|z| at the smallest eta over the certified radius of the robust network",
        _over_radius,
        1.0,
    ),
    "theorem_4_2.transfers": Claim(
        f"{PAPER}, after Theorem 4.2",
        "share of fresh samples that 1.2 times the smallest z of the limit flips for the network where the flow stopped",
        _transfers,
        1 - EPSILON,
        at_least=True,
    ),
}
CLAIMS = {
    name: claim if name == "assumption_2_2" else replace(claim, premises=_premises) for name, claim in _CLAIMS.items()
}
register_all("frei_vardi_2023", CLAIMS)
