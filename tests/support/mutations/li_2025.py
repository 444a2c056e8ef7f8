"""Doctored cases of Li et al. 2025."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from flowsim.arrays import Floats
from flowsim.evaluate.claim import Claim
from flowsim.observe import Setting
from flowsim.papers import CLAIMS, Evidence
from flowsim.papers.li_2025 import averaging_attack
from flowsim.problem import Problem, reduce
from flowsim.problem.weights import Weights

from . import Mutation, case, of_problem, told

#: Within all that Theorem 4.5 assumes: k = 2, d = k^10, n >= k^7, m = 2, and a flow from tiny weights.
BINARY = """
[data]
dimension = 1024
positive = 1
negative = 1
radius = "sqrt_dimension"
noise = { per_coordinate = 1.0 }
samples = 800
balanced = false
[model]
activation = "relu"
width = 4
bias = true
output = "fixed"
output_weight = 0.5
[init]
scale = 1e-6
signs = "half"
[loss]
kind = "logistic"
[flow]
reduce = false
until = { time = 2.0 }
[observe]
times = 11
snapshots = "all"
[evaluate]
claims = ["li_2025"]
"""
#: The same of Theorem 4.7, up to T = k^8/eta.
SEVERAL = {
    "data__samples": 200,
    "data__supervision": "cluster",
    "model__width": 2,
    "model__bias": False,
    "model__output_weight": 1.0,
    "init__signs": "positive",
    "loss__kind": "cross_entropy",
    "flow__until": {"time": 300.0},
}
#: Descent of a few iterations, all of them kept.
ITERATED = {
    "data__dimension": 100,
    "data__samples": 40,
    "flow": {"method": "gradient_descent", "step": 1e-3, "iterations": 4},
    "observe__times": 5,
}
#: What is drawn alone: d/2 >= Delta, and enough neurons for Proposition A.10.
DRAWN = {"data__dimension": 4700, "data__samples": 60, "model__width": 16, "flow__until": {"time": 1e-9}}


@cache
def binary() -> Evidence:
    return case(BINARY)


@cache
def several() -> Evidence:
    return case(BINARY, **SEVERAL)


@cache
def iterated() -> Evidence:
    return case(BINARY, **ITERATED)


@cache
def iterated_several() -> Evidence:
    ends = {key: value for key, value in SEVERAL.items() if not key.startswith(("data__samples", "flow"))}
    return case(BINARY, **ends, **ITERATED)


@cache
def drawn() -> Evidence:
    return case(BINARY, **DRAWN, observe__times=2)


Change = Callable[[Evidence], Evidence]


def ending_with(hidden: Callable[[Problem, Floats], Floats]) -> Change:
    """The weights at the end told otherwise: (problem, weights (m, d)) -> weights; the biases stay"""

    def doctored(evidence: Evidence) -> Evidence:
        run = evidence.trajectory
        direction, log_norm = run["direction"].values.copy(), run["log_norm"].values.copy()
        size = np.exp(log_norm[-1])[:, None]
        bias = run["bias_weight"].values.copy() if "bias_weight" in run else np.zeros(direction.shape[:2])
        new = np.column_stack([hidden(evidence.problem, size * direction[-1]), size[:, 0] * bias[-1]])
        norm = np.linalg.norm(new, axis=1)
        direction[-1], bias[-1], log_norm[-1] = new[:, :-1] / norm[:, None], new[:, -1] / norm, np.log(norm)
        values: dict[str, Any] = {"direction": direction, "log_norm": log_norm}
        return told(evidence, **values, **({"bias_weight": bias} if "bias_weight" in run else {}))

    return doctored


def combined(own: float, other: float) -> Change:
    """Weights with the coefficient `own` of every cluster that the neuron is there for, and `other` of the others"""

    def hidden(problem: Problem, _: Floats) -> Floats:
        dimension, count = problem.inputs.shape[1], np.bincount(problem.sample_cluster)
        label = np.arange(2) if problem.loss.classes else problem.cluster_label
        mine = problem.neuron_output if problem.loss.classes else problem.weights.output_sign
        share = np.where(mine[:, None] == label, own, other) / (count * dimension)
        return problem.hidden + share[:, problem.sample_cluster] @ problem.inputs

    return ending_with(hidden)


def centered(problem: Problem, _: Floats) -> Floats:
    """Weights that are nothing but the centres of outputs"""
    return 5 * problem.centers[problem.neuron_output] / problem.inputs.shape[1]


swapped = ending_with(lambda problem, hidden: hidden[::-1])
tripled = ending_with(lambda problem, hidden: hidden * np.array([3.0, *np.ones(len(hidden) - 1)])[:, None])


def crooked(problem: Problem, hidden: Floats) -> Floats:
    """The first neuron with twice as much again of something else"""
    extra = np.random.default_rng(0).standard_normal(hidden.shape[1])
    return hidden + np.eye(len(hidden), 1) * extra * 2 * np.linalg.norm(hidden[0]) / np.linalg.norm(extra)


def larger(log_factor: float) -> Change:
    """Neurons of another size, at all times"""
    return lambda evidence: told(evidence, log_norm=evidence.trajectory["log_norm"] + log_factor)


def saying(**variables: object) -> Change:
    """A variable told otherwise: a number, or what a function makes of it"""

    def doctored(evidence: Evidence) -> Evidence:
        values = {
            name: value(evidence.trajectory[name]) if callable(value) else value for name, value in variables.items()
        }
        return told(evidence, **values)

    return doctored


def biased(evidence: Evidence) -> Evidence:
    return told(evidence, bias_weight=1.0)


def twice_as_long(evidence: Evidence) -> Evidence:
    """The same iterations, told as if their step had been twice as long"""
    run = evidence.trajectory
    slower = run.assign_coords(time=2 * run["time"], snapshot=2 * run["snapshot"])
    assert evidence.step is not None
    return replace(evidence, trajectory=slower, step=2 * evidence.step, known={})


def with_samples(inputs: Callable[[Problem, Floats], Floats]) -> Change:
    """Other training samples: (problem, noise (n, d)) -> inputs (n, d)"""

    def doctored(evidence: Evidence) -> Evidence:
        problem = evidence.problem
        return of_problem(evidence, stored=inputs(problem, problem.inputs - _own_center(problem)))

    return doctored


def noisier(factor: float) -> Change:
    return with_samples(lambda problem, noise: _own_center(problem) + factor * noise)


def _own_center(problem: Problem) -> Floats:
    return problem.centers[problem.sample_cluster]


def _same_noise(problem: Problem, noise: Floats) -> Floats:
    return _own_center(problem) + np.vstack([noise[1], noise[1:]])


def _towards_another(problem: Problem, noise: Floats) -> Floats:
    return problem.inputs + 0.9 * problem.centers[1 - problem.sample_cluster]


def _one_opposed(problem: Problem, noise: Floats) -> Floats:
    return np.vstack([-problem.inputs[:1], problem.inputs[1:]])


def lopsided(evidence: Evidence) -> Evidence:
    """All samples but one in the first cluster"""
    count = len(evidence.problem.inputs)
    return of_problem(evidence, sample_cluster=(np.arange(count) == count - 1).astype(np.int64))


def starting_with(log_factor: float = 0.0, bias: float = 1.0) -> Change:
    """Other initial weights: larger by e^log_factor, with biases multiplied"""

    def doctored(evidence: Evidence) -> Evidence:
        problem = evidence.problem
        direction = problem.weights.direction.copy()
        direction[:, -1] *= bias
        return _started(evidence, direction, problem.weights.log_norm + log_factor)

    return doctored


def _started(evidence: Evidence, direction: Floats, log_norm: Floats) -> Evidence:
    problem = evidence.problem
    output = problem.weights.output_sign, problem.weights.output_log
    weights = Weights.exactly(direction, log_norm, *output, bias=problem.bias)
    return replace(evidence, setting=Setting(reduce(replace(problem, weights=weights))), known={})


def always_active(evidence: Evidence) -> Evidence:
    problem = evidence.problem
    direction = problem.weights.direction.copy()
    direction[:, -1] = 1e6
    return _started(evidence, direction, problem.weights.log_norm)


def testing(inputs: Callable[[Evidence], Floats]) -> Change:
    """Other fresh samples"""

    def doctored(evidence: Evidence) -> Evidence:
        other = replace(evidence, known={})
        # what is reckoned on first use is kept in the object itself
        other.__dict__["test"] = replace(evidence.test, stored=inputs(evidence))
        return other

    return doctored


def opposed(evidence: Evidence) -> Floats:
    return -evidence.test.inputs


def far_inside(evidence: Evidence) -> Floats:
    """Fresh samples further along the difference of the classes, by more than they are attacked"""
    problem, test = evidence.problem, evidence.test
    along = averaging_attack(problem.centers, problem.cluster_label)
    label = problem.cluster_label[test.sample_cluster]
    return np.asarray(test.inputs + 5 * np.sqrt(problem.inputs.shape[1]) * label[:, None] * along)


def _whatever_the_risk(claim: Claim) -> Claim:
    """Proposition A.12 without what it asks of m, which no computer has"""
    return replace(claim, premises=CLAIMS["li_2025.proposition_a_6.norms"].premises)


def _of_induction(of: Callable[[], Evidence]) -> dict[str, Mutation]:
    """Lemmas B.7 and C.10"""
    return {
        "noise_lower": Mutation(of, larger(-4.0)),
        "noise_upper": Mutation(of, larger(3.0)),
        "sums_within": Mutation(of, larger(9.0)),
        "sums": Mutation(of, larger(9.0)),
        "gap": Mutation(of, larger(6.0)),
        "ratio_within": Mutation(of, larger(2.5)),
        "ratio": Mutation(of, larger(3.0)),
        "other_clusters": Mutation(of, larger(3.0)),
        "other_noise": Mutation(of, larger(7.0)),
    }


CHANGED_END = ending_with(crooked)
MUTATIONS = {
    "theorem_4_5.clean_accuracy": Mutation(binary, swapped),
    "theorem_4_5.feature_averaging": Mutation(binary, CHANGED_END),
    "theorem_4_5.relative_averaging": Mutation(binary, CHANGED_END),
    "theorem_4_5.large_coefficient": Mutation(binary, larger(-4.0)),
    "theorem_4_5.bias": Mutation(binary, biased),
    "theorem_4_5.not_robust": Mutation(binary, swapped),
    "theorem_4_5.equal_coefficients": Mutation(binary, tripled),
    "section_5_3.other_coefficients": Mutation(binary, combined(5.0, 0.0), "fails", "holds"),
    "section_5_3.relative_other_coefficients": Mutation(binary, combined(5.0, -2.0)),
    "theorem_4_6.distance": Mutation(binary, tripled),
    "theorem_4_6.relative_distance": Mutation(binary, tripled),
    "theorem_4_7.clean_accuracy": Mutation(several, swapped),
    "theorem_4_7.large_coefficient": Mutation(several, larger(-4.0)),
    "theorem_4_7.feature_decoupling": Mutation(several, ending_with(centered), "fails", "holds"),
    "theorem_4_7.relative_decoupling": Mutation(several, CHANGED_END),
    "theorem_4_7.certified": Mutation(several, swapped),
    "theorem_4_7.attacked": Mutation(several, swapped),
    "proposition_4_8.cross_entropy": Mutation(drawn, with_samples(lambda problem, noise: -problem.inputs)),
    "proposition_4_8.clean_accuracy": Mutation(drawn, testing(opposed)),
    "proposition_4_8.not_robust": Mutation(drawn, testing(far_inside)),
    "theorem_d_1": Mutation(drawn, testing(opposed)),
    "theorem_d_2": Mutation(drawn, testing(far_inside)),
    "theorem_d_3": Mutation(drawn, testing(lambda evidence: 0.5 * evidence.test.inputs)),
    "proposition_a_6.noise_norms": Mutation(drawn, noisier(2.0)),
    "proposition_a_6.norms": Mutation(drawn, noisier(3.0)),
    "proposition_a_6.noises": Mutation(drawn, with_samples(_same_noise)),
    "proposition_a_6.along_centers": Mutation(drawn, with_samples(_towards_another)),
    "proposition_a_6.across": Mutation(drawn, with_samples(_towards_another)),
    "proposition_a_6.within_as_stated": Mutation(drawn, noisier(0.9), "fails", "holds"),
    "proposition_a_6.within": Mutation(drawn, with_samples(_one_opposed)),
    "proposition_a_6.counts": Mutation(drawn, lopsided),
    "proposition_a_10.weights": Mutation(drawn, starting_with(log_factor=1.0)),
    "proposition_a_10.biases": Mutation(drawn, starting_with(bias=20.0)),
    "proposition_a_12": Mutation(binary, always_active, "outside", "holds", claimed=_whatever_the_risk),
    "lemma_a_13": Mutation(binary, starting_with(log_factor=-20.0), "fails", "holds"),
    "lemma_5_1": Mutation(binary, CHANGED_END),
    "lemma_5_2.signs": Mutation(binary, combined(5.0, 2.0)),
    "lemma_5_2.updates": Mutation(iterated, twice_as_long),
    "lemma_5_3.margin_gap": Mutation(binary, saying(margin_gap=0.5), "fails", "holds"),
    "lemma_5_3.loss_derivative_ratio": Mutation(binary, saying(margin=1.0), "fails", "holds"),
    "lemma_5_5": Mutation(binary, saying(activation_region=0.5)),
    "lemma_b_6": Mutation(binary, saying(margin=np.abs), "fails", "holds"),
    "corollary_b_4": Mutation(binary, CHANGED_END),
    **{f"lemma_b_7.{name}": mutation for name, mutation in _of_induction(binary).items()},
    "lemma_b_23.lower": Mutation(binary, larger(-4.0)),
    "lemma_b_23.upper": Mutation(binary, larger(3.0)),
    "lemma_b_23.slope": Mutation(binary, larger(0.5)),
    "lemma_c_5": Mutation(several, saying(activation_region=0.5)),
    "lemma_c_6": Mutation(several, CHANGED_END),
    "corollary_c_7": Mutation(several, CHANGED_END),
    **{f"lemma_c_10.{name}": mutation for name, mutation in _of_induction(several).items()},
    "corollary_c_8": Mutation(iterated_several, twice_as_long),
    "corollary_c_9": Mutation(several, combined(5.0, 2.0)),
    "lemma_c_23.lower": Mutation(several, larger(-4.0)),
    "lemma_c_23.upper": Mutation(several, larger(3.0)),
    "lemma_c_23.slope": Mutation(several, larger(0.5)),
}
#: Claims that have no doctored case yet.
PENDING: set[str] = set()
