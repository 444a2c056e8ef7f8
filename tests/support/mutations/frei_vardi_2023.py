"""Doctored cases of Frei, Vardi, Bartlett & Srebro 2023."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from flowsim.papers import Evidence
from flowsim.papers.frei_vardi_2023 import universal_direction
from flowsim.papers.frei_vardi_2023.limit import Point, point

from . import Mutation, asking, case, of_problem, told

#: Assumption 2.2 with two clusters, sigma = 1/sqrt(d), n >= k ln(d)^2 and samples that are drawn i.i.d.
SETTING = """
[data]
dimension = 700
positive = 1
negative = 1
centers = "orthonormal"
radius = "sqrt_dimension"
noise = { per_coordinate = 0.037796 }
samples = 96
balanced = false
[model]
activation = "relu"
width = 6
bias = true
[init]
scale = 1e-4
[loss]
kind = "exponential"
[flow]
rtol = 1e-4
until = { log10_loss = -200.0 }
[observe]
times = 40
spacing = "log"
snapshots = 10
[evaluate]
claims = ["frei_vardi_2023"]
"""
#: More noise than Assumption 2.2 allows
NOISE = 0.1


@cache
def flow() -> Evidence:
    return case(SETTING)


def knowing(evidence: Evidence, **known: Any) -> Evidence:
    """The same run, of which this is known; what takes long to find again is kept"""
    other = replace(evidence, known={**evidence.known, **known})
    for name in ("limit", "test", "weights"):
        other.__dict__[name] = getattr(evidence, name)
    return other


def of_point(change: Callable[[Evidence, Point], Point], before: str = "holds", after: str = "fails") -> Mutation:
    """Another KKT point, told to be what the flow goes to"""

    def doctored(evidence: Evidence) -> Evidence:
        known = {name: value for name, value in evidence.known.items() if name != "smallest"}
        other = knowing(replace(evidence, known=known), point=change(evidence, point(evidence)))
        return other

    return Mutation(flow, doctored, before, after)


def negated(evidence: Evidence, found: Point) -> Point:
    return replace(found, network=replace(found.network, weight=-found.network.weight))


def heavier(factor: float) -> Callable[[Evidence, Point], Point]:
    """With multipliers so many times as large"""
    return lambda evidence, found: replace(found, weight=factor * found.weight)


def without_positive(evidence: Evidence, found: Point) -> Point:
    """Positive neurons have no multipliers"""
    return replace(found, weight=np.where(found.output[:, None] > 0, 0.0, found.weight))


def low(evidence: Evidence, found: Point) -> Point:
    """All neurons lie far below their boundaries"""
    return replace(found, network=replace(found.network, offset=found.network.offset - 1e6))


def blind(evidence: Evidence, found: Point) -> Point:
    """No neuron sees the direction of the perturbation"""
    problem = evidence.problem
    unit = universal_direction(problem.centers, problem.cluster_label)
    unit = unit / np.linalg.norm(unit)
    direction = found.network.direction
    return replace(found, network=replace(found.network, direction=direction - np.outer(direction @ unit, unit)))


def noisier(evidence: Evidence) -> Evidence:
    """Training samples with noise 16 times as large, told to be as it was"""
    problem = evidence.problem
    center = problem.centers[problem.sample_cluster]
    return of_problem(evidence, stored=center + 16 * (problem.inputs - center))


def turned(evidence: Evidence) -> Evidence:
    """Every training label is the other one"""
    return of_problem(evidence, targets=-evidence.problem.targets)


def one_cluster(evidence: Evidence) -> Evidence:
    """All samples are said to be of one cluster"""
    return of_problem(evidence, sample_cluster=np.zeros_like(evidence.problem.sample_cluster))


def one_label(evidence: Evidence) -> Evidence:
    return of_problem(evidence, cluster_label=np.ones_like(evidence.problem.cluster_label))


def unbalanced(evidence: Evidence) -> Evidence:
    """At the end every other neuron is 7 times as large"""
    weights = evidence.weights
    log_norm = weights.log_norm.copy()
    log_norm[-1, ::2] += 2
    other = knowing(evidence)
    other.__dict__["weights"] = replace(weights, log_norm=log_norm)
    return other


def arrived(evidence: Evidence) -> Evidence:
    """At the end the flow is at the limit, at a scale where the smallest margin is some 10^9"""
    weights, network = evidence.weights, evidence.limit.network
    size = np.linalg.norm(network.hidden, axis=1)
    direction, log_norm, output_log = weights.direction.copy(), weights.log_norm.copy(), weights.output_log.copy()
    lives = size > 0
    direction[-1, lives] = network.hidden[lives] / size[lives, None]
    with np.errstate(divide="ignore"):
        log_norm[-1] = np.where(lives, np.log(size), -60) + 10
        output_log[-1] = np.where(lives, np.log(np.abs(network.output)), -60) + 10
    other = knowing(evidence)
    other.__dict__["weights"] = replace(
        weights, direction=direction, log_norm=log_norm, output_log=output_log, sliding=None
    )
    return other


def of_noise(after: str = "outside", noise: float = NOISE, before: str = "holds") -> Mutation:
    return Mutation(flow, lambda evidence: asking(evidence, data__noise__per_coordinate=noise), before, after)


def short(evidence: Evidence) -> Evidence:
    """A perturbation of a hundredth of all means is told to be enough"""
    return knowing(evidence, smallest=0.01)


def slower(evidence: Evidence) -> Evidence:
    return told(evidence, log10_loss=evidence.trajectory["log10_loss"] / 2)


def fixed(evidence: Evidence) -> Evidence:
    """Weights that never grow"""
    trajectory = evidence.trajectory
    return told(
        evidence, log_norm=trajectory["log_norm"].values[-1], output_weight=trajectory["output_weight"].values[-1]
    )


MUTATIONS = {
    "assumption_2_2": of_noise("fails"),
    "lemma_2_1": of_noise(),
    **{f"proposition_a_1.p{number}": Mutation(flow, noisier) for number in range(1, 6)},
    "proposition_a_1.p6": Mutation(flow, one_cluster),
    "lemma_a_9": of_noise(),
    "lemma_a_13": Mutation(flow, noisier, after="outside"),
    "nearest_neighbour.test_error": Mutation(flow, turned),
    "nearest_neighbour.radius": Mutation(flow, turned),
    "theorem_2_1.loss": Mutation(flow, slower),
    "theorem_2_1.norm": Mutation(flow, fixed),
    "theorem_2_1.kkt": Mutation(flow, unbalanced, after="not_covered"),
    "theorem_2_1.angle": Mutation(flow, arrived, "not_covered", "holds"),
    "theorem_2_1.direction": Mutation(flow, arrived, "not_covered", "holds"),
    "theorem_3_1.training_error": of_point(negated),
    "theorem_3_1.test_error": of_point(negated),
    "lemma_a_10": of_point(heavier(3.0)),
    "lemma_a_11": of_point(heavier(0.1)),
    "lemma_a_12": of_point(without_positive),
    "lemma_d_2": of_point(heavier(3.0)),
    "lemma_d_3": of_point(low),
    "lemma_d_4": of_point(heavier(2.0)),
    "lemma_d_5": of_noise(),
    "theorem_4_1.margin": of_noise(),
    "theorem_4_1.radius": of_noise(),
    "theorem_4_2.flips": of_point(blind),
    "theorem_4_2.strength": of_point(blind),
    "theorem_4_2.norm": of_point(blind),
    "theorem_4_2.not_robust": Mutation(flow, short, "fails", "holds"),
    "theorem_4_2.transfers": Mutation(
        flow, lambda evidence: knowing(evidence, another=point(evidence)), "holds", "outside"
    ),
    "lemma_d_6": of_point(low),
    "lemma_d_7": of_point(blind),
    "lemma_d_8": of_point(blind),
    "lemma_d_9": of_noise(),
    "example_2": Mutation(flow, one_label, "outside", "not_applicable"),
    "wide_noise": of_noise("holds", 1.5, "outside"),
    "nearest_neighbour.network": Mutation(flow, short, "fails", "holds"),
}
PENDING: set[str] = set()
