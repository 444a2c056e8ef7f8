"""Doctored cases of Min & Vidal 2025."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from flowsim.observe import Setting
from flowsim.papers import CLAIMS, Evidence
from flowsim.problem import reduce
from flowsim.problem.weights import Weights

from . import Mutation, asking, case, of_problem, told, until

#: Kept densely while neurons turn, which is over at 0.6, and then often enough for [t*, T*] = [72.3, 82.3].
TIMES = [*np.arange(0, 1, 0.05).round(3).tolist(), *np.arange(1.0, 83.1, 0.5).tolist()]
#: Theorem 1's setting at alpha = 0.1 with K = 4: eps = alpha^(8 K), D and N not below alpha^-2.
SETTING = f"""
[data]
dimension = 400
positive = 2
negative = 2
noise = {{ total = 0.1 }}
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
until = {{ time = 83.0 }}
[observe]
times = {TIMES}
snapshots = "all"
[evaluate]
claims = ["min_vidal_2025"]
"""
#: So little noise that the network comes close to F^(p), as Proposition 3 asks.
CLOSE = {"data__noise": {"total": 0.02}, "init__scale": 1e-54, "data__samples": 160, "flow__until": {"time": 140.0}}
#: eps so small that the paper's constants leave time between t_1 and t_2.
TINY = {"data__positive": 1, "data__negative": 1, "data__samples": 200, "model__width": 4, "init__scale": 1e-200}


def _unevaluated(**changes: Any) -> Evidence:
    return case(SETTING, evaluate__claims=[], **changes)


@cache
def theorem_1() -> Evidence:
    return _unevaluated()


@cache
def close() -> Evidence:
    return _unevaluated(**CLOSE, observe__times=20, observe__snapshots="ends")


@cache
def tiny() -> Evidence:
    return _unevaluated(**TINY, flow__until={"time": 12.0}, observe__times=TIMES[:43])


@cache
def of_classes() -> Evidence:
    """The exponential loss, until the masses have passed 2"""
    return _unevaluated(loss__kind="exponential", flow__until={"time": 90.0}, observe__times=[*TIMES, 85.0, 87.5, 90.0])


def noisier(evidence: Evidence) -> Evidence:
    """With noise 20 times as long, told to be as it was"""
    problem = evidence.problem
    center = problem.centers[problem.sample_cluster]
    return of_problem(evidence, stored=center + 20 * (problem.inputs - center))


def slower(factor: float, of: Callable[[], Evidence] = theorem_1) -> Mutation:
    """Told that all took so much longer"""

    def doctored(evidence: Evidence) -> Evidence:
        trajectory = evidence.trajectory
        return told(evidence, time=factor * trajectory["time"], snapshot=factor * trajectory["snapshot"])

    return Mutation(of, doctored)


def astray(
    name: str, value: Any, begin: float, end: float = np.inf, *, of: Callable[[], Evidence] = theorem_1
) -> Mutation:
    """A variable that goes astray after this time, and until that"""

    def doctored(evidence: Evidence) -> Evidence:
        array, time = evidence.trajectory[name], evidence.trajectory["time"]
        other = value(array) if callable(value) else value
        return told(evidence, **{name: array.where((time <= begin) | (time > end), other)})

    return Mutation(of, doctored)


def turned_weights(evidence: Evidence) -> Evidence:
    """Weights that were kept later than they are told"""
    direction = evidence.trajectory["direction"]
    return told(evidence, direction=np.where(np.arange(len(direction))[:, None, None] < 20, -direction, direction))


def far_away(evidence: Evidence) -> Evidence:
    """Weights whose neurons do not point to centres any more"""
    direction = evidence.trajectory["direction"]
    turned = direction.values + np.roll(direction.values, 1, axis=1)
    return told(evidence, direction=turned / np.linalg.norm(turned, axis=-1, keepdims=True))


def crowded(evidence: Evidence) -> Evidence:
    """All positive neurons start where the first one does"""
    weights = evidence.problem.weights
    direction = np.where((weights.output_sign > 0)[:, None], weights.direction[0], weights.direction)
    return started(evidence, direction)


def undecided(evidence: Evidence) -> Evidence:
    """The first neuron starts half-way between the two centres of its sign"""
    weights, centers = evidence.problem.weights, evidence.problem.centers
    direction = weights.direction.copy()
    direction[0] = (centers[0] + centers[1]) / np.sqrt(2)
    return started(evidence, direction)


def started(evidence: Evidence, direction: Any) -> Evidence:
    old = evidence.problem.weights
    weights = Weights.exactly(direction, old.log_norm, old.output_sign, old.output_log, bias=False)
    problem = replace(evidence.problem, weights=weights)
    return replace(evidence, setting=Setting(reduce(problem)), known={})


def attacked_at(radius: float) -> Callable[[Evidence], Evidence]:
    """Told that every sample is lost at this radius, to attacks and to certificates"""
    radii = np.full(500, radius)
    known = {"robust_radii": radii, "min_vidal_2025.certified": radii}
    return lambda evidence: replace(evidence, known=dict(known))


def wider_void(evidence: Evidence) -> Evidence:
    """A neuron that has a target, told to have none; the others of its cluster have what it leaves"""
    setting, target = Setting(evidence.setting.reduced), evidence.setting.target.copy()
    log_norm = evidence.trajectory["log_norm"].values.copy()
    mass, own = np.exp(2 * log_norm), np.flatnonzero(target == target[0])
    rest = mass[:, own[1:]].sum(axis=1)
    log_norm[:, own[1:]] += 0.5 * np.log((rest + mass[:, own[0]]) / rest)[:, None]
    target[0] = -1
    vars(setting)["target"] = target  # where the cached property looks first
    return replace(told(evidence, log_norm=log_norm), setting=setting)


def tested(factor: float) -> Mutation:
    """Test samples, and what they lie around, so many times as far from each other"""

    def doctored(evidence: Evidence) -> Evidence:
        other = replace(evidence, known={})
        vars(other)["test"] = replace(evidence.test, stored=factor * evidence.test.inputs)
        return other

    return Mutation(theorem_1, doctored)


def towards_others(evidence: Evidence) -> Evidence:
    """Weights whose neurons are nearer to the next neuron's centre than to their own"""
    direction = evidence.trajectory["direction"].values
    turned = 0.6 * direction + 0.8 * np.roll(direction, 1, axis=1)
    return told(evidence, direction=turned / np.linalg.norm(turned, axis=-1, keepdims=True))


