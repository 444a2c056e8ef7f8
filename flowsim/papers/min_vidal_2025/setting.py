"""What the statements of Min & Vidal 2025 are written in: the mixture, its constants and clocks, where neurons begin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...evaluate.claim import Premise, Window
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from ...kinds.clusters import Drawn
from ...kinds.inits import Shape
from ...observe import Instant
from ...problem import Problem
from ...solve import Snapshot, cosines

PAPER = "Min & Vidal 2025"
#: delta, the probability with which a claim may fail.
DELTA = 0.05
#: The gap that stands for Theta(1), and the constants C, C_a and C_w in front of alpha^2 log(K/delta).
GAP, CONSTANT = 0.01, 1.0
#: The largest gap where the other cosines are not negative: that of a neuron at its centre.
LARGEST_GAP = 1 - math.sqrt(0.5)
#: Rounding of cosines and of kept times.
ROUNDING = 1e-9
#: |dl/df| at 0 of the losses that the paper names; the phase of alignment takes so much longer (Appendix A).
SLOPES = {"square": 1.0, "exponential": 1.0, "logistic": 0.5}
#: Parts of a span of the flow, each of which has to have a kept instant.
PARTS = 10


@dataclass(frozen=True)
class Mixture:
    """Orthonormal centres mu_k in two classes, and Gaussian clusters around them (Section 2).

    alpha: the noise has covariance alpha^2/D I. label (K,): of the clusters, +1/-1.
    """

    alpha: float
    dimension: int
    label: Integers

    @classmethod
    def of(cls, evidence: Evidence) -> Mixture:
        data, problem = evidence.scenario.data, evidence.problem
        if not isinstance(data, Drawn) or data.kind != "gaussian_mixture":
            raise NotApplicable(f'it speaks of Gaussian mixtures, not of data.kind = "{data.kind}"')
        if not np.allclose(problem.centers @ problem.centers.T, np.eye(len(problem.centers)), atol=ROUNDING):
            raise NotApplicable("it speaks of orthonormal centres")
        if set(problem.cluster_label.tolist()) != {-1, 1}:
            raise NotApplicable("it speaks of clusters of both labels")
        if data.supervision != "class":
            raise NotApplicable("it speaks of a network with a single output")
        alpha = data.noise.standard_deviation(data.dimension) * math.sqrt(data.dimension)
        return cls(alpha, data.dimension, problem.cluster_label)

    @property
    def clusters(self) -> int:
        return len(self.label)

    @property
    def smaller_class(self) -> int:
        """min(K_1, K_2)"""
        return int(min((self.label > 0).sum(), (self.label < 0).sum()))

    @property
    def small(self) -> float:
        """alpha^2 log(K/delta), what Õ(alpha^2) stands for"""
        return CONSTANT * self.alpha**2 * math.log(self.clusters / DELTA)


@dataclass(frozen=True)
class Training:
    """The flow of a pReLU network on such a mixture (Section 3), in the paper's time, in which a sample weighs 1/N.

    times (T,); cosine (T, m, K): c_kj; log_mass (T, m): log |w_j|^2. unit: the paper's time in one of the flow's.
    """

    mixture: Mixture
    problem: Problem
    unit: float
    scale: float
    target: Integers
    initial: Floats
    times: Floats
    cosine: Floats
    log_mass: Floats
    loss: Floats

    @classmethod
    def of(cls, evidence: Evidence) -> Training:
        """Where the loss is the square, which Theorem 1 is about"""
        found = cls.of_any_loss(evidence)
        if found.problem.loss.name != "square":
            raise NotApplicable("it speaks of the square loss")
        return found

    @classmethod
    def of_any_loss(cls, evidence: Evidence) -> Training:
        """With a classification loss too, to which alignment carries over (Appendix A)"""
        known = evidence.known
        if "min_vidal_2025.training" not in known:
            known["min_vidal_2025.training"] = cls._of(evidence)
        found = known["min_vidal_2025.training"]
        assert isinstance(found, Training)
        return found

    @classmethod
    def _of(cls, evidence: Evidence) -> Training:
        mixture, problem = Mixture.of(evidence), evidence.problem
        activation = problem.activation
        if not (activation.homogeneity == 1 and activation.degree is not None and activation.degree > 2):
            raise NotApplicable("it speaks of pReLU with p > 2")
        if not problem.trained_output or problem.bias:
            raise NotApplicable("it speaks of networks whose output weights are trained and that have no biases")
        if problem.loss.name not in SLOPES:
            raise NotApplicable(f"it speaks of the losses {', '.join(SLOPES)}")
        if not isinstance(evidence.scenario.init, Shape):
            raise NotApplicable("it speaks of weights of the size init.scale, and these were given")
        times, cosine = evidence.over_time("cosine")
        kept, log_norm = evidence.over_time("log_norm")
        if len(kept) != len(times):
            raise NotApplicable("cosines were not kept at every instant (see observe.variables)")
        weight = float(evidence.setting.reduced.sample_weight.sum()) / mixture.clusters
        _, log10_loss = evidence.over_time("log10_loss")
        return cls(
            mixture,
            problem,
            weight,
            evidence.scenario.init.scale,
            evidence.setting.target,
            cosines(evidence.setting.reduced, evidence.setting.reduced.direction),
            weight * times,
            cosine,
            2 * log_norm,
            10**log10_loss / weight,
        )

    @property
    def slope(self) -> float:
        """|dl/df| where the network is 0"""
        return SLOPES[self.problem.loss.name]

    @property
    def degree(self) -> float:
        assert self.problem.activation.degree is not None
        return self.problem.activation.degree

    @property
    def aimed(self) -> Integers:
        """The neurons that have a target, those of some N_k"""
        found = np.flatnonzero(self.target >= 0)
        if not len(found):
            raise NotApplicable("no neuron has a target")
        return found

    @property
    def aim(self) -> Floats:
        """(T, m'): c_kj of neurons with a target"""
        return self.cosine[:, self.aimed, self.target[self.aimed]]

    @cached_property
    def gap(self) -> float:
        """Delta, the non-degeneracy gap (equation 11)"""
        own = self.problem.weights.output_sign[:, None] == self.mixture.label
        return float(gaps(self.initial, own).min())

    @property
    def margin(self) -> float:
        """The gap as Lemma 5 takes it; larger ones, as negative cosines allow them, are outside of what it says"""
        return min(self.gap, LARGEST_GAP)

    @property
    def near(self) -> float:
        """The cosine that the gap keeps with the target at least, Delta_1 of Lemma 5"""
        return math.sqrt((1 / (1 - self.margin) ** 2 - 1) / 2)

    @property
    def apart(self) -> float:
        """Delta_2 of Lemma 5: 1 - Delta_2 is the largest share of another cosine in that with the target, to the p - 2"""
        return 1 - (1 - math.sqrt(2 * self.margin)) ** (self.degree - 2)

    @property
    def sizes(self) -> tuple[float, float]:
        """(W_min, W_max): norms of the initialisation's shape"""
        log_size = self.problem.weights.log_norm - math.log(self.scale)
        return float(np.exp(log_size.min())), float(np.exp(log_size.max()))

    @property
    def log_outputs(self) -> Floats:
        """(T,): log of max_k |f(mu_k)| of balanced neurons"""
        top = self.log_mass.max(axis=1, keepdims=True)
        mass = self.problem.weights.output_sign * np.exp(self.log_mass - top)
        outputs = np.einsum("tj,tjk->tk", mass, np.maximum(self.cosine, 0.0) ** self.degree)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.abs(outputs).max(axis=1)) + top[:, 0])

    @property
    def log_cluster_mass(self) -> Floats:
        """(T, K): log of the sum of |w_j|^2 over N_k"""
        chosen = [self.target == k for k in range(self.mixture.clusters)]
        return np.stack([_log_sum(self.log_mass[:, of]) for of in chosen], axis=1)

    @property
    def log_void_mass(self) -> Floats:
        """(T,): the same over the neurons in the void regions"""
        return _log_sum(self.log_mass[:, self.target < 0])

    @property
    def t1_bound(self) -> float:
        """Equation F.20"""
        p = self.degree
        turning = 20 / ((p - 2) * p * self.apart * self.near ** (p - 2)) if self.gap > 0 else math.inf
        return turning + 2 / (p * (2 ** (p - 1) - 2)) * max(-math.log(self.mixture.small), 0.0)

    @property
    def t2(self) -> float:
        """Lemma 8: until when outputs are small at least"""
        p, width = self.degree, len(self.target)
        return -(math.log(2 ** (p - 1) * math.sqrt(width)) + math.log(self.scale)) / (
            2 ** (p + 2) * self.mixture.clusters
        )

    @property
    def t1(self) -> float:
        """The first kept instant at which every c_kj is at least 1 - C alpha^2 log(K/delta) (equation F.11)"""
        return self._first(
            self.aim.min(axis=1) >= 1 - self.mixture.small, "until the neurons have aligned with their targets"
        )

    @property
    def fitted(self) -> float:
        """t*: the first kept instant at which the mass of every cluster has reached 1 - C_w alpha^2 log(K/delta)"""
        with np.errstate(over="ignore"):
            reached = np.exp(self.log_cluster_mass).min(axis=1) >= 1 - self.mixture.small
        return self._first(reached, "until the clusters' masses have reached 1")

    @property
    def last(self) -> float:
        """T* = t* + alpha^-min(p - 2, 2) of Theorem 1 with the constant 1 for Omega(1)"""
        return self.fitted + self.mixture.alpha ** -min(self.degree - 2, 2.0)

    def reaches(self, instant: float) -> None:
        """Raise NotCovered where the run ends before this."""
        if self.times[-1] < instant * (1 - ROUNDING):
            raise NotCovered(f"it speaks of the time until {instant:.4g}, and the run ends at {self.times[-1]:.4g}")

    def first_until(self, instant: float, latest: float) -> float:
        """A first kept instant, to be held against a latest one. What has happened by then happened after the kept instant
        before it: where `latest` lies between the two, the run cannot say."""
        before = self.times[self.times < instant].max(initial=0.0)
        if before <= latest < instant:
            raise NotCovered(
                f"it came between {before:.4g} and {instant:.4g}, with {latest:.4g} in between (see observe.times)"
            )
        return instant

    def during(self, begin: float, end: float) -> Booleans:
        """(T,): the kept instants in [begin, end], of which there must be one"""
        inside = (self.times >= begin * (1 - ROUNDING)) & (self.times <= end * (1 + ROUNDING))
        if not inside.any():
            raise NotCovered(f"no instant was kept in [{begin:.4g}, {end:.4g}] (see observe.times)")
        return inside

    def window(self, begin: float, end: float, parts: int = PARTS) -> Window:
        """A span in the paper's time"""
        return Window(begin, end, self.times, parts, "per-cluster time")

    def _first(self, reached: Booleans, otherwise: str) -> float:
        if not reached.any():
            raise NotCovered(f"the run does not go on {otherwise}")
        return float(self.times[reached.argmax()])


