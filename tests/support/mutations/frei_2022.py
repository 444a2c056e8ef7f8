"""Doctored cases of Frei, Chatterji & Bartlett 2022."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from flowsim.arrays import Floats
from flowsim.observe import Setting
from flowsim.papers import Evidence
from flowsim.problem import reduce
from flowsim.problem.weights import Weights

from . import Mutation, asking, case, of_problem, told

#: (A1) to (A7) with C = 16, the least for a step of 1/8.
SETTING = """
[data]
kind = "xor"
dimension = 1050
noise = { total = 0.0625 }
samples = 160
balanced = false
label_noise = 0.06
[model]
activation = "relu"
width = 100
output = "fixed"
output_weight = 0.1
[init]
scale = 1.2e-5
signs = "half"
[loss]
kind = "logistic"
[flow]
method = "gradient_descent"
step = 0.125
iterations = 3
[observe]
times = 4
snapshots = "all"
[evaluate]
claims = ["frei_2022"]
"""


@cache
def descent() -> Evidence:
    return case(SETTING)


def started(evidence: Evidence, change: Any) -> Evidence:
    """With other directions (m, d) and log norms (m,) at time 0, whatever came later"""
    weights = evidence.problem.weights
    direction, log_norm = change(evidence, weights.direction.copy(), weights.log_norm.copy())
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    start = Weights.of_logs(direction, log_norm, weights.output_sign, weights.output_log)
    other = replace(evidence.problem, weights=start)
    return replace(evidence, setting=Setting(reduce(other)), known={})


def one_resized(by: float) -> Mutation:
    def change(evidence: Evidence, direction: Floats, log_norm: Floats) -> tuple[Floats, Floats]:
        log_norm[7] += by
        return direction, log_norm

    return Mutation(descent, lambda evidence: started(evidence, change))


def without_centers(evidence: Evidence, direction: Floats, log_norm: Floats) -> tuple[Floats, Floats]:
    """No neuron has a part along a centre"""
    unit = evidence.problem.centers[::2]
    return direction - direction @ unit.T @ unit, log_norm


def mirrored(evidence: Evidence, direction: Floats, log_norm: Floats) -> tuple[Floats, Floats]:
    """Of each sign, half the neurons are the other half turned around, so that all four sets J_mu are of one size"""
    for own in np.split(np.arange(len(direction)), 2):
        half = len(own) // 2
        direction[own[half:]] = -direction[own[:half]]
    return direction, log_norm


def at_centers(evidence: Evidence, direction: Floats, log_norm: Floats) -> tuple[Floats, Floats]:
    """Every neuron points to a centre of its sign"""
    turn = np.arange(len(direction)) % 2
    return evidence.problem.centers[turn + np.where(evidence.problem.output > 0, 0, 2)], log_norm


def one_across(evidence: Evidence, direction: Floats, log_norm: Floats) -> tuple[Floats, Floats]:
    """One neuron has no part along a centre"""
    other, log_norm = without_centers(evidence, direction, log_norm)
    direction[7] = other[7]
    return direction, log_norm


def swapped(evidence: Evidence) -> Evidence:
    """Positive neurons have the weights of negative ones and the other way round, at all times: f is -f"""
    trajectory = evidence.trajectory
    return told(evidence, direction=trajectory["direction"].values[:, ::-1])


def unmoved(evidence: Evidence) -> Evidence:
    """At the end the weights are those of the start"""
    trajectory = evidence.trajectory
    return told(
        evidence, direction=trajectory["direction"].values[:1], log_norm=np.array(evidence.problem.weights.log_norm)
    )


def larger(evidence: Evidence) -> Evidence:
    """Weights 150 times as large at all times"""
    return told(evidence, log_norm=evidence.trajectory["log_norm"] + np.log(150.0))


def noisier(factor: float, along: bool = True) -> Any:
    """With noise so many times as large, told to be as it was; along: that along the sample's centre, too"""

    def doctored(evidence: Evidence) -> Evidence:
        problem = evidence.problem
        center = problem.centers[problem.sample_cluster]
        return of_problem(evidence, stored=center + factor * (problem.inputs - center))

    return doctored


