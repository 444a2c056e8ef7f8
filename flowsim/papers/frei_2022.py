"""Frei, Chatterji & Bartlett 2022, Random Feature Amplification: its ideal classifier and its claims.

Clusters around the unit vectors +mu_1, -mu_1 (label +1), +mu_2, -mu_2 (label -1), some labels flipped. Neurons whose cosine
with a centre of their sign is a little positive at time 0 capture it in one step, and act as |<mu_1, x>| - |<mu_2, x>|.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..arrays import Floats, Integers
from ..evaluate.claim import Claim, Premise, register_all
from ..evaluate.evidence import Evidence, NotApplicable
from ..evaluate.robustness import TwoLayer
from ..kinds.clusters import Drawn
from ..kinds.inits import Shape
from ..observe.kinds.regions import feature_changes
from ..observe.kinds.xor import C0, capture_sets, is_xor, unit_centers
from ..problem import Problem
from .relu import relu_network

PAPER = "Frei et al. 2022"
#: delta, the probability with which a claim may fail.
DELTA = 0.05
#: Flow time step T - step, T = 1 + 1/(4 step) iterations: until then neurons are aligned and almost orthogonal.
HORIZON = 0.25
#: Rounding of kept times, and of numbers that a scenario gives in decimals.
ROUNDING = 1e-6
#: Two numbers that are equal, but for rounding.
NEAR = 1e-8


def xor_ideal(centers: Floats) -> TwoLayer:
    """|<mu_1, x>| - |<mu_2, x>| (equation 1) for the centres +mu_1, -mu_1, +mu_2, -mu_2 (4, d)."""
    return relu_network(centers, np.zeros(4), np.array([1.0, 1.0, -1.0, -1.0]))


def _xor(evidence: Evidence) -> Problem:
    """The problem, where it is the paper's."""
    problem = evidence.problem
    if not is_xor(problem):
        raise NotApplicable("it speaks of the four centres of XOR")
    if problem.trained_output:
        raise NotApplicable("it speaks of fixed output weights")
    if not np.isin(problem.targets, (-1.0, 1.0)).all():
        raise NotApplicable("it speaks of training on labels +1/-1")
    return problem


def _captured(evidence: Evidence) -> tuple[Problem, Integers]:
    """(the problem, the cluster that each neuron captures or -1)"""
    problem = _xor(evidence)
    captured = capture_sets(problem)
    if (captured < 0).all():
        raise NotApplicable("no neuron captures a cluster")
    return problem, captured


def _deviation(evidence: Evidence) -> float:
    """omega, the standard deviation of an entry of w_j(0)"""
    init = evidence.scenario.init
    if not isinstance(init, Shape) or init.shape != "gaussian":
        raise NotApplicable("it speaks of weights with independent normal entries")
    return init.scale


def _predicted(evidence: Evidence, flipped: bool) -> float:
    """Share of the training points with clean or flipped label whose predicted label is that of their cluster"""
    problem = _xor(evidence)
    members = (problem.targets != evidence.clean_label) == flipped
    if not members.any():
        raise NotApplicable("no label is " + ("flipped" if flipped else "clean"))
    return evidence.accuracy(evidence.network(problem.inputs[members]), evidence.clean_label[members])


def _test_error(evidence: Evidence) -> float:
    _xor(evidence)
    return 1 - evidence.accuracy(evidence.network(evidence.test.inputs), evidence.test.targets)


def _test_bound(evidence: Evidence) -> float:
    noise = float(np.mean(evidence.test.targets != evidence.problem.cluster_label[evidence.test.sample_cluster]))
    return noise + math.sqrt(math.log(1 / DELTA) / len(evidence.problem.targets))


def _initial_size(evidence: Evidence) -> float:
    """omega sqrt(m d), about the norm of all weights at time 0"""
    return _deviation(evidence) * math.sqrt(_xor(evidence).hidden_direction.size)


def _smallest_change(evidence: Evidence) -> float:
    _xor(evidence)
    return float(np.nanmin(feature_changes(evidence.end)))


def _norms(evidence: Evidence) -> Floats:
    """|w_j(0)| / (omega sqrt(d))"""
    problem = _xor(evidence)
    return np.linalg.norm(problem.hidden, axis=1) / (_deviation(evidence) * math.sqrt(problem.features))


def _correlated(evidence: Evidence) -> float:
    """For mu_1 or mu_2, the fewer: share of neurons with |<w_j(0), mu>| >= omega/(2 C_0)"""
    problem = _xor(evidence)
    products = np.abs(problem.hidden @ unit_centers(problem)[::2].T)
    return float((products >= _deviation(evidence) / (2 * C0)).mean(axis=0).min())


def _correlated_bound(evidence: Evidence) -> float:
    return 1 - 1 / (2 * C0) - math.sqrt(2 * math.log(4 / DELTA) / len(evidence.problem.output))


def _capture_shares(evidence: Evidence) -> Floats:
    """(4,): |J_mu| / m"""
    captured = capture_sets(_xor(evidence))
    return np.array([np.mean(captured == cluster) for cluster in range(4)])


