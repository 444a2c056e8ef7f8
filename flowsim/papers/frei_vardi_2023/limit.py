"""Theorem 3.1 and Lemmas A.10 to D.5: what is true of every KKT point of the margin problem, asked of the one found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Integers
from ...evaluate.claim import Claim, Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.kkt.certificate import residuals
from ...evaluate.kkt.point import Point as Found
from ...evaluate.robustness import TwoLayer
from .flips import universal_direction
from .setting import CONSTANTS, EPSILON, PAPER, Sizes, assumption, fresh_noise, problem_of, sizes, suppose, theorem

#: A KKT point meets its conditions to this.
KKT = 1e-8
#: What a number that is to be positive has to be at least: the smallest there is.
NONZERO = math.ulp(0.0)


@dataclass(frozen=True)
class Point:
    """A KKT point at smallest margin 1: w_j = sum_i pull_ij v_j x_i and b_j = sum_i pull_ij v_j with pull_ij = lambda_i y_i
    phi'_ij, a network of x in the original features. output (m,): v_j; weight (m, n): lambda_i phi'_ij >= 0. residual: the
    largest of the KKT conditions', reckoned from these alone."""

    network: TwoLayer
    output: Floats
    weight: Floats
    residual: float

    @classmethod
    def of(cls, evidence: Evidence, at: Found) -> Point:
        setting = evidence.setting
        reduced, each = setting.reduced, setting.reduced.representative
        assert at.gate is not None
        hidden, bias = reduced.lift(at.network.hidden)
        network = TwoLayer.of(hidden, bias, at.network.output, evidence.problem.activation)
        conditions = residuals(at.network, reduced, at.multiplier, at.gate)
        weight = at.gate[:, each] * (at.multiplier / setting.multiplicity)[each]
        return cls(network, at.network.output, weight, max(conditions.values()))

    def sums(self, evidence: Evidence, sign: int) -> Floats:
        """(k,): sum over a cluster's i and over j with v_j of this sign of v_j^2 lambda_i phi'_ij"""
        problem = evidence.problem
        each = np.where(np.sign(self.output) == sign, self.output**2, 0.0) @ self.weight
        return np.asarray(np.bincount(problem.sample_cluster, each, minlength=len(problem.centers)), dtype=float)

    def corner(self, evidence: Evidence, least: bool) -> Floats:
        """(k,): y_r N at the products <x, x_i> that Lemma A.12 allows of cluster r with the least y_r N, or the largest. N
        rises in the products with samples of label +1 and falls in those of label -1, so it is a corner."""
        problem, at = evidence.problem, sizes(evidence)
        label, own = problem.cluster_label, problem.sample_cluster
        worst = np.where(least, -1.0, 1.0)
        found = np.empty(len(label))
        for cluster in range(len(label)):
            against = worst * label[cluster] * problem.targets * (at.product + at.delta)
            products = np.where(own == cluster, at.dimension + worst * at.delta, against)
            inputs = self.output * (self.weight @ (problem.targets * (products + 1)))
            found[cluster] = label[cluster] * (self.output @ np.maximum(inputs, 0.0))
        return found


def point(evidence: Evidence) -> Point:
    if "point" not in evidence.known:
        problem_of(evidence)
        evidence.known["point"] = Point.of(evidence, evidence.kkt_point)
    found = evidence.known["point"]
    assert isinstance(found, Point)
    return found


def certified(evidence: Evidence) -> Iterator[Premise]:
    """That what was found is a KKT point: the conditions themselves, not the word of who found it"""
    yield Premise("a KKT point: largest residual <= 1e-8", point(evidence).residual, KKT)


def of_theorem(evidence: Evidence) -> Iterator[Premise]:
    yield from theorem(evidence)
    yield from certified(evidence)


def of_lemma(evidence: Evidence) -> Iterator[Premise]:
    yield from suppose(evidence)
    yield from certified(evidence)


def _fresh_error(evidence: Evidence) -> float:
    outputs = point(evidence).network.value(evidence.test.inputs)
    return float(np.mean(evidence.test.targets * outputs <= 0))


def _training_error(evidence: Evidence) -> float:
    problem = evidence.problem
    return float(np.mean(problem.targets * point(evidence).network(problem.inputs) <= 0))


def _largest_sum(evidence: Evidence) -> float:
    """Over its bound 1/((1 - 2c')(d - Delta + 1))"""
    at, found = sizes(evidence), point(evidence)
    largest = max(found.sums(evidence, +1).max(), found.sums(evidence, -1).max())
    return float(largest) * (1 - 2 * at.part) * (at.dimension - at.delta + 1)


def _smallest_sum(evidence: Evidence) -> float:
    """Over its bound (1 - c'/(1 - 2c'))/(3d + Delta + 1)"""
    at, label, found = sizes(evidence), evidence.problem.cluster_label, point(evidence)
    own = np.where(label > 0, found.sums(evidence, +1), found.sums(evidence, -1))
    return float(own.min()) * (3 * at.dimension + at.delta + 1) / (1 - at.part / (1 - 2 * at.part))


def _inputs_of_fresh(evidence: Evidence) -> float:
    """Least (w_j x + b_j) / (sum_i lambda_i |v_j| phi'_ij (2 Delta + p + 1)) over living neurons and the fresh samples that
    Lemma A.13 speaks of"""
    at, found = sizes(evidence), point(evidence)
    size = np.abs(found.output) * found.weight.sum(axis=1) * (2 * at.delta + at.product + 1)
    lives = size > 0
    near = nice_fresh(evidence, at)
    network = found.network
    inputs = evidence.test.inputs[near] @ network.hidden[lives].T + network.bias[lives]
    return float((inputs / size[lives]).min())


