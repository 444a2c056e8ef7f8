"""Li, Pan, Lyu & Li 2025, Feature Averaging: its ideal classifiers and its claims.

k clusters of one norm R (sqrt(d) in the paper) in classes J+ and J-. Trained on the class, every neuron becomes the sum
of its class's centres; trained on the cluster, every neuron becomes one centre.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats, Integers
from ..evaluate.claim import Claim, register_all
from ..evaluate.evidence import Evidence, NotApplicable
from ..evaluate.robustness import TwoLayer
from ..observe import Instant
from ..observe.kinds.coefficients import cluster_coefficients, noise_coefficients
from ..problem import Problem
from .relu import distance_up_to_scale, relu_network

PAPER = "Li et al. 2025"
#: Radius of the attack, in units of R/sqrt(k), that the averaging networks must not withstand: 1 turns f_FA, 2k/(k + 2)
#: the network of Proposition 4.8.
ATTACK = 2.0
#: Radius, in units of R, at which that same attack must leave the decoupled network right.
WITHSTOOD = 0.25


def feature_averaging(centers: Floats, cluster_label: Integers) -> TwoLayer:
    """f_FA = |J+| ReLU<mean of mu_j over J+, x> - |J-| ReLU<mean of mu_j over J-, x> (Definition 4.1)."""
    sums = np.array([centers[cluster_label == sign].sum(axis=0) for sign in (1, -1)])
    return relu_network(sums, np.zeros(2), np.array([1.0, -1.0]))


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


def _clustered(evidence: Evidence) -> Problem:
    """The problem, where every sample belongs to a cluster, and clusters to both classes."""
    if set(evidence.clean_label.tolist()) != {-1, 1}:
        raise NotApplicable("it speaks of clusters of both labels")
    return evidence.problem


def _binary(evidence: Evidence) -> Problem:
    """The problem, where it is that of the paper's Section 4.1."""
    if not np.array_equal(evidence.problem.targets, evidence.clean_label):
        raise NotApplicable("it speaks of training on the label +1/-1 of every sample's cluster, all of them clean")
    if evidence.problem.trained_output:
        raise NotApplicable("it speaks of fixed output weights")
    return _clustered(evidence)


def _multi_class(evidence: Evidence) -> Problem:
    """The problem, where it is that of the paper's Section 4.2."""
    problem = _clustered(evidence)
    if len(np.unique(evidence.neuron_output)) != len(problem.centers) or problem.trained_output:
        raise NotApplicable("it speaks of fixed output weights and an output for every cluster")
    return problem


def _radius(problem: Problem) -> float:
    return float(np.linalg.norm(problem.centers, axis=1).mean())


def _dual(problem: Problem) -> Floats:
    """(K, d): mu_j/|mu_j|^2"""
    return problem.centers / (problem.centers**2).sum(axis=1, keepdims=True)


def _fit(hidden: Floats, features: Floats) -> tuple[float, float]:
    """(lambda that minimises sum_r |w_r - lambda z_r|^2, the largest |w_r - lambda z_r|)"""
    factor = float((hidden * features).sum() / (features**2).sum())
    return factor, float(np.linalg.norm(hidden - factor * features, axis=1).max())


def _averages(evidence: Evidence) -> tuple[float, float]:
    """The fit of all neurons by one lambda times the sum of mu_j/|mu_j|^2 over their class"""
    problem = _binary(evidence)
    own = problem.weights.output_sign[:, None] == problem.cluster_label
    return _fit(evidence.network.hidden, own @ _dual(problem))


def _coefficients(evidence: Evidence) -> tuple[Floats, Floats]:
    """lambda at the end, (own, other): of every neuron with every cluster of its class, and of the other."""
    problem = _binary(evidence)
    if evidence.setting.decomposition is not None:
        found = cluster_coefficients(evidence.end)
    else:
        moved = evidence.network.hidden - problem.hidden
        found = np.asarray(np.linalg.lstsq(_dual(problem).T, moved.T)[0].T, dtype=float)
    own = problem.weights.output_sign[:, None] == problem.cluster_label
    return found[own], found[~own]


def _equal_coefficients(evidence: Evidence) -> float:
    own, _ = _coefficients(evidence)
    return float(np.ptp(own) / np.abs(own.mean()))


def _other_coefficients(evidence: Evidence) -> float:
    own, other = _coefficients(evidence)
    return float(np.abs(other).max() / np.abs(own.mean()))


