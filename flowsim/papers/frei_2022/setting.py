"""The paper's setting in its symbols, what it assumes of a run, and the two constants C_0 that claims are asked with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...evaluate.claim import Constant, Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...kinds.clusters import Drawn
from ...kinds.inits import Shape
from ...observe.kinds.xor import C0, GOOD_RUN_C0, capture_sets, is_xor, unit_centers
from ...problem import Problem

PAPER = "Frei et al. 2022"
#: delta, the probability with which a claim may fail.
DELTA = 0.05
#: C_1 of Lemma 4.3: the least that it allows.
C1 = 2.0
#: Flow time step T - step, T = 1 + 1/(4 step) iterations: until then neurons are aligned and almost orthogonal.
HORIZON = 0.25
#: Rounding of kept times, and of numbers that a scenario gives in decimals.
ROUNDING = 1e-6
#: Two numbers that are equal, but for rounding.
NEAR = 1e-8


@dataclass(frozen=True)
class Capture:
    """A constant C_0 of Lemma 4.2, and with it the sets J_mu. suffix: of the claims and the observables that have it."""

    c0: float
    suffix: str
    constant: Constant

    @property
    def constants(self) -> tuple[Constant, ...]:
        return (self.constant, *CONSTANTS)

    @property
    def second(self) -> float:
        """C_2 of Lemma 4.4, as equation (12) of its proof has it"""
        return 12 * self.c0 * math.sqrt(2 * math.pi * math.e)

    def sets(self, evidence: Evidence) -> Integers:
        """(m,): the cluster that each neuron captures, or -1"""
        captured = capture_sets(xor(evidence), self.c0)
        if (captured < 0).all():
            raise NotApplicable("no neuron captures a cluster")
        return captured

    def shares(self, evidence: Evidence) -> Floats:
        """(4,): |J_mu| / m"""
        captured = capture_sets(xor(evidence), self.c0)
        return np.array([np.mean(captured == cluster) for cluster in range(4)])

    def edge(self, evidence: Evidence) -> float:
        """1/C_2, the most with which Lemma 4.4 is true: for the worst neuron and a centre mu that it correlates with, the
        number of clean samples around mu that activate it, less those around -mu, over n"""
        problem = xor(evidence)
        active = problem.inputs @ problem.hidden_direction.T > 0
        clean = problem.targets == evidence.clean_label
        counts = np.array([active[clean & (problem.sample_cluster == cluster)].sum(axis=0) for cluster in range(4)])
        correlated = 1 / (3 * self.c0 * math.sqrt(problem.dimension)) <= cosines(problem).T
        if not correlated.any():
            raise NotApplicable("no neuron correlates with a centre")
        return float((counts - counts[[1, 0, 3, 2]])[correlated].min()) / len(problem.targets)


#: Every constant but C_0: what (A7) needs at least, and the probability with which a claim may fail.
CONSTANTS = (
    Constant("C of (A1) to (A7)", lambda evidence: least_constant(evidence), "fitted"),
    Constant("delta", DELTA, "chosen"),
)
CHOSEN = Capture(C0, "", Constant("C_0", C0, "chosen"))
#: Definition 4.5
GOOD_RUN = Capture(GOOD_RUN_C0, "_good_run", Constant("C_0", GOOD_RUN_C0, "paper"))
CAPTURES = (CHOSEN, GOOD_RUN)


def xor(evidence: Evidence) -> Problem:
    """The problem, where it is the paper's."""
    problem = evidence.problem
    if not is_xor(problem):
        raise NotApplicable("it speaks of the four centres of XOR")
    if problem.trained_output:
        raise NotApplicable("it speaks of fixed output weights")
    if not np.isin(problem.targets, (-1.0, 1.0)).all():
        raise NotApplicable("it speaks of training on labels +1/-1")
    return problem


def cosines(problem: Problem) -> Floats:
    """(m, 4): of each neuron at time 0 with each centre"""
    norm = np.linalg.norm(problem.hidden_direction, axis=1, keepdims=True)
    return np.asarray(problem.hidden_direction @ unit_centers(problem).T / norm)


def deviation(evidence: Evidence) -> float:
    """omega, the standard deviation of an entry of w_j(0)"""
    init = evidence.scenario.init
    if not isinstance(init, Shape) or init.shape != "gaussian":
        raise NotApplicable("it speaks of weights with independent normal entries")
    return init.scale


