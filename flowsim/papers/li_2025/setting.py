"""What the statements of Li et al. 2025 are written in: the mixture, the sizes that they assume, the coefficients of
neurons, and the spans of time that they speak of.

Time is step x iteration. A flow is the limit of small steps: where a statement asks for a step eta, it is taken for one of
the largest that the paper allows, d^-2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...evaluate.claim import Constant, Premise, Window
from ...evaluate.evidence import Evidence, NotApplicable
from ...kinds.clusters import Drawn
from ...observe import Instant
from ...observe.kinds.coefficients import cluster_coefficients
from ...problem import Problem
from .ideal import averaging_attack

PAPER = "Li et al. 2025"
#: Rounding of centres and of output weights.
ROUNDING = 1e-9
#: What stands for Theta(1) in Assumption 3.3 and for m/k = Theta(1), as a largest ratio; and for h = Theta(1).
BALANCE, WIDTH, OUTPUT_NEURONS = 3.0, 4.0, 10.0

#: The constants in front of what Assumption 4.3 bounds.
SIZES = Constant("constants of Assumption 4.3", 1.0, "chosen")
#: The logarithms in exp(Õ(k^1/2)).
LOGS = Constant("Õ(k^1/2) as k^1/2 ln(d)^2", 1.0, "chosen")


@dataclass(frozen=True)
class Regime:
    """The paper's symbols. neurons: m of each sign, or h of each output. step: eta. sigma: of the initial weights, NaN
    where they are not Gaussian. end: eta T."""

    clusters: int
    dimension: int
    samples: int
    neurons: int
    step: float
    sigma: float
    end: float

    @classmethod
    def of(cls, evidence: Evidence) -> Regime:
        problem = clustered(evidence)
        samples, dimension = len(problem.targets), problem.dimension
        clusters, width = len(problem.centers), len(problem.weights.log_norm)
        init = evidence.scenario.init
        gaussian = getattr(init, "shape", "") == "gaussian"
        return cls(
            clusters,
            dimension,
            samples,
            width // (problem.outputs if problem.loss.classes else 2),
            dimension**-2.0 if evidence.step is None else evidence.step,
            getattr(init, "scale", math.nan) if gaussian else math.nan,
            float(evidence.trajectory["time"].values[-1]),
        )

    @property
    def correlation(self) -> float:
        """Delta = 4 sqrt(d) ln d (Proposition A.6)"""
        return 4 * math.sqrt(self.dimension) * math.log(self.dimension)

    @property
    def log_iterations(self) -> float:
        """ln T"""
        return math.log(self.end / self.step) if self.end > 0 else -math.inf


def clustered(evidence: Evidence) -> Problem:
    """The problem, where every sample belongs to a cluster, and clusters to both classes."""
    if set(evidence.clean_label.tolist()) != {-1, 1}:
        raise NotApplicable("it speaks of clusters of both labels")
    return evidence.problem


def binary(evidence: Evidence) -> Problem:
    """The problem, where it is that of the paper's Section 4.1."""
    if not np.array_equal(evidence.problem.targets, evidence.clean_label):
        raise NotApplicable("it speaks of training on the label +1/-1 of every sample's cluster, all of them clean")
    if evidence.problem.trained_output:
        raise NotApplicable("it speaks of fixed output weights")
    return clustered(evidence)


def multi_class(evidence: Evidence) -> Problem:
    """The problem, where it is that of the paper's Section 4.2."""
    problem = clustered(evidence)
    if len(np.unique(evidence.neuron_output)) != len(problem.centers) or problem.trained_output:
        raise NotApplicable("it speaks of fixed output weights and an output for every cluster")
    return problem


def norm(problem: Problem) -> float:
    """R, sqrt(d) in the paper"""
    return float(np.linalg.norm(problem.centers, axis=1).mean())


def dual(problem: Problem) -> Floats:
    """(K, d): mu_j/|mu_j|^2"""
    return problem.centers / (problem.centers**2).sum(axis=1, keepdims=True)


def noise(problem: Problem) -> Floats:
    """(n, d): xi_i"""
    return problem.inputs - problem.centers[problem.sample_cluster]


def own_clusters(problem: Problem) -> Booleans:
    """(m, K): whether the cluster is one that the neuron is there for: of its sign's class, or of its output"""
    if problem.loss.classes:
        return np.asarray(problem.neuron_output[:, None] == np.arange(len(problem.centers)))
    return np.asarray(problem.weights.output_sign[:, None] == problem.cluster_label)


def coefficients(evidence: Evidence) -> tuple[Floats, Floats]:
    """(times (T,), lambda (T, m, K)) at the kept weights. Where the weights do not determine them, by a projection of what
    neurons have moved on the span of the centres."""
    if "coefficients" not in evidence.known:
        evidence.known["coefficients"] = _coefficients(evidence)
    return evidence.known["coefficients"]  # type: ignore[return-value]


def _coefficients(evidence: Evidence) -> tuple[Floats, Floats]:
    problem, setting, weights = evidence.problem, evidence.setting, evidence.weights
    if setting.decomposition is not None:
        return weights.time, cluster_coefficients(Instant(setting, weights))
    found = []
    for index in range(len(weights.time)):
        one = weights[index]
        moved = np.exp(one.log_norm)[:, None] * setting.reduced.lift(one.direction)[0] - problem.hidden
        found.append(np.linalg.lstsq(dual(problem).T, moved.T)[0].T)
    return weights.time, np.array(found)