def one_cluster(evidence: Evidence) -> Evidence:
    """All samples are said to be of the first cluster, with its label"""
    samples = len(evidence.problem.targets)
    return of_problem(evidence, sample_cluster=np.zeros(samples, dtype=np.int64), targets=np.ones(samples))


def more_flipped(evidence: Evidence) -> Evidence:
    """A third of the labels, more than (A5) allows"""
    targets = evidence.clean_label.astype(float)
    targets[::3] *= -1
    return of_problem(evidence, targets=targets)


def start(change: Any, before: str = "holds", after: str = "fails") -> Mutation:
    return Mutation(descent, lambda evidence: started(evidence, change), before, after)


def seen(name: str, value: float, before: str = "holds", after: str = "fails") -> Mutation:
    return Mutation(descent, lambda evidence: told(evidence, **{name: value}), before, after)


#: A good run, with the paper's C_0, is one whose four sets J_mu are of exactly one size and whose every neuron sees more of
#: the samples that it is to capture. At the centres that is so: what the run did is then held against the lemmas.
GOOD = {"before": "outside", "after": "holds"}
MUTATIONS = {
    "theorem_3_1.clean_points": Mutation(descent, swapped),
    "theorem_3_1.noisy_points": Mutation(descent, swapped),
    "theorem_3_1.test_error": Mutation(descent, swapped),
    "theorem_3_1.test_error_of_proof": Mutation(descent, more_flipped, "vacuous", "outside"),
    "proposition_3_2": Mutation(descent, unmoved),
    "equation_1.accuracy": Mutation(
        descent, lambda evidence: asking(evidence, data__noise__total=2.0), after="outside"
    ),
    "equation_1.agreement": Mutation(descent, swapped),
    "lemma_a_1.neurons": Mutation(descent, larger),
    "lemma_a_1.all": Mutation(descent, larger),
    "lemma_4_1.smallest_norm": one_resized(-1.0),
    "lemma_4_1.largest_norm": one_resized(1.0),
    "lemma_4_1.correlated": start(without_centers),
    "lemma_4_2.each_cluster": start(without_centers, after="not_covered"),
    "lemma_4_2.all_clusters": start(without_centers, after="not_covered"),
    "lemma_4_2.each_cluster_good_run": start(mirrored, "not_covered", "holds"),
    "lemma_4_2.all_clusters_good_run": start(one_across, after="not_covered"),
    "lemma_4_3.along": Mutation(descent, noisier(100.0)),
    "lemma_4_3.across": Mutation(descent, noisier(2.0)),
    "lemma_4_3.distance": Mutation(descent, noisier(2.0)),
    "lemma_4_3.noise": Mutation(descent, more_flipped, after="outside"),
    "lemma_4_3.clusters": Mutation(descent, one_cluster),
    "lemma_4_4.edge": Mutation(descent, noisier(100.0), after="not_covered"),
    "lemma_4_4.edge_good_run": Mutation(descent, noisier(100.0), after="not_covered"),
    "lemma_4_6": Mutation(descent, more_flipped, after="outside"),
    "lemma_4_9.clean_points": Mutation(descent, swapped),
    "lemma_4_9.noisy_points": Mutation(descent, swapped),
    "lemma_4_9.norm": Mutation(descent, larger),
    "lemma_4_10.before": start(at_centers),
    "lemma_4_10.after": seen("cosine", 0.0),
    "lemma_4_10.smallest": seen("cosine", 0.0),
    "lemma_4_10.alignment": seen("neuron_alignment", 0.5),
    "condition_4_7": seen("neuron_alignment", 0.5),
    "condition_4_8": seen("almost_orthogonality", 1.0),
    **{f"lemma_4_9.{part}_good_run": start(at_centers, **GOOD) for part in ("clean_points", "noisy_points", "norm")},
    **{name: start(at_centers, **GOOD) for name in ("condition_4_7.good_run", "condition_4_8.good_run")},
    "lemma_4_10.alignment_good_run": start(at_centers, **GOOD),
    # a cosine of 1 is more than O(1/sqrt(d)); those that the run kept are those of the start that it had
    **{
        f"lemma_4_10.{part}_good_run": start(at_centers, "outside", "fails") for part in ("before", "after", "smallest")
    },
}
PENDING: set[str] = set()
