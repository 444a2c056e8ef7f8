"""Claims of Li et al. 2025 about what is carried from an iteration to the next, with the paper's own epsilon: Lemma B.7 for
two classes, Lemma C.10 for an output per cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...evaluate.claim import Claim, Constant, Window
from ...evaluate.evidence import Evidence, NotCovered
from ...observe import Instant
from ...observe.kinds.coefficients import cluster_coefficients, noise_coefficients
from .dynamics import LARGEST_LOG, Checked, moved
from .setting import LOGS, PAPER, SIZES, Regime, binary, late, multi_class, own_clusters, training

#: Parts of the span, each of which has to have kept weights.
PARTS = 5


@dataclass(frozen=True)
class Kept:
    """A kept instant: lambda (m, K), sigma (m, n'), and of every sample q^, q and log |l'| (n',). own, own_sample: which
    clusters and samples a neuron is there for. cluster (n',): of each sample."""

    lambdas: Floats
    sigmas: Floats
    own: Booleans
    cluster: Integers
    approximate: Floats
    margin: Floats
    log_slope: Floats

    @property
    def own_sample(self) -> Booleans:
        return np.asarray(self.own[:, self.cluster])

    def spread(self, values: Floats) -> float:
        """Largest difference of two samples"""
        return float(values.max() - values.min())

    def spread_within(self, values: Floats) -> float:
        """The same of two samples of one cluster"""
        return max(self.spread(values[self.cluster == one]) for one in np.unique(self.cluster))


def _kept(checked: Checked, evidence: Evidence) -> Iterator[Kept]:
    """At all kept weights after time 0"""
    problem, regime = checked(evidence), Regime.of(evidence)
    own, targets = own_clusters(problem), evidence.setting.reduced.targets
    cluster = np.argmax(evidence.setting.cluster_counts > 0, axis=0)
    for instant in moved(evidence):
        lambdas, sigmas = cluster_coefficients(instant), noise_coefficients(instant)
        parts = np.where(own[:, cluster], lambdas[:, cluster] + sigmas, 0.0)
        with np.errstate(divide="ignore"):
            log_slope = np.log(np.abs(instant.loss_derivative))
        margin = _own_output(instant, targets) if problem.loss.classes else instant.margin
        yield Kept(lambdas, sigmas, own, cluster, parts.sum(axis=0) / regime.neurons, margin, log_slope)


def _own_output(instant: Instant, targets: Floats) -> Floats:
    """(n',): f_c(i)(x_i)"""
    return np.asarray(instant.outputs[targets.astype(int), np.arange(len(targets))])


def epsilon(evidence: Evidence) -> float:
    """max(2 ln(n/k)/((n/k)^1/2 - ln(n/k)), k^2 Delta/d, k^2/n)"""
    regime = Regime.of(evidence)
    clusters, ratio = regime.clusters, regime.samples / regime.clusters
    uneven = 2 * math.log(ratio) / (math.sqrt(ratio) - math.log(ratio))
    return max(uneven, clusters**2 * regime.correlation / regime.dimension, clusters**2 / regime.samples)


def _largest(checked: Checked, power: int, of: Callable[[Kept], float], evidence: Evidence) -> float:
    """In units of k^power epsilon, over the kept weights"""
    unit = Regime.of(evidence).clusters ** power * epsilon(evidence)
    return max(of(kept) for kept in _kept(checked, evidence)) / unit


def _noise(checked: Checked, evidence: Evidence) -> tuple[Floats, list[Floats]]:
    """(eta t (T,), sigma n/k of all samples and the neurons that are there for them) after time 0"""
    regime = Regime.of(evidence)
    scale = regime.samples / regime.clusters
    found = [scale * kept.sigmas[kept.own_sample] for kept in _kept(checked, evidence)]
    return np.array([float(instant.time) for instant in moved(evidence)]), found


def _least_noise(checked: Checked, evidence: Evidence) -> float:
    """Smallest sigma / (k/(2 n) ln(eta t)) at eta t > 1"""
    times, sigmas = _noise(checked, evidence)
    ratios = [sigma.min() / (math.log(time) / 2) for time, sigma in zip(times, sigmas, strict=True) if time > 1]
    if not ratios:
        raise NotCovered("no weights were kept after time 1 (see observe.snapshots)")
    return float(min(ratios))


def _most_noise(checked: Checked, evidence: Evidence) -> float:
    """Largest sigma / (2 k/n ln(t + 1))"""
    times, sigmas = _noise(checked, evidence)
    step = Regime.of(evidence).step
    return float(max(sigma.max() / (2 * math.log1p(time / step)) for time, sigma in zip(times, sigmas, strict=True)))


def _span(evidence: Evidence) -> Window:
    """From the first iteration to the end, of kept weights"""
    regime = Regime.of(evidence)
    return Window(min(regime.step, regime.end), regime.end, evidence.weights.time, PARTS, "time, of kept weights")


EPSILON = Constant("epsilon", epsilon, "paper")
#: A bound in units of k^power epsilon: (its factor, the power).
Bound = tuple[float, int]


@dataclass(frozen=True)
class Part:
    """A property of the lemmas. two, several: its bound with two classes, and with an output per cluster."""

    number: int
    statement: str
    measures: str
    of: Callable[[Kept], float]
    two: Bound
    several: Bound

    def claim(self, checked: Checked, lemma: str, bound: Bound) -> Claim:
        factor, power = bound
        unit = ("epsilon", "k epsilon", "k^2 epsilon")[power]
        most = unit if factor == 1 else f"{factor:g} {unit}"
        return Claim(
            f"{PAPER}, Lemma {lemma} ({self.number})",
            f"for t <= T_0: {self.statement.format(bound=most)}",
            partial(_largest, checked, power, self.of),
            factor,
            measures=f"{self.measures}, over {unit}, at the kept weights after time 0",
            premises=training,
            constants=(SIZES, LOGS, EPSILON),
            span=_span,
        )


def _of_ratio(log_ratio: float) -> float:
    """A ratio less 1; inf where no float is as large"""
    return math.expm1(log_ratio) if log_ratio < LARGEST_LOG else math.inf


PROPERTIES = {
    "sums_within": Part(
        2,
        "q^_i - q^_j <= {bound} when c(i) = c(j), q^_i the mean of lambda + sigma over the neurons that are there for i",
        "largest difference of two samples of one cluster",
        lambda kept: kept.spread_within(kept.approximate),
        (5, 0),
        (5, 1),
    ),
    "sums": Part(
        3,
        "q^_i - q^_j <= {bound}, q^_i the mean of lambda + sigma over the neurons that are there for i",
        "largest difference",
        lambda kept: kept.spread(kept.approximate),
        (63, 0),
        (32, 2),
    ),
    "gap": Part(
        4,
        "q_i - q_j <= {bound}, q_i = y_i f(x_i), or f_c(i)(x_i) of several outputs",
        "largest difference",
        lambda kept: kept.spread(kept.margin),
        (65, 0),
        (33, 2),
    ),
    "ratio_within": Part(
        5,
        "the ratio of two l' is at most 1 + {bound} when c(i) = c(j)",
        "largest ratio of two samples of one cluster, less 1",
        lambda kept: _of_ratio(kept.spread_within(kept.log_slope)),
        (14, 0),
        (14, 1),
    ),
    "ratio": Part(
        6,
        "the ratio of two l' is at most 1 + {bound}",
        "largest ratio, less 1",
        lambda kept: _of_ratio(kept.spread(kept.log_slope)),
        (130, 0),
        (67, 2),
    ),
    "other_clusters": Part(
        8,
        "|lambda| <= {bound} of clusters that a neuron is not there for",
        "largest such |lambda|",
        lambda kept: float(np.abs(kept.lambdas[~kept.own]).max()),
        (1, 0),
        (1, 0),
    ),
    "other_noise": Part(
        8,
        "|sigma| <= {bound} of samples that a neuron is not there for",
        "largest such |sigma|",
        lambda kept: float(np.abs(kept.sigmas[~kept.own_sample]).max()),
        (2, 0),
        (2, 0),
    ),
}


def _growth(checked: Checked, lemma: str, symbol: str) -> dict[str, Claim]:
    """Of the noise, property 1"""
    place = f"{PAPER}, Lemma {lemma} (1)", f"k/(2 n) ln(eta t) <= {symbol} <= 2 k/n ln(t + 1)"
    return {
        "noise_lower": Claim(
            *place,
            partial(_least_noise, checked),
            1.0,
            at_least=True,
            measures="smallest sigma over its lower bound, at the kept weights with eta t > 1",
            premises=training,
            constants=(SIZES, LOGS, Constant("1/2", 0.5, "paper")),
            span=late,
        ),
        "noise_upper": Claim(
            *place,
            partial(_most_noise, checked),
            1.0,
            measures="largest sigma over its upper bound, at the kept weights",
            premises=training,
            constants=(SIZES, LOGS, Constant("2", 2.0, "paper")),
            span=late,
        ),
    }


_TWO = {name: part.claim(binary, "B.7", part.two) for name, part in PROPERTIES.items()}
_SEVERAL = {name: part.claim(multi_class, "C.10", part.several) for name, part in PROPERTIES.items()}
CLAIMS = {
    **{f"lemma_b_7.{name}": claim for name, claim in (_growth(binary, "B.7", "sigma_{y_i,r,i}") | _TWO).items()},
    **{
        f"lemma_c_10.{name}": claim
        for name, claim in (_growth(multi_class, "C.10", "sigma_{c(i),r,i}") | _SEVERAL).items()
    },
}