def gaps(cosine: Floats, own: Booleans) -> Floats:
    """(m,): 1 less the largest cosine between each neuron and the boundary of its region among the centres of its sign,
    the void region included (equation 11). cosine (m, K): with orthonormal centres; own (m, K): those of the neuron's sign.

    The nearest point of the boundary lies where the largest cosine c equals the second, at an angle with the sine
    (c - c')/sqrt(2), or where it is 0, with the sine c; that of the void region is where its largest cosine is 0.
    """
    ordered = np.sort(np.where(own, cosine, -np.inf), axis=1)
    first, second = ordered[:, -1], ordered[:, -2]
    sine = np.where(first > 0, np.minimum(first, (first - second) / math.sqrt(2)), -first)
    return np.asarray(1 - np.sqrt(1 - np.minimum(sine, 1.0) ** 2))


def turning(evidence: Evidence, snapshot: Snapshot, unit: float) -> Floats:
    """(m, K): dc_kj/dt in the paper's time at one of the kept weights, of balanced neurons (equation E.5)"""
    instant, reduced = Instant(evidence.setting, snapshot), evidence.setting.reduced
    projection = np.maximum(snapshot.direction @ reduced.inputs.T, 0.0)
    degree = evidence.problem.activation.degree
    assert degree is not None
    pull = -reduced.sample_weight * instant.loss_derivative * degree * projection ** (degree - 1)
    towards = pull @ reduced.inputs - (pull * projection).sum(axis=1, keepdims=True) * snapshot.direction
    towards = evidence.problem.weights.output_sign[:, None] * towards
    products = reduced.center_products(towards) / np.linalg.norm(evidence.problem.centers, axis=1)
    return np.asarray(products / unit)