def _averaging(evidence: Evidence) -> float:
    factor, distance = _averages(evidence)
    return distance * _radius(evidence.problem) / abs(factor)


def _bias(evidence: Evidence) -> float:
    if not _binary(evidence).bias:
        raise NotApplicable("the network has no biases")
    return float(np.abs(evidence.network.bias).max())


def _clean_accuracy(evidence: Evidence) -> float:
    problem, test = _binary(evidence), evidence.test
    return evidence.accuracy(evidence.network(test.inputs), problem.cluster_label[test.sample_cluster])


def _attacked(evidence: Evidence, radius: float) -> tuple[Floats, Integers]:
    """(test samples moved by so much against their label, their labels)"""
    problem, test = evidence.problem, evidence.test
    labels = problem.cluster_label[test.sample_cluster]
    return test.inputs - radius * labels[:, None] * averaging_attack(problem.centers, problem.cluster_label), labels


def _not_robust(evidence: Evidence) -> float:
    problem = _binary(evidence)
    x, labels = _attacked(evidence, ATTACK * _radius(problem) / len(problem.centers) ** 0.5)
    return evidence.accuracy(evidence.network(x), labels)


def _distance(evidence: Evidence) -> float:
    problem = _binary(evidence)
    ideal = feature_averaging(problem.centers, problem.cluster_label)
    distance, _, size = distance_up_to_scale(evidence.network, ideal, _radius(problem))
    return distance / size


def _decoupling(evidence: Evidence) -> tuple[float, float]:
    """The fit of all neurons by one lambda times mu_j/|mu_j|^2, j their output's cluster"""
    problem = _multi_class(evidence)
    return _fit(evidence.network.hidden, _dual(problem)[evidence.neuron_output])


def _decoupled(evidence: Evidence) -> float:
    factor, distance = _decoupling(evidence)
    return distance * _radius(evidence.problem) / abs(factor)


def _multi_class_accuracy(evidence: Evidence, radius: float) -> float:
    problem = _multi_class(evidence)
    x, labels = _attacked(evidence, radius * _radius(problem))
    return evidence.accuracy(binary_probability(evidence.class_outputs(x), problem.cluster_label), labels)


def _counterexample(evidence: Evidence, radius: float) -> float:
    problem = _clustered(evidence)
    x, labels = _attacked(evidence, radius * _radius(problem) / len(problem.centers) ** 0.5)
    outputs = averaging_outputs(x, problem.centers, problem.cluster_label)
    return evidence.accuracy(binary_probability(outputs, problem.cluster_label), labels)


def _counterexample_loss(evidence: Evidence) -> float:
    problem = _clustered(evidence)
    outputs = averaging_outputs(problem.inputs, problem.centers, problem.cluster_label)
    own = outputs[np.arange(len(outputs)), problem.sample_cluster]
    return float(np.mean(np.logaddexp.reduce(outputs, axis=1) - own))


def _reassembled(evidence: Evidence) -> float:
    """Largest |w_j - its decomposition| / |w_j| over the kept weights"""
    problem, setting = evidence.problem, evidence.setting
    noise = problem.inputs - problem.centers[problem.sample_cluster]
    square = (noise**2).sum(axis=1, keepdims=True)
    noise = np.divide(noise, square, out=np.zeros_like(noise), where=square > 0)
    worst = 0.0
    for instant in _decomposed(evidence):
        sigma = noise_coefficients(instant)[:, setting.reduced.representative]
        found = problem.hidden + cluster_coefficients(instant) @ _dual(problem) + sigma @ noise
        size = np.exp(instant.snapshot.log_norm)
        hidden = size[:, None] * setting.reduced.lift(instant.snapshot.direction)[0]
        worst = max(worst, float((np.linalg.norm(found - hidden, axis=1) / size).max()))
    return worst


def _decomposed(evidence: Evidence) -> list[Instant]:
    """The kept weights, where they decompose."""
    if evidence.setting.decomposition is None:
        raise NotApplicable("the weights do not determine the coefficients: it needs linearly independent samples")
    weights = evidence.weights
    return [Instant(evidence.setting, weights[index]) for index in range(len(weights.time))]


def _signs(evidence: Evidence) -> float:
    """Share of the noise coefficients at the end with the sign of s y_i, or 0 to rounding"""
    problem, end = _binary(evidence), _decomposed(evidence)[-1]
    sigma = noise_coefficients(end)
    towards = sigma * problem.weights.output_sign[:, None] * evidence.setting.reduced.targets
    return float(np.mean(towards >= -1e-9 * np.abs(sigma).max()))