def _aligned(evidence: Evidence) -> float:
    """Smallest share of right gates from the first iteration until T - 1; of a flow, the share at flow time 1/4"""
    _captured(evidence)
    shares = evidence.between("neuron_alignment", 0.0, HORIZON)
    return float(shares.min() if evidence.step is not None else shares[-1])


def _orthogonal(evidence: Evidence) -> float:
    """Largest |<w_j, mu>| / (step |a_j|) until T - 1"""
    _captured(evidence)
    return float(evidence.between("almost_orthogonality", -1.0, HORIZON).max()) / _step(evidence)


def _step(evidence: Evidence) -> float:
    if evidence.step is None:
        raise NotApplicable("it speaks of a step of gradient descent, which a flow does not have")
    return evidence.step


def _after_one_step(evidence: Evidence, name: str) -> Floats:
    step = _step(evidence)
    return evidence.between(name, (1 - ROUNDING) * step, (1 + ROUNDING) * step)[0]


def _cosines(evidence: Evidence, cosine: Floats) -> Floats:
    """Of a cosine (m, K), that of each capturing neuron with what it captures"""
    _, captured = _captured(evidence)
    neurons = np.flatnonzero(captured >= 0)
    return cosine[neurons, captured[neurons]]


def _first_cosine(evidence: Evidence) -> float:
    problem, _ = _captured(evidence)
    norm = np.linalg.norm(problem.hidden_direction, axis=1, keepdims=True)
    cosine = problem.hidden_direction @ unit_centers(problem).T / norm
    return float(np.median(_cosines(evidence, cosine))) * math.sqrt(problem.features)


def _premises(evidence: Evidence) -> Iterator[Premise]:
    """The paper's assumptions, as far as a run can be asked"""
    _xor(evidence)
    yield from _same_training(evidence)
    yield from _sizes(evidence)


def _premises_at_end(evidence: Evidence) -> Iterator[Premise]:
    """The same of what the paper says of the network after T = 1 + 1/(4 step) iterations"""
    yield from _premises(evidence)
    if evidence.step is not None:
        last, end = float(evidence.trajectory["time"][-1]) / evidence.step, 1 + HORIZON / evidence.step
        yield Premise("|iterations - (1 + 1/(4 step))| <= 1", abs(last - end), 1.0)


def _same_training(evidence: Evidence) -> Iterator[Premise]:
    """Assumptions of Section 2.1 about centres, network and training"""
    scenario, problem = evidence.scenario, evidence.problem
    logistic = scenario.loss.kind == "logistic" and scenario.loss.reduction == "mean"
    output = np.abs(problem.output) * math.sqrt(len(problem.output))
    yield Premise.fact("gradient descent over all samples", scenario.flow.method == "gradient_descent")
    yield Premise.fact("mean logistic loss", logistic)
    yield Premise.fact("neurons without biases", not problem.bias)
    yield Premise("|a_j| sqrt(m) = 1: largest deviation", float(np.abs(output - 1).max()), NEAR)
    norm = np.linalg.norm(problem.centers, axis=1)
    yield Premise("|mu| = 1: largest deviation", float(np.abs(norm - 1).max()), NEAR)


def _sizes(evidence: Evidence) -> Iterator[Premise]:
    """Assumptions (A1) to (A7), with the least constant C > 1 that (A7), 1/(2 sqrt(C)) <= step <= 1/sqrt(C), allows"""
    (samples, dimension), neurons = evidence.problem.samples.stored.shape, len(evidence.problem.output)
    step = evidence.step
    constant = 1.0 if step is None else max(1.0, 1 / (4 * step**2))
    inputs = max(math.log(samples / DELTA) ** 2, math.log(neurons / DELTA))
    yield Premise("(A1) d >= C max(log^2(n/delta), log(m/delta))", dimension, constant * inputs, True)
    yield Premise("(A2) m >= C log(1/delta)", neurons, constant * math.log(1 / DELTA), True)
    if isinstance(evidence.scenario.data, Drawn):
        deviation = evidence.scenario.data.noise.standard_deviation(dimension)
        yield Premise("(A3) sigma sqrt(d) <= 1/C", deviation * math.sqrt(dimension), (1 + ROUNDING) / constant)
    yield Premise("(A4) n >= C log(m/delta)", samples, constant * math.log(neurons / DELTA), True)
    noise = float(np.mean(evidence.problem.targets != evidence.clean_label))
    yield Premise("(A5) noise rate <= 1/C", noise, (1 + ROUNDING) / constant)
    if evidence.scenario.init.shape == "gaussian":
        yield Premise("(A6) omega sqrt(m d) <= 1/C^2", _initial_size(evidence), (1 + ROUNDING) / constant**2)
    if step is not None:
        yield Premise("(A7) step < 1", step, 1 - ROUNDING)