def good_event(evidence: Evidence) -> dict[str, float]:
    """The four parts of the event of Lemma 4, each relative to its bound"""
    mixture, problem = Mixture.of(evidence), evidence.problem
    alpha, clusters, counts = mixture.alpha, mixture.clusters, np.bincount(problem.sample_cluster)
    if not alpha:
        return dict.fromkeys(("norms", "along_centers", "sums", "squares"), 0.0)
    noise, count = problem.inputs - problem.centers[problem.sample_cluster], int(counts.max())
    sums, squares = np.zeros((clusters, noise.shape[1])), np.zeros(clusters)
    np.add.at(sums, problem.sample_cluster, noise)
    np.add.at(squares, problem.sample_cluster, (noise**2).sum(axis=1))
    across = np.abs(noise @ problem.centers.T).max() * math.sqrt(mixture.dimension)
    return {
        "norms": float(np.linalg.norm(noise, axis=1).max() / (_log_root(8, 16 * clusters * count) * alpha)),
        "along_centers": float(across / (_log_root(2, 8 * clusters**2 * count) * alpha)),
        "sums": float(np.linalg.norm(sums, axis=1).max() / (_log_root(2, 8 * clusters) * alpha * math.sqrt(count))),
        "squares": float(squares.max() / (8 * math.log(16 * clusters / DELTA) * alpha**2 * count)),
    }