def moved_against(evidence: Evidence, radius: float, count: int | None = None) -> tuple[Floats, Integers]:
    """(fresh samples moved by so much against their label along the difference of the classes, their labels)"""
    problem, test = evidence.problem, evidence.test
    labels = problem.cluster_label[test.sample_cluster[:count]]
    moved = radius * labels[:, None] * averaging_attack(problem.centers, problem.cluster_label)
    return test.inputs[:count] - moved, labels


def centers(evidence: Evidence) -> Iterator[Premise]:
    """Assumptions 3.2 and 3.3, and noise N(0, I): what is said of fresh samples, or of samples whose clusters are known,
    asks for no more"""
    problem, mixture = clustered(evidence), _mixture(evidence)
    size = np.linalg.norm(problem.centers, axis=1)
    away = float(np.abs(size / math.sqrt(problem.dimension) - 1).max())
    unit = problem.centers / size[:, None]
    cosine = float(np.abs(unit @ unit.T - np.eye(len(unit))).max())
    positive = int((problem.cluster_label > 0).sum())
    balance = max(positive / (len(size) - positive), (len(size) - positive) / positive)
    deviation = mixture.noise_deviation() if mixture is not None else math.inf
    yield Premise("Definition 3.1: noise N(0, sigma^2 I) with |sigma - 1| <= 0", abs(deviation - 1), ROUNDING)
    yield Premise("Assumption 3.2: largest | |mu_j|/d^1/2 - 1 | <= 0", away, ROUNDING)
    yield Premise("Assumption 3.2: largest |cos(mu_i, mu_j)| <= 0", cosine, ROUNDING)
    yield Premise(f"Assumption 3.3: c <= {BALANCE:g}, for Theta(1)", balance, BALANCE)


def distribution(evidence: Evidence) -> Iterator[Premise]:
    """Definition 3.1, Assumptions 3.2 and 3.3"""
    yield from centers(evidence)
    mixture = _mixture(evidence)
    independent = mixture is not None and not mixture.balanced
    yield Premise.fact("Definition 3.1: clusters drawn uniformly, one by one (data.balanced = false)", independent)


def _mixture(evidence: Evidence) -> Drawn | None:
    """The section [data] of a Gaussian mixture without flipped labels"""
    data = evidence.scenario.data
    mixture = isinstance(data, Drawn) and data.kind == "gaussian_mixture" and not data.label_noise
    return data if mixture and isinstance(data, Drawn) else None


def sizes(evidence: Evidence) -> Iterator[Premise]:
    """The distribution, and Assumption 4.3 in logarithms"""
    yield from distribution(evidence)
    regime, problem = Regime.of(evidence), evidence.problem
    log_d, log_k = math.log10(regime.dimension), math.log10(regime.clusters)
    yield Premise("log10 d >= 10 log10 k", log_d, 10 * log_k, at_least=True)
    yield Premise("log10 n >= 7 log10 k", math.log10(regime.samples), 7 * log_k, at_least=True)
    yield Premise("ln n <= ln(d)^2", math.log(regime.samples), math.log(regime.dimension) ** 2)
    if problem.loss.classes:
        yield Premise(f"h <= {OUTPUT_NEURONS:g}, for Theta(1)", regime.neurons, OUTPUT_NEURONS)
    else:
        away = abs(math.log2(regime.neurons / regime.clusters))
        yield Premise(f"m = Theta(k): |log2(m/k)| <= {math.log2(WIDTH):g}", away, math.log2(WIDTH))
    yield Premise("log10 eta <= -2 log10 d", math.log10(regime.step), -2 * log_d)
    yield Premise(
        "log10 sigma^2 <= log10 eta - 5 log10 k", 2 * math.log10(regime.sigma), math.log10(regime.step) - 5 * log_k
    )


def training(evidence: Evidence) -> Iterator[Premise]:
    """All that Theorems 4.5 and 4.7 assume, but for the smallest number of iterations, which is the span"""
    yield from sizes(evidence)
    scenario, problem, regime = evidence.scenario, evidence.problem, Regime.of(evidence)
    whole = scenario.flow.method in ("gradient_flow", "gradient_descent") and not scenario.stage
    yield Premise.fact("gradient descent on the whole training set, or its flow", whole)
    wanted = "cross_entropy" if problem.loss.classes else "logistic"
    mean = bool(np.isclose(problem.sample_weight * len(problem.targets), 1).all())
    yield Premise.fact(f"the mean of the {wanted.replace('_', ' ')} loss", problem.loss.name == wanted and mean)
    away = float(np.abs(regime.neurons * np.abs(problem.output) - 1).max())
    symbol = "h" if problem.loss.classes else "m"
    yield Premise(f"output weights 1/{symbol}: largest |{symbol} |a_j| - 1| <= 0", away, ROUNDING)
    most = math.sqrt(regime.clusters) * math.log(regime.dimension) ** 2
    yield Premise("ln T <= k^1/2 ln(d)^2, for exp(Õ(k^1/2))", regime.log_iterations, most)


def late(evidence: Evidence) -> Window:
    """From T = 1/eta on; one instant late enough will do, the last one"""
    return _from(evidence, 1.0)


def very_late(evidence: Evidence) -> Window:
    """From T = k^8/eta on"""
    return _from(evidence, float(len(evidence.problem.centers)) ** 8)


def _from(evidence: Evidence, begin: float) -> Window:
    end = float(evidence.trajectory["time"].values[-1])
    return Window.of(evidence, begin, max(begin, end), parts=1)


def after_first(evidence: Evidence) -> Window:
    """From the first iteration to the end of the run"""
    regime = Regime.of(evidence)
    return Window.of(evidence, min(regime.step, regime.end), regime.end)
