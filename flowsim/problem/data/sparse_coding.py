"""Sparse coding, x = M z + noise (Allen-Zhu & Li 2022, Section 2)."""

from __future__ import annotations

import math

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.streams import stream
from ...scenario import Scenario
from ...scenario.data import SparseCoding
from .clusters import frame
from .samples import Samples


def draw(scenario: Scenario, sibling: Samples | None) -> Samples:
    """The training set of a ``sparse_coding`` scenario. A centre is a column of M times the sign of its entry of w*."""
    data, seed = scenario.data, scenario.single_seed
    assert isinstance(data, SparseCoding)
    centers = frame(data.dimension, data.dimension, data.basis, stream(scenario.distribution_seed, "centers"))
    generator = stream(scenario.distribution_seed, "labels")
    centers *= generator.choice([1.0, -1.0], size=(data.dimension, 1))
    return coded(data, centers, generator.uniform(*data.label_weights, size=data.dimension), seed)


def coded(data: SparseCoding, centers: Floats, label_weight: Floats, seed: int) -> Samples:
    """Samples of the dictionary `centers` (K, d); label_weight (K,): |w*|. A z with <w*, z> = 0 has no label and is drawn
    anew."""
    from scipy.sparse import csr_array  # no other data are sparse

    code, generator = np.zeros((data.samples, len(centers))), stream(seed, "data.code")
    left = np.arange(data.samples)
    while len(left):
        code[left] = _codes(data, (len(left), len(centers)), generator)
        left = left[np.abs(code[left] @ label_weight) <= 1e-9 * label_weight.max()]
    label = np.sign(code @ label_weight)
    inputs = np.asarray(csr_array(code + _spikes(data, code.shape, stream(seed, "data.spikes"))) @ centers)
    deviation = data.noise.standard_deviation(data.dimension)
    if deviation > 0:
        noise = stream(seed, "data.noise").standard_normal(inputs.shape)
        noise *= deviation
        inputs += noise
    return Samples(
        inputs=inputs,
        targets=label,
        sample_cluster=np.full(data.samples, -1),
        centers=centers,
        cluster_label=np.ones(len(centers), dtype=np.int64),
        label=label,
        clean_targets=label,
        code=code,
        label_weight=label_weight,
    )


def _codes(data: SparseCoding, shape: tuple[int, int], generator: np.random.Generator) -> Floats:
    """Independent z_j: +-1 with probability large/d, +-1/sqrt(k) with probability k/d, else 0."""
    seldom = data.large + data.sparsity
    code = np.zeros(shape)
    hit = _hits(code.size, seldom / data.dimension, generator)
    large = seldom * generator.random(len(hit)) < data.large
    code.flat[hit] = np.where(large, 1.0, data.sparsity**-0.5) * generator.choice([1.0, -1.0], size=len(hit))
    return code


def _spikes(data: SparseCoding, shape: tuple[int, int], generator: np.random.Generator) -> Floats:
    spikes = np.zeros(shape)
    if data.spike_noise:
        hit = _hits(spikes.size, data.spike_probability, generator)
        spikes.flat[hit] = data.spike * generator.choice([1.0, -1.0], size=len(hit))
    return spikes


def _hits(count: int, chance: float, generator: np.random.Generator) -> Integers:
    """Which of so many independent trials succeed, from the numbers of trials between one success and the next."""
    hits, last = [], -1
    while last < count:
        some = generator.geometric(chance, size=math.ceil(1.1 * chance * (count - last)) + 10)
        hits.append(last + np.cumsum(some))
        last = int(hits[-1][-1])
    found = np.concatenate(hits)
    return found[found < count]