def _log_root(factor: float, count: float) -> float:
    """sqrt(factor log(count/delta))"""
    return math.sqrt(factor * math.log(count / DELTA))


def premises(evidence: Evidence) -> Iterator[Premise]:
    """Assumptions of Theorem 1: Assumptions 1 and 2, what it asks of alpha, D and N, and the good event of Lemma 4"""
    training = Training.of_any_loss(evidence)
    scenario, mixture = evidence.scenario, training.mixture
    assert isinstance(scenario.data, Drawn)
    assert isinstance(scenario.init, Shape)
    alpha, samples = mixture.alpha, scenario.data.samples / mixture.clusters
    yield Premise.fact("gradient flow", scenario.flow.method == "gradient_flow")
    clean = scenario.data.balanced and not scenario.data.label_noise
    yield Premise.fact("as many samples in every cluster, and no flipped labels", bool(clean))
    yield Premise.fact("Assumption 1: balanced weights", scenario.init.balanced)
    least = 8 * mixture.clusters * math.log10(alpha) if alpha else -math.inf
    # 1e-32 is a little more than its logarithm says
    yield Premise("Assumption 1: log10 eps <= 8 K log10 alpha", math.log10(scenario.init.scale), least * (1 - ROUNDING))
    empty = mixture.clusters - len(np.unique(training.target[training.target >= 0]))
    yield Premise("Assumption 2: Voronoi regions without a neuron <= 0", empty, 0.0)
    yield Premise(f"Assumption 2: gap Delta >= {GAP:g}, for Theta(1)", training.gap, GAP, at_least=True)
    yield Premise("alpha^2 log(K/delta) <= 1", mixture.small, 1.0)
    # the scenarios' D and N are rounded, so a twentieth less will do
    yield Premise("D alpha^2 >= 0.95", mixture.dimension * alpha**2, 0.95, at_least=True)
    yield Premise("N alpha^2 >= 0.95", samples * alpha**2, 0.95, at_least=True)
    yield Premise("alpha^2 log N <= 1", alpha**2 * math.log(samples), 1.0)
    yield Premise(
        "the good event of Lemma 4: largest part, relative to its bound", max(good_event(evidence).values()), 1.0
    )


def _log_sum(values: Floats) -> Floats:
    """(T,): log of the sum of exp over the last axis, -inf where it is empty"""
    if not values.shape[1]:
        return np.full(len(values), -np.inf)
    return np.asarray(np.logaddexp.reduce(values, axis=1))