def stated(factor: float) -> Mutation:
    """A universal statement told stronger by this factor"""
    return Mutation(
        theorem_1, lambda evidence: evidence, claimed=lambda claim: replace(claim, bound=factor * claim.bound)
    )


def weaker(factor: float) -> Mutation:
    """A universal statement that is false, told weaker by this factor, is true"""
    return replace(stated(factor), before="fails", after="holds")


NOISIER = Mutation(theorem_1, noisier)
MUTATIONS = {
    "assumption_2.gap": Mutation(theorem_1, undecided, after="outside"),
    "assumption_2.regions": Mutation(theorem_1, crowded, after="outside"),
    **{f"lemma_4.{part}": NOISIER for part in ("norms", "along_centers", "sums", "squares")},
    "lemma_5.first": weaker(1e12),
    "lemma_5.second": Mutation(theorem_1, lambda evidence: evidence, claimed=lambda claim: replace(claim, bound=-0.05)),
    "lemma_6": Mutation(theorem_1, turned_weights),
    "lemma_6.near": Mutation(theorem_1, turned_weights),
    "equation_13": Mutation(theorem_1, turned_weights),
    "equation_13.factor": Mutation(theorem_1, turned_weights),
    "equation_f12": weaker(100.0),
    "equation_f19": weaker(100.0),
    "lemma_7.cosines": astray("cosine", lambda array: 0.3 * array, 0.3, 0.4),
    "lemma_7.ratios": astray("cosine", lambda array: 1 - array, 0.3, 0.4),
    "lemma_7.bound": astray("cosine", lambda array: 1 - array, 0.3, 0.4),
    "lemma_8": slower(1e-3),
    "lemma_9": stated(0.5),
    "lemma_10": stated(0.5),
    "lemma_15": stated(0.5),
    "proposition_4.time": slower(1000.0),
    "proposition_4.kept": astray("cosine", 0.1, 1.0, of=tiny),
    "lemma_11": astray("log_norm", lambda array: array + 1.0, 60.0),
    "lemma_12": Mutation(theorem_1, towards_others),
    "lemma_13.rate": slower(2.0),
    "lemma_13.curve": slower(2.0),
    "lemma_14": Mutation(
        theorem_1, lambda evidence: asking(evidence, init__scale=1e-20), before="vacuous", after="outside"
    ),
    "lemma_16": Mutation(theorem_1, wider_void),
    "lemma_17.as_stated": weaker(1e6),
    "lemma_17.mended": stated(0.05),
    "lemma_17.of_the_run": Mutation(theorem_1, far_away),
    "theorem_1.time": slower(1000.0),
    "theorem_1.alignment": astray("cosine", 0.5, 75.0),
    "theorem_1.masses": astray("log_norm", lambda array: array + 0.2, 75.0),
    "theorem_1.loss": Mutation(
        theorem_1, lambda evidence: told(evidence, log10_loss=evidence.trajectory["log10_loss"] + 2)
    ),
    "theorem_1.distance": Mutation(theorem_1, lambda evidence: until(evidence, 78.2), after="not_covered"),
    "appendix_a.growth": slower(2.0, of_classes),
    "corollary_1": Mutation(theorem_1, attacked_at(0.3)),
    "proposition_1.network": Mutation(theorem_1, attacked_at(0.8)),
    "proposition_1.bayes": tested(2.0),
    "proposition_1.ideal": tested(2.0),
    "proposition_2": tested(0.5),
    "proposition_3.as_stated": Mutation(
        close,
        lambda evidence: evidence,
        before="outside",
        after="holds",
        claimed=lambda claim: replace(claim, premises=CLAIMS["min_vidal_2025.proposition_3.degree_p"].premises),
    ),
    "proposition_3.degree_p": Mutation(close, attacked_at(0.0)),
    "equation_4": stated(0.1),
}
#: Claims that have no doctored case yet.
PENDING: set[str] = set()