def _updates(evidence: Evidence) -> float:
    """Largest error of update (3) over pairs of kept weights an iteration apart, relative to the largest update"""
    problem, instants = _binary(evidence), _decomposed(evidence)
    step, times, reduced = evidence.step, evidence.weights.time, evidence.setting.reduced
    decomposition = evidence.setting.decomposition
    if step is None:
        raise NotApplicable("it speaks of iterations, which a flow does not have")
    pairs = np.flatnonzero(np.abs(np.diff(times) - step) < 1e-6 * step)
    if not len(pairs) or decomposition is None:
        raise NotApplicable('no weights were kept one iteration apart (see observe.times and snapshots = "all")')
    worst = 0.0
    for index in pairs:
        before, after = instants[index], instants[index + 1]
        active = before.snapshot.direction @ reduced.inputs.T >= 0
        pull = -step * reduced.sample_weight * before.loss_derivative * decomposition.noise
        expected = problem.output[:, None] * active * pull
        change = noise_coefficients(after) - noise_coefficients(before)
        worst = max(worst, float(np.abs(change - expected).max() / np.abs(expected).max()))
    return worst


def _largest(name: str, evidence: Evidence) -> float:
    _binary(evidence)
    return float(evidence.between(name, 0.0).max())


def _activation(evidence: Evidence) -> float:
    return float(evidence.between("activation_region", 0.0).min())


def _binary_activation(evidence: Evidence) -> float:
    _binary(evidence)
    return _activation(evidence)


def _multi_class_activation(evidence: Evidence) -> float:
    _multi_class(evidence)
    return _activation(evidence)