def nice_fresh(evidence: Evidence, at: Sizes) -> Integers:
    """Indices of the fresh samples x = mu_r + xi with |<x_i, xi>|, |<xi_i, xi>| and |<x_i, x> - d| at most Delta, and
    |<x_i, x>| at most p + Delta for other clusters (Lemma D.1)"""
    problem, noise = evidence.problem, fresh_noise(evidence)
    own_noise = problem.inputs - problem.centers[problem.sample_cluster]
    products = evidence.test.inputs @ problem.inputs.T
    same = evidence.test.sample_cluster[:, None] == problem.sample_cluster
    kept = np.where(same, np.abs(products - at.dimension) <= at.delta, np.abs(products) <= at.product + at.delta)
    kept &= (np.abs(noise @ own_noise.T) <= at.delta) & (np.abs(noise @ problem.inputs.T) <= at.delta)
    found = np.flatnonzero(kept.all(axis=1))
    if not len(found):
        raise NotApplicable("it speaks of fresh samples such as Lemma D.1 has, and there are none")
    return found


def _along(evidence: Evidence) -> float:
    """Least sign(v_j) <w_j, u> / (sum_i lambda_i |v_j| phi'_ij (d - Delta - kp - k Delta)) over living neurons"""
    at, found, problem = sizes(evidence), point(evidence), evidence.problem
    if at.rest <= 0:
        raise NotApplicable("d - Delta - kp - k Delta is positive only near Assumption 2.2")
    size = np.abs(found.output) * found.weight.sum(axis=1) * at.rest
    lives = size > 0
    along = found.network.hidden @ universal_direction(problem.centers, problem.cluster_label)
    return float(((np.sign(found.output) * along)[lives] / size[lives]).min())


CLAIMS = {
    "theorem_3_1.training_error": Claim(
        f"{PAPER}, Problem (2)",
        "for all i, y_i f(x_i) >= 1",
        _training_error,
        0.0,
        measures="training error of the KKT point",
        premises=certified,
    ),
    "theorem_3_1.test_error": Claim(
        f"{PAPER}, Theorem 3.1",
        "with probability at least 1 - delta over S, P(y N(x) <= 0) <= epsilon of a KKT point N",
        _fresh_error,
        EPSILON,
        measures="share of fresh samples with y N(x) <= 0",
        premises=of_theorem,
        constants=CONSTANTS,
    ),
    "lemma_a_10": Claim(
        f"{PAPER}, Lemma A.10",
        "for all q, the sums of v_j^2 lambda_i phi'_ij over cluster q and J_+, or J_-, are at most "
        "1/((1 - 2c')(d - Delta + 1))",
        _largest_sum,
        1.0,
        measures="largest sum over its bound",
        premises=of_lemma,
    ),
    "lemma_a_11": Claim(
        f"{PAPER}, Lemma A.11",
        "for all q, the sum of v_j^2 lambda_i phi'_ij over cluster q and the neurons of its label is at least "
        "(1 - c'/(1 - 2c'))/(3d + Delta + 1)",
        _smallest_sum,
        1.0,
        at_least=True,
        measures="smallest sum over its bound",
        premises=of_lemma,
    ),
    "lemma_a_12": Claim(
        f"{PAPER}, Lemma A.12",
        "if <x, x_i> in [d - Delta, d + Delta] for i of cluster r and |<x, x_i>| <= p + Delta for others, sign(N(x)) = y_r",
        lambda evidence: float(point(evidence).corner(evidence, least=True).min()),
        NONZERO,
        at_least=True,
        measures="least y_r N(x) over all such products, whether or not an x has them",
        premises=of_lemma,
    ),
    "lemma_d_2": Claim(
        f"{PAPER}, Lemma D.2",
        "of such x, |N(x)| <= 2",
        lambda evidence: float(point(evidence).corner(evidence, least=False).max()),
        2.0,
        measures="largest y_r N(x) over all such products, whether or not an x has them",
        premises=of_lemma,
    ),
    "lemma_d_3": Claim(
        f"{PAPER}, Lemma D.3",
        "for all j, <w_j, x> + b_j >= -sum_i lambda_i |v_j| phi'_ij (2 Delta + p + 1)",
        _inputs_of_fresh,
        -1.0,
        at_least=True,
        measures="least input over this sum, of fresh samples that the lemma speaks of",
        premises=of_lemma,
    ),
    "lemma_d_4": Claim(
        f"{PAPER}, Lemma D.4",
        "for u = sum_r y_r mu_r, sign(v_j) <w_j, u> >= sum_i lambda_i |v_j| phi'_ij (d - Delta - kp - k Delta)",
        _along,
        1.0,
        at_least=True,
        measures="smallest left side over right side",
        premises=of_lemma,
    ),
    "lemma_d_5": Claim(
        f"{PAPER}, Lemma D.5",
        "d - Delta - k (p + Delta) > 0",
        lambda evidence: sizes(evidence).rest / sizes(evidence).dimension,
        NONZERO,
        at_least=True,
        measures="left side over d",
        premises=assumption,
    ),
}
