"""The paper's setting in its symbols, and what its theorems assume."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Constant, Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...kinds.clusters import Drawn
from ...problem import Problem

PAPER = "Frei, Vardi, Bartlett & Srebro 2023"
#: epsilon, the share of fresh samples of which a claim need not hold, and delta, the probability with which it may fail.
EPSILON, DELTA = 0.01, 0.05
#: Two numbers that are equal, but for rounding.
NEAR = 1e-9
CONSTANTS = (Constant("epsilon", EPSILON, "chosen"), Constant("delta", DELTA, "chosen"))


@dataclass(frozen=True)
class Sizes:
    """k clusters in d dimensions, p the largest |<mu_i, mu_j>|, sigma the noise of a coordinate, c the smaller share of the
    clusters with either label."""

    clusters: int
    dimension: int
    product: float
    sigma: float
    c: float

    @property
    def delta(self) -> float:
        """Delta = 4 sigma sqrt(d) ln(d)"""
        return 4 * self.sigma * math.sqrt(self.dimension) * math.log(self.dimension)

    @property
    def part(self) -> float:
        """c' = k (p + Delta + 1)/(d - Delta + 1), at most 1/10 by Assumption 2.2; inf where the divisor is not positive"""
        right = self.dimension - self.delta + 1
        return self.clusters * (self.product + self.delta + 1) / right if right > 0 else math.inf

    @property
    def rest(self) -> float:
        """d - Delta - k (p + Delta) (Lemma D.5)"""
        return self.dimension - self.delta - self.clusters * (self.product + self.delta)

    @property
    def strengths(self) -> tuple[float, float]:
        """(eta_1, eta_2), before Lemma D.7"""
        if self.rest <= 0 or not self.part < 1 / 3:
            raise NotApplicable("the strength that the proof gives exists only near Assumption 2.2")
        first = (2 * self.delta + self.product + 1) / self.rest
        second = 3 * (3 * self.dimension + self.delta + 1) * (1 - 2 * self.part)
        return first, second / (self.rest * (1 - 3 * self.part) * self.c * self.clusters)


def problem_of(evidence: Evidence) -> Problem:
    """The problem, where the paper speaks of such."""
    problem = evidence.problem
    if evidence.scenario.data.kind != "gaussian_mixture" or problem.activation.name != "relu":
        raise NotApplicable("it speaks of Gaussian clusters and ReLU")
    if not problem.trained_output or problem.loss.tail is None:
        raise NotApplicable("it speaks of two trained layers, logistic or exponential loss")
    if abs(problem.cluster_label.sum()) == len(problem.cluster_label):
        raise NotApplicable("it speaks of clusters of both labels")
    return problem


def sizes(evidence: Evidence) -> Sizes:
    problem, data = problem_of(evidence), evidence.scenario.data
    assert isinstance(data, Drawn)
    clusters, dimension = len(problem.centers), problem.dimension
    if dimension == 1 or not data.noise.standard_deviation(dimension):
        raise NotApplicable("it speaks of noise, in several dimensions")
    products = np.abs(problem.centers @ problem.centers.T)
    np.fill_diagonal(products, 0.0)
    positive = float(np.mean(problem.cluster_label > 0))
    noise = data.noise.standard_deviation(dimension)
    return Sizes(clusters, dimension, float(products.max()), noise, min(positive, 1 - positive))


def properties(evidence: Evidence) -> dict[str, float]:
    """What (P1) to (P5) bound, each over its bound, and of (P6) the number of clusters without a sample"""
    if "properties" not in evidence.known:
        evidence.known["properties"] = _properties(evidence)
    found = evidence.known["properties"]
    assert isinstance(found, dict)
    return found


