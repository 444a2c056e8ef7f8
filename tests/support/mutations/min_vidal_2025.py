"""Doctored cases of Min & Vidal 2025."""

from __future__ import annotations

from functools import cache

from flowsim.papers import Evidence

from . import Mutation, case, of_problem, told

#: Theorem 1's setting at alpha = 0.1 with K = 4: eps = alpha^(8 K), D and N not below alpha^-2.
SETTING = """
[data]
dimension = 400
positive = 2
negative = 2
noise = { total = 0.1 }
samples = 400
[model]
activation = "prelu"
degree = 3
width = 16
[init]
shape = "nudged"
nudge = 0.5
toward = "own"
scale = 1e-32
signs = "half"
[loss]
kind = "square"
reduction = "per_cluster"
[flow]
until = { time = 78.2 }
[evaluate]
claims = ["min_vidal_2025"]
"""


@cache
def theorem_1() -> Evidence:
    return case(SETTING)


def noisier(evidence: Evidence) -> Evidence:
    """With noise 20 times as long, told to be as it was"""
    problem = evidence.problem
    center = problem.centers[problem.sample_cluster]
    return of_problem(evidence, inputs=center + 20 * (problem.inputs - center))


def slower(factor: float) -> Mutation:
    """Told that all took so much longer"""

    def doctored(evidence: Evidence) -> Evidence:
        trajectory = evidence.trajectory
        return told(evidence, time=factor * trajectory["time"], snapshot=factor * trajectory["snapshot"])

    return Mutation(theorem_1, doctored)


def at_the_end(name: str, value: object) -> Mutation:
    """A variable that goes astray after time 75"""

    def doctored(evidence: Evidence) -> Evidence:
        array = evidence.trajectory[name]
        astray = value(array) if callable(value) else value
        return told(evidence, **{name: array.where(evidence.trajectory["time"] <= 75, astray)})

    return Mutation(theorem_1, doctored)


MUTATIONS = {
    **{f"lemma_4.{part}": Mutation(theorem_1, noisier) for part in ("norms", "along_centers", "sums", "squares")},
    "lemma_8": slower(1e-3),
    "lemma_13.rate": slower(2.0),
    "lemma_13.curve": slower(2.0),
    "proposition_4.time": slower(1000.0),
    "theorem_1.time": slower(1000.0),
    "theorem_1.alignment": at_the_end("cosine", 0.5),
    "theorem_1.masses": at_the_end("log_norm", lambda array: array + 0.2),
}
#: Claims that have no doctored case yet.
PENDING = {
    "assumption_2.gap",
    "assumption_2.regions",
    "corollary_1",
    "lemma_16",
    "lemma_17.as_stated",
    "lemma_17.corrected",
    "lemma_7.cosines",
    "lemma_7.ratios",
    "proposition_1.bayes",
    "proposition_1.ideal",
    "proposition_1.network",
    "proposition_2",
    "proposition_3",
    "proposition_4.kept",
    "theorem_1.distance",
    "theorem_1.loss",
}
