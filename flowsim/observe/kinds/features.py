"""Sparse coding: how neurons decompose into features, the columns of the dictionary (Allen-Zhu & Li 2022, Section 5).

A coefficient is <w_i, c_j>, c_j the column M_j times the sign of w*_j, so what correlates with the labels is positive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ..conditions import TWO_LAYERS, has_two_layers
from ..instant import BLOCK, Instant, Setting
from ..observable import observable

#: gamma of Lemma B.2, which leaves it open in (0, 0.1).
GAMMA = 0.05
_CODED = 'data of kind "sparse_coding"'


def is_coded(setting: Setting) -> bool:
    return setting.problem.samples.label_weight is not None


@observable(
    "feature_coefficient",
    ("neuron", "cluster"),
    "<w_i, c_j>, c_j a column of the dictionary times the sign of its entry of w*",
    is_coded,
    on_request=True,
    needs=_CODED,
)
def coefficients(instant: Instant) -> Floats:
    """(…, m, K)"""
    snapshot = instant.snapshot
    return np.exp(snapshot.log_norm)[..., None] * instant.setting.reduced.center_products(snapshot.direction)


@observable(
    "pure_part",
    ("neuron",),
    "size of the neuron's largest coefficient <w_i, c_j>",
    is_coded,
    on_request=True,
    needs=_CODED,
)
def pure_parts(instant: Instant) -> Floats:
    """(…, m): the size of each neuron's largest coefficient"""
    return np.abs(coefficients(instant)).max(axis=-1)


@observable(
    "dense_mixture",
    ("neuron",),
    "mean of <w_i, c_j> / |w*_j| over all j but that of the largest coefficient",
    is_coded,
    on_request=True,
    needs=_CODED,
)
def dense_mixtures(instant: Instant) -> Floats:
    """(…, m): mean over all features but that of the largest coefficient of beta_ij, the coefficient by |w*_j|."""
    weight = instant.setting.problem.samples.label_weight
    assert weight is not None
    found = coefficients(instant)
    largest = np.abs(found).argmax(axis=-1)[..., None]
    relative = found / weight
    own = np.take_along_axis(relative, largest, axis=-1)[..., 0]
    return (relative.sum(axis=-1) - own) / max(len(weight) - 1, 1)


@observable(
    "dense_ratio",
    (),
    "mean of dense_mixture over the neurons, over that of pure_part",
    is_coded,
    on_request=True,
    needs=_CODED,
)
def dense_ratio(instant: Instant) -> Floats:
    """(…): mean dense mixture over mean pure part"""
    return dense_mixtures(instant).mean(axis=-1) / pure_parts(instant).mean(axis=-1)


def lottery_constants(neurons: float, features: float) -> tuple[float, float]:
    """(c_1, c_2) of Lemma B.2: 2 + 2(1 - gamma) c_0 and gamma c_0, with m = d^(1 + c_0)"""
    spare = math.log(neurons) / math.log(features) - 1
    return 2 + 2 * (1 - GAMMA) * spare, GAMMA * spare


def start_deviation(setting: Setting) -> float:
    """sigma_0: the root mean square of the weights' entries at time 0"""
    problem = setting.problem
    return math.sqrt(float(np.exp(2 * problem.weights.log_norm).mean()) / problem.features)


@dataclass(frozen=True)
class Lottery:
    """Definition B.1, of coefficients (m, K) at sigma_w = `deviation`; those of the right sign are positive.

    sure, potential (m, K): whether the neuron is in S_j,sure and S_j,pot. expected (m,): in S_ept.
    """

    sure: Booleans
    potential: Booleans
    expected: Booleans

    @classmethod
    def of(cls, found: Floats, deviation: float) -> Self:
        neurons, features = found.shape
        middle, gap = lottery_constants(neurons, features)
        log = math.log(features)
        potential = found**2 >= (middle - gap) * deviation**2 * log
        high = found >= math.sqrt((middle + gap) * log) * deviation
        sure = high & (potential.sum(axis=1) == 1)[:, None]
        spare = math.log(neurons) / log - 1
        few = 20 / spare if spare > 0 else math.inf  # O(1) in the lemma's proof
        above = found**2 >= 2 * deviation**2 * math.sqrt(log)
        below = np.abs(found) <= deviation / log
        expected = (
            ((found**2).sum(axis=1) <= 2 * deviation**2 * features)
            & (potential.sum(axis=1) <= few)
            & (above.sum(axis=1) <= 2 ** -math.sqrt(log) * features)
            & (below.sum(axis=1) >= 1e-5 * features / log)  # Omega(d/log d), with the constant of the lemma's proof
        )
        return cls(sure, potential, expected)


def lottery_at_start(setting: Setting) -> Lottery:
    """At time 0, with sigma_w = sigma_0."""
    size = np.exp(setting.problem.weights.log_norm)[:, None]
    found = size * setting.reduced.center_products(setting.reduced.direction)
    return Lottery.of(found, start_deviation(setting))


def sure_winners(setting: Setting) -> Integers:
    """(m,): the feature j with the neuron in S_j,sure at time 0 (Definition B.1), -1 where there is none."""
    sure = lottery_at_start(setting).sure
    return np.where(sure.any(axis=1), sure.argmax(axis=1), -1)


def has_winners(setting: Setting) -> bool:
    problem = setting.problem
    usual = len(problem.weights.log_norm) >= len(problem.centers) > 1
    return is_coded(setting) and usual and bool((sure_winners(setting) >= 0).any())


@observable(
    "winners_kept",
    (),
    "of the neurons that surely win feature j at time 0, the share whose largest coefficient is that of j",
    has_winners,
    on_request=True,
    needs=f"{_CODED}, at least as many neurons as features, and neurons that surely win at time 0",
)
def winners_kept(instant: Instant) -> Floats:
    """(…): of the neurons in some S_j,sure at time 0, the share whose largest coefficient is that of j, of its sign"""
    won = sure_winners(instant.setting)
    sure = np.flatnonzero(won >= 0)
    found = coefficients(instant)[..., sure, :]
    same = np.abs(found).argmax(axis=-1) == won[sure]
    right = found[..., np.arange(len(sure)), won[sure]] > 0
    return (same & right).mean(axis=-1)


@observable("initial_cosine", ("neuron",), "|cos| between the neuron's weights and those at time 0", on_request=True)
def initial_cosine(instant: Instant) -> Floats:
    """(…, m): |cos| between each neuron's weights and those at time 0"""
    return np.abs((instant.snapshot.direction * instant.setting.reduced.direction).sum(axis=-1))


@observable(
    "active_share",
    (),
    "share of the pairs of neuron and sample at which the slope of the neuron is at least 1/2",
    has_two_layers,
    on_request=True,
    needs=TWO_LAYERS,
)
def active_share(instant: Instant) -> Floats:
    """(…): share of the pairs of neuron and sample whose slope is at least 1/2, that of a ReLU half way up"""
    setting, snapshot = instant.setting, instant.snapshot
    activation, total = setting.problem.activation.at(snapshot.time), 0.0
    for begin in range(0, len(setting.reduced.targets), BLOCK):
        rows = slice(begin, begin + BLOCK)
        projection = setting.reduced.projections(snapshot.direction, rows)
        _, slope = activation.response(projection, snapshot.log_norm[..., None], np)
        total = total + (slope >= 0.5).sum(axis=-2) @ setting.multiplicity[rows]
    return np.asarray(total / (snapshot.log_norm.shape[-1] * setting.multiplicity.sum()))