def _properties(evidence: Evidence) -> dict[str, float]:
    problem, at = problem_of(evidence), sizes(evidence)
    own, dimension = problem.sample_cluster, at.dimension
    noise = problem.inputs - problem.centers[own]
    products, of_noise = problem.inputs @ problem.inputs.T, noise @ noise.T
    norms = np.sqrt(np.diag(of_noise))
    np.fill_diagonal(of_noise, 0.0)
    same = own[:, None] == own
    logarithm = math.log(dimension)
    within = products[same]
    return {
        "p1": float(norms.max()) / (at.sigma * math.sqrt(2 * dimension)),
        "p2": float(np.abs(of_noise).max()) / (at.sigma**2 * math.sqrt(2 * dimension) * logarithm),
        "p3": float(np.abs(noise @ problem.centers.T).max()) / (at.sigma * math.sqrt(dimension) * logarithm),
        "p4": float(np.abs(products[~same]).max(initial=0.0)) / (at.product + at.delta),
        "p5": max((dimension - float(within.min())) / at.delta, (float(within.max()) - 3 * dimension) / at.delta),
        "p6": float(at.clusters - len(np.unique(own))),
    }


def nice(evidence: Evidence) -> bool:
    """Whether (P1) to (P6) hold."""
    found = properties(evidence)
    return max(found[name] for name in ("p1", "p2", "p3", "p4", "p5")) <= 1 and found["p6"] == 0


def assumption(evidence: Evidence) -> Iterator[Premise]:
    """Assumption 2.2"""
    at = sizes(evidence)
    norm = np.linalg.norm(evidence.problem.centers, axis=1) / math.sqrt(at.dimension)
    yield Premise("Assumption 2.2: |mu| = sqrt(d): largest relative deviation", float(np.abs(norm - 1).max()), NEAR)
    yield Premise("Assumption 2.2: sigma <= 1", at.sigma, 1.0)
    left, right = at.clusters * (at.product + at.delta + 1), (at.dimension - at.delta + 1) / 10
    yield Premise("Assumption 2.2: k (max |<mu_i, mu_j>| + Delta + 1) <= (d - Delta + 1)/10", left, right)


def of_samples(evidence: Evidence) -> Iterator[Premise]:
    """What Theorems 3.1 and 4.2 ask of n, delta and the samples. Bounds that are exponential in d, in logarithms."""
    samples, at = len(evidence.problem.targets), sizes(evidence)
    logarithm = math.log(at.dimension)
    yield Premise("n >= k ln(d)^2", samples, at.clusters * logarithm**2, True)
    least = -math.log(3) + (logarithm - 1) * logarithm
    yield Premise("ln(1/delta) <= ln(d^(ln(d) - 1)/3)", -math.log(DELTA), least)
    bounds = {
        "ln n <= ln(sqrt(delta/3) e^(d/32))": 0.5 * math.log(DELTA / 3) + at.dimension / 32,
        "ln n <= ln(sqrt(delta)/3 d^(ln(d)/4))": 0.5 * math.log(DELTA) - math.log(3) + logarithm**2 / 4,
        "ln n <= ln(epsilon/4 d^(ln(d)/2))": math.log(EPSILON / 4) + logarithm**2 / 2,
    }
    for name, bound in bounds.items():
        yield Premise(name, math.log(samples), bound)
    data = evidence.scenario.data
    assert isinstance(data, Drawn)
    drawn = not data.balanced and not data.label_noise
    # all that the proof uses of i.i.d. samples are these properties
    yield Premise.fact("samples i.i.d. from the clusters, or with (P1) to (P6)", drawn or nice(evidence))


def theorem(evidence: Evidence) -> Iterator[Premise]:
    """Of a theorem about samples: Assumption 2.2 and what is asked of them"""
    yield from assumption(evidence)
    yield from of_samples(evidence)


def suppose(evidence: Evidence) -> Iterator[Premise]:
    """Of a lemma that supposes (P1) to (P6)"""
    yield from assumption(evidence)
    yield Premise.fact("(P1) to (P6)", nice(evidence))


def fresh_noise(evidence: Evidence) -> Floats:
    """(N, d): xi of the fresh samples x = mu + xi"""
    problem, test = problem_of(evidence), evidence.test
    return np.asarray(test.inputs - problem.centers[test.sample_cluster])


def smallest_share(evidence: Evidence) -> float:
    """1 - 4 n d^(-ln(d)/2), the probability of Lemma A.13"""
    at = sizes(evidence)
    return 1 - 4 * len(evidence.problem.targets) * at.dimension ** (-math.log(at.dimension) / 2)
