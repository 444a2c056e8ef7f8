"""Sparse coding, x = M z + noise (Allen-Zhu & Li 2022, Section 2)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Booleans, Floats, Integers
from ..clusters import Basis, Noise, OwnSeed, entries, frame
from ..drawing import Drawing
from ..samples import Samples
from ..section import Broken, Count, NonNegative, Positive, as_tuple, refuse
from ..streams import stream
from . import DATA, DataSection, Test, broken_test

#: Draws that the share of ties is taken of, or as many as have so many numbers.
TIES, TIES_NUMBERS = 10_000, 20_000_000


class SparseCoding(DataSection):
    """x = M z + noise with M orthogonal and z sparse; the label is the sign of <w*, z>. Centres are the columns of M times
    the signs of w*, all labelled +1, and samples belong to none."""

    drawn: ClassVar[bool] = True
    counted: ClassVar[bool] = False

    kind: Literal["sparse_coding"]
    dimension: Count = Field(100, description="number of features D, and of columns of M")
    sparsity: Annotated[float, Field(ge=1, allow_inf_nan=False)] = Field(
        4.0, description="k: P(|z_j| = 1/sqrt(k)) = k/dimension, independently for every j and with random signs"
    )
    large: NonNegative = Field(0.5, description="P(|z_j| = 1) = large/dimension")
    basis: Basis = Field("random", description='M: "random" among all orthogonal matrices, or "axes", the identity')
    label_weights: Annotated[tuple[Positive, Positive], as_tuple] = Field(
        (1.0, 1.0), description="[a, b]: |w*_j| is uniform between these, its sign random"
    )
    noise: Noise = Field(Noise(total=0.1), description="gaussian noise of x; total is the paper's sigma_x")
    spike_noise: NonNegative = Field(
        0.0,
        description="s: noise M e with e_j = +-k^-0.501, as often as gives variance s^2/dimension",
    )
    ties: Literal["redrawn", "random"] = Field(
        "redrawn",
        description="what becomes of z with <w*, z> = 0, which have no label: they are drawn anew, or labelled at random",
    )
    samples: Count = Field(400, description="number of training samples n")
    seed: OwnSeed = None
    test: Test = None
    supervision: ClassVar[Literal["class"]] = "class"

    @property
    def clusters(self) -> int:
        return self.dimension

    @property
    def spike(self) -> float:
        """Size of a coordinate of the spike noise that is not 0."""
        return self.sparsity**-0.501

    @property
    def spike_probability(self) -> float:
        return self.spike_noise**2 / self.spike**2 / self.dimension

    @model_validator(mode="after")
    def _rules(self) -> SparseCoding:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        if self.sparsity + self.large > self.dimension:
            needs = f"sparsity + large = {self.sparsity + self.large:g}, as these are probabilities times dimension"
            yield Broken("dimension", f"{self.dimension} is too small: it has to be at least {needs}", ("sparsity",))
        if self.spike_probability > 1:
            most = self.spike * self.dimension**0.5
            yield Broken(
                "spike_noise", f"{self.spike_noise:g} is too large; allowed: at most {most:.4g}", ("sparsity",)
            )
        if self.label_weights[0] > self.label_weights[1]:
            yield Broken("label_weights", "the first number is to be at most the second")

    def entries(self, neurons: int) -> Mapping[str, int]:
        return entries(self.samples, self.dimension, self.test)

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """A centre is a column of M times the sign of its entry of w*."""
        generator = stream(scenario.distribution_seed, "centers")
        centers = frame(self.dimension, self.dimension, self.basis, generator)
        generator = stream(scenario.distribution_seed, "labels")
        centers *= generator.choice([1.0, -1.0], size=(self.dimension, 1))
        label_weight = generator.uniform(*self.label_weights, size=self.dimension)
        return coded(self, centers, label_weight, scenario.single_seed)

    def tied_share(self, samples: Samples, seed: int) -> float:
        """Of draws of z, the share with <w*, z> = 0, which the law of z says and `ties` does not change; to 0.01 or so."""
        assert samples.label_weight is not None
        count = max(min(TIES, TIES_NUMBERS // self.dimension), 1)
        code = _codes(self, (count, self.dimension), stream(seed, "data.ties.share"))
        return float(_tied(code, samples.label_weight).mean())

    def fresh(self, scenario: Drawing, samples: Samples, count: int, seed: int) -> Samples:
        assert samples.label_weight is not None
        return coded(self.model_copy(update={"samples": count}), samples.centers, samples.label_weight, seed)


DATA.register("sparse_coding", SparseCoding)


def coded(data: SparseCoding, centers: Floats, label_weight: Floats, seed: int) -> Samples:
    """Samples of the dictionary `centers` (K, d); label_weight (K,): |w*|. A z with <w*, z> = 0 has no label: see
    `ties`."""
    from scipy.sparse import csr_array  # no other data are sparse

    code, generator = np.zeros((data.samples, len(centers))), stream(seed, "data.code")
    left = np.arange(data.samples)
    while len(left):
        code[left] = _codes(data, (len(left), len(centers)), generator)
        left = left[_tied(code[left], label_weight)] if data.ties == "redrawn" else left[:0]
    label = np.sign(code @ label_weight)
    tied = _tied(code, label_weight)
    if tied.any():
        label[tied] = stream(seed, "data.ties").choice([1.0, -1.0], size=int(tied.sum()))
    inputs = np.asarray(csr_array(code + _spikes(data, code.shape, stream(seed, "data.spikes"))) @ centers)
    deviation = data.noise.standard_deviation(data.dimension)
    if deviation > 0:
        noise = stream(seed, "data.noise").standard_normal(inputs.shape)
        noise *= deviation
        inputs += noise
    return Samples(
        stored=inputs,
        targets=label,
        sample_cluster=np.full(data.samples, -1),
        centers=centers,
        cluster_label=np.ones(len(centers), dtype=np.int64),
        label=label,
        clean_targets=label,
        code=code,
        label_weight=label_weight,
    )


def _tied(code: Floats, label_weight: Floats) -> Booleans:
    """(n,): whether <w*, z> = 0, but for rounding"""
    return np.abs(code @ label_weight) <= 1e-9 * label_weight.max()


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