def spread(evidence: Evidence) -> float:
    """sigma sqrt(d)"""
    data, dimension = evidence.scenario.data, evidence.problem.dimension
    if not isinstance(data, Drawn):
        raise NotApplicable("it speaks of noise of a known size")
    return data.noise.standard_deviation(dimension) * math.sqrt(dimension)


def initial_size(evidence: Evidence) -> float:
    """omega sqrt(m d), about the norm of all weights at time 0"""
    problem = xor(evidence)
    return deviation(evidence) * math.sqrt(len(problem.hidden_direction) * problem.dimension)


def norms(evidence: Evidence) -> Floats:
    """(m,): |w_j(0)| / (omega sqrt(d))"""
    problem = xor(evidence)
    return np.linalg.norm(problem.hidden, axis=1) / (deviation(evidence) * math.sqrt(problem.dimension))


def flipped(evidence: Evidence) -> Booleans:
    """(n,): whether a sample is noisy"""
    return np.asarray(xor(evidence).targets != evidence.clean_label)


def step(evidence: Evidence) -> float:
    if evidence.step is None:
        raise NotApplicable("it speaks of a step of gradient descent, which a flow does not have")
    return evidence.step


def least_constant(evidence: Evidence) -> float:
    """The least C > 1 that (A7), 1/(2 sqrt(C)) <= step <= 1/sqrt(C), allows; 1 for a flow"""
    return 1.0 if evidence.step is None else max(1.0, 1 / (4 * evidence.step**2))


def premises(evidence: Evidence) -> Iterator[Premise]:
    """The paper's assumptions, as far as a run can be asked"""
    xor(evidence)
    yield from _same_training(evidence)
    yield from _sizes(evidence)


def premises_at_end(evidence: Evidence) -> Iterator[Premise]:
    """The same of what the paper says of the network after T = 1 + 1/(4 step) iterations"""
    yield from premises(evidence)
    if evidence.step is not None:
        last, end = float(evidence.trajectory["time"][-1]) / evidence.step, 1 + HORIZON / evidence.step
        yield Premise("|iterations - (1 + 1/(4 step))| <= 1", abs(last - end), 1.0)


def good_start(evidence: Evidence) -> Iterator[Premise]:
    """The parts of a good run (Definition 4.5) that do not name C_0"""
    far = float(np.abs(norms(evidence) - 1).max())
    yield Premise("good run, Lemma 4.1: |w_j(0)| within 1/2 and 3/2 omega sqrt(d): largest deviation", far, 0.5)
    longest = float(np.linalg.norm(evidence.problem.inputs, axis=1).max())
    yield Premise("good run, Lemma 4.3: |x_i| <= sqrt(2)", longest, math.sqrt(2))


def good_run(evidence: Evidence, capture: Capture) -> Iterator[Premise]:
    """A good run, with this constant C_0 for that of Definition 4.5"""
    yield from good_start(evidence)
    least, bound = float(capture.shares(evidence).min()), (1 - 1 / capture.c0) ** 2 / 4
    yield Premise("good run, Lemma 4.2: |J_mu| / m >= (1 - 1/C_0)^2/4", least, bound, True)
    yield Premise("good run, Lemma 4.4: its sum / n >= 1/C_2", capture.edge(evidence), 1 / capture.second, True)


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
    """Assumptions (A1) to (A7), with the least constant that (A7) allows"""
    samples, dimension = len(evidence.problem.targets), evidence.problem.dimension
    neurons = len(evidence.problem.output)
    constant = least_constant(evidence)
    inputs = max(math.log(samples / DELTA) ** 2, math.log(neurons / DELTA))
    yield Premise("(A1) d >= C max(log^2(n/delta), log(m/delta))", dimension, constant * inputs, True)
    yield Premise("(A2) m >= C log(1/delta)", neurons, constant * math.log(1 / DELTA), True)
    if isinstance(evidence.scenario.data, Drawn):
        yield Premise("(A3) sigma sqrt(d) <= 1/C", spread(evidence), (1 + ROUNDING) / constant)
    yield Premise("(A4) n >= C log(m/delta)", samples, constant * math.log(neurons / DELTA), True)
    yield Premise("(A5) noise rate <= 1/C", float(flipped(evidence).mean()), (1 + ROUNDING) / constant)
    if evidence.scenario.init.shape == "gaussian":
        yield Premise("(A6) omega sqrt(m d) <= 1/C^2", initial_size(evidence), (1 + ROUNDING) / constant**2)
    if evidence.step is not None:
        yield Premise("(A7) step < 1", evidence.step, 1 - ROUNDING)