#: Constants the paper leaves open: C_0 as in observe/xor.py, delta = 0.05, the others as each statement says.
_CLAIMS = {
    "theorem_3_1.clean_points": Claim(
        f"{PAPER}, Theorem 3.1 (1)",
        "share of the training points with a clean label that are classified as labelled, at the end of the run",
        lambda evidence: _predicted(evidence, flipped=False),
        1.0,
        at_least=True,
    ),
    "theorem_3_1.noisy_points": Claim(
        f"{PAPER}, Theorem 3.1 (1)",
        "share of the training points with a flipped label that are not classified as labelled, at the end of the run",
        lambda evidence: _predicted(evidence, flipped=True),
        1.0,
        at_least=True,
    ),
    "theorem_3_1.test_error": Claim(
        f"{PAPER}, Theorem 3.1 (2)",
        f"error on fresh noisy samples; their label noise plus C sqrt(log(1/delta)/n), delta = {DELTA:g}, C = 1",
        _test_error,
        _test_bound,
    ),
    "proposition_3_2": Claim(
        f"{PAPER}, Proposition 3.2",
        "smallest |phi(Wx) - phi(W(0)x)| / |phi(W(0)x)| of a training point; exp(-2)/(2^14 omega sqrt(m d)) of its proof",
        _smallest_change,
        lambda evidence: math.exp(-2) / (2**14 * _initial_size(evidence)),
        at_least=True,
    ),
    "lemma_4_1.smallest_norm": Claim(
        f"{PAPER}, Lemma 4.1",
        "smallest |w_j(0)| / (omega sqrt(d))",
        lambda evidence: float(_norms(evidence).min()),
        0.5,
        at_least=True,
    ),
    "lemma_4_1.largest_norm": Claim(
        f"{PAPER}, Lemma 4.1", "largest |w_j(0)| / (omega sqrt(d))", lambda evidence: float(_norms(evidence).max()), 1.5
    ),
    "lemma_4_1.correlated": Claim(
        f"{PAPER}, Lemma 4.1",
        f"share of neurons with |<w_j(0), mu>| >= omega/(2 C_0), the smaller of mu_1's and mu_2's; C_0 = {C0:g}, "
        f"delta = {DELTA:g}",
        _correlated,
        _correlated_bound,
        at_least=True,
    ),
    "lemma_4_2.each_cluster": Claim(
        f"{PAPER}, Lemma 4.2",
        f"smallest |J_mu| / m, the share of neurons that capture a cluster; C_0 = {C0:g}",
        lambda evidence: float(_capture_shares(evidence).min()),
        (1 - 1 / C0) ** 2 / 4,
        at_least=True,
    ),
    "lemma_4_2.all_clusters": Claim(
        f"{PAPER}, Lemma 4.2",
        f"|J| / m, the share of neurons that capture some cluster; C_0 = {C0:g}",
        lambda evidence: float(_capture_shares(evidence).sum()),
        (1 - 1 / C0) ** 2,
        at_least=True,
    ),
    "lemma_4_10.before": Claim(
        f"{PAPER}, Lemma 4.10 and before it",
        "median cosine at time 0 of a neuron with the cluster it captures, times sqrt(d); 3 for O(1)",
        _first_cosine,
        3.0,
    ),
    "lemma_4_10.after": Claim(
        f"{PAPER}, Lemma 4.10",
        "median of the same cosine after one iteration; 1/2 for Omega(1)",
        lambda evidence: float(np.median(_cosines(evidence, _after_one_step(evidence, "cosine")))),
        0.5,
        at_least=True,
        observables=("cosine",),
    ),
    "lemma_4_10.smallest": Claim(
        f"{PAPER}, Lemma 4.10",
        "smallest of these cosines after one iteration; 0.1 for 1/(16 C_2)",
        lambda evidence: float(_cosines(evidence, _after_one_step(evidence, "cosine")).min()),
        0.1,
        at_least=True,
        observables=("cosine",),
    ),
    "lemma_4_10.alignment": Claim(
        f"{PAPER}, Lemma 4.10",
        f"share of right gates (Condition 4.7) after one iteration; C_0 = {C0:g}",
        lambda evidence: float(_after_one_step(evidence, "neuron_alignment")),
        1.0,
        at_least=True,
        observables=("neuron_alignment",),
    ),
    "condition_4_7": Claim(
        f"{PAPER}, Condition 4.7, Lemma 4.11",
        f"smallest share of right gates at the kept iterations from 1 to 1/(4 step), of a flow the last until time 1/4; "
        f"C_0 = {C0:g}",
        _aligned,
        1.0,
        at_least=True,
        observables=("neuron_alignment",),
    ),
    "condition_4_8": Claim(
        f"{PAPER}, Condition 4.8, Lemma 4.11",
        f"largest |<w_j, mu>| / (step |a_j|) of a capturing neuron and a centre of the other sign, kept iterations up to "
        f"1/(4 step); C_0 = {C0:g}",
        _orthogonal,
        3.0,
        observables=("almost_orthogonality",),
    ),
}
#: The first two are about the network after T iterations, and all of them about what (A1) to (A7) allow.
CLAIMS = {
    name: replace(
        claim, premises=_premises_at_end if name.startswith(("theorem_3_1", "proposition_3_2")) else _premises
    )
    for name, claim in _CLAIMS.items()
}
register_all("frei_2022", CLAIMS)