#: What the paper leaves to o(1) or Omega(1) has numbers here; each statement names its own.
CLAIMS = {
    "theorem_4_5.clean_accuracy": Claim(
        f"{PAPER}, Theorem 4.5 (1)",
        "accuracy on fresh samples; 0.999 for 1 - exp(-Omega(log^2 d))",
        _clean_accuracy,
        0.999,
        at_least=True,
    ),
    "theorem_4_5.equal_coefficients": Claim(
        f"{PAPER}, Theorem 4.5 (2)",
        "range of the coefficients lambda of neurons and clusters of one class, relative to their mean; 10 % for o(1). "
        "Where the weights do not determine them, lambda is from a projection on the centres",
        _equal_coefficients,
        0.1,
    ),
    "theorem_4_5.large_coefficients": Claim(
        f"{PAPER}, Theorem 4.5 (2)",
        "smallest coefficient lambda of a neuron and a cluster of its class; 1/2 for Omega(1)",
        lambda evidence: float(_coefficients(evidence)[0].min()),
        0.5,
        at_least=True,
    ),
    "theorem_4_5.other_coefficients": Claim(
        f"{PAPER}, Theorem 4.5 (2), Lemma B.7 (8)",
        "largest |lambda| of a neuron and a cluster of the other class, relative to the mean within a class; 10 % for o(1)",
        _other_coefficients,
        0.1,
    ),
    "theorem_4_5.feature_averaging": Claim(
        f"{PAPER}, Theorem 4.5 (2)",
        "largest |w_j - lambda sum of mu/|mu|^2 over the class| times R / lambda, one lambda for all; 1/2 for o(1)",
        _averaging,
        0.5,
    ),
    "theorem_4_5.bias": Claim(f"{PAPER}, Theorem 4.5 (2)", "largest |b_j|; 0.1 for o(1)", _bias, 0.1),
    "theorem_4_5.not_robust": Claim(
        f"{PAPER}, Theorem 4.5 (3)",
        f"accuracy on fresh samples moved by {ATTACK:g} R/sqrt(k) along the difference of the classes; 0.01 for "
        "exp(-Omega(log^2 d))",
        _not_robust,
        0.01,
    ),
    "theorem_4_6": Claim(
        f"{PAPER}, Theorem 4.6",
        "inf over C of sup |C f_FA - f| on the sphere of radius R, relative to sup |f|; 1/4 for o(1). The suprema are the "
        "largest values that gradient ascent finds",
        _distance,
        0.25,
    ),
    "theorem_4_7.clean_accuracy": Claim(
        f"{PAPER}, Theorem 4.7 (1)",
        "accuracy of the binary classifier on fresh samples; 0.999 for 1 - exp(-Omega(log^2 d))",
        lambda evidence: _multi_class_accuracy(evidence, 0.0),
        0.999,
        at_least=True,
    ),
    "theorem_4_7.large_coefficient": Claim(
        f"{PAPER}, Theorem 4.7 (2)",
        "lambda / log k; 1/2 for Omega(1)",
        lambda evidence: _decoupling(evidence)[0] / float(np.log(len(evidence.problem.centers))),
        0.5,
        at_least=True,
    ),
    "theorem_4_7.feature_decoupling": Claim(
        f"{PAPER}, Theorem 4.7 (2)",
        "largest |w_jr - lambda mu_j/|mu_j|^2| times R / lambda, one lambda for all; 1/2 for o(1)",
        _decoupled,
        0.5,
    ),
    "theorem_4_7.withstands": Claim(
        f"{PAPER}, Theorem 4.7 (3)",
        f"accuracy of the binary classifier on fresh samples moved by {WITHSTOOD:g} R along the difference of the classes: "
        "one attack of many, so necessary and not sufficient; 0.999 for 1 - exp(-Omega(log^2 d))",
        lambda evidence: _multi_class_accuracy(evidence, WITHSTOOD),
        0.999,
        at_least=True,
    ),
    "proposition_4_8.cross_entropy": Claim(
        f"{PAPER}, Proposition 4.8",
        "cross-entropy of the averaging multi-class network on the training samples; 1e-3 for exp(-Omega(d))",
        _counterexample_loss,
        1e-3,
    ),
    "proposition_4_8.clean_accuracy": Claim(
        f"{PAPER}, Proposition 4.8",
        "accuracy of that network's binary classifier on fresh samples; 0.999 for 1 - exp(-Omega(log^2 d))",
        lambda evidence: _counterexample(evidence, 0.0),
        0.999,
        at_least=True,
    ),
    "proposition_4_8.not_robust": Claim(
        f"{PAPER}, Proposition 4.8",
        f"its accuracy on samples moved by {ATTACK:g} R/sqrt(k) along the difference of the classes; 0.01 for "
        "exp(-Omega(log^2 d))",
        lambda evidence: _counterexample(evidence, ATTACK),
        0.01,
    ),
    "lemma_5_1": Claim(
        f"{PAPER}, Lemma 5.1",
        "largest distance of a neuron from its decomposition into w(0), centres and noise, relative to its norm, at all "
        "kept weights; 1e-8 for rounding",
        _reassembled,
        1e-8,
    ),
    "lemma_5_2.signs": Claim(
        f"{PAPER}, Lemma 5.2, Corollary B.5",
        "share of noise coefficients with the sign of s y_i, or 0, as the updates of either sign add up to",
        _signs,
        1.0,
        at_least=True,
    ),
    "lemma_5_2.updates": Claim(
        f"{PAPER}, Lemma 5.2, equation (3)",
        "largest error of the predicted update of a noise coefficient, relative to the largest update, over kept weights "
        "one iteration apart; 1e-6 for rounding",
        _updates,
        1e-6,
    ),
    "lemma_5_3.margin_gap": Claim(
        f"{PAPER}, Lemma 5.3",
        "largest difference between two margins at the kept instants after 0; 1 for the epsilon(k) that tends to 0",
        lambda evidence: _largest("margin_gap", evidence),
        1.0,
        observables=("margin_gap",),
    ),
    "lemma_5_3.loss_derivative_ratio": Claim(
        f"{PAPER}, equation (6)",
        "largest ratio of two loss derivatives at the kept instants after 0; e for 1 + o(1), as the gap's 1 allows",
        lambda evidence: _largest("loss_derivative_ratio", evidence),
        math.e,
        observables=("loss_derivative_ratio",),
    ),
    "lemma_5_5": Claim(
        f"{PAPER}, Lemma 5.5",
        "smallest share, over the kept instants after 0, of samples that activate every neuron of their class",
        _binary_activation,
        1.0,
        at_least=True,
        observables=("activation_region",),
    ),
    "lemma_c_5": Claim(
        f"{PAPER}, Lemma C.5",
        "smallest share, over the kept instants after 0, of samples that activate every neuron of their cluster's output",
        _multi_class_activation,
        1.0,
        at_least=True,
        observables=("activation_region",),
    ),
}
register_all("li_2025", CLAIMS)
