"""Noisy samples around the centres of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ..arrays import Floats, Integers
from .data import DataSection, HeldOut, Test, broken_test
from .drawing import Drawing
from .samples import Samples, Supervision
from .section import Broken, Count, Fraction, NonNegative, Positive, Section, Seed, refuse
from .streams import stream

ONE_NOISE = "give exactly one: total (covariance total^2/dimension I) or per_coordinate (per_coordinate^2 I)"

Radius = Positive | Literal["sqrt_dimension"]
Basis = Literal["random", "axes"]
OwnSeed = Annotated[
    Seed | None,
    Field(
        description="what is the same for all samples, centres and of sparse coding w*, is drawn from this integer rather "
        "than from the scenario's seed: runs of several seeds then share one distribution"
    ),
]

#: (generator, (n, d)) -> vectors whose coordinates are of mean 0 and variance 1
Law = Callable[[np.random.Generator, tuple[int, ...]], Floats]
#: name -> numbers of this law, independent
LAWS: dict[str, Law] = {
    "gaussian": lambda generator, shape: generator.standard_normal(shape),
    "laplace": lambda generator, shape: generator.laplace(scale=0.5**0.5, size=shape),
    "uniform": lambda generator, shape: generator.uniform(-(3**0.5), 3**0.5, size=shape),
}


def norm_of(radius: float | Literal["sqrt_dimension"], dimension: int) -> float:
    """The norm that `radius` asks for in so many features."""
    return dimension**0.5 if radius == "sqrt_dimension" else radius


class Noise(Section):
    """Within-cluster noise; exactly one convention."""

    total: NonNegative | None = Field(None, description="covariance (total^2 / dimension) I")
    per_coordinate: NonNegative | None = Field(None, description="covariance per_coordinate^2 I")

    @model_validator(mode="after")
    def _one_convention(self) -> Noise:
        if (self.total is None) == (self.per_coordinate is None):
            refuse([Broken("", ONE_NOISE, ("total", "per_coordinate"))])
        return self

    def standard_deviation(self, dimension: int) -> float:
        """Standard deviation of the noise in each coordinate."""
        if self.total is not None:
            return self.total / dimension**0.5
        assert self.per_coordinate is not None
        return self.per_coordinate


class Drawn(DataSection):
    """Noisy samples drawn around the centres of clusters."""

    drawn: ClassVar[bool] = True

    dimension: Count = Field(100, description="number of features D")
    radius: Radius = Field(1.0, description='norm of every centre, or "sqrt_dimension"')
    noise: Noise = Field(Noise(total=0.1), description="within-cluster noise")
    samples: Count = Field(400, description="number of training samples n")
    balanced: bool = Field(
        True, description="the same number of samples from every cluster; false draws clusters uniformly"
    )
    label_noise: Fraction = Field(0.0, description="fraction of training labels flipped")
    supervision: Supervision = "class"
    seed: OwnSeed = None
    test: Test = None

    def _broken_draw(self, clusters: int, counts: tuple[str, ...]) -> Iterator[Broken]:
        """counts: the keys that the number of clusters comes from."""
        yield from broken_test(self)
        if self.balanced and self.samples % clusters:
            lower = self.samples // clusters * clusters
            choices = " or ".join(str(n) for n in (lower, lower + clusters) if n)
            wrong = (
                f"{self.samples} cannot be split evenly over {clusters} clusters; use {choices}, or balanced = false"
            )
            yield Broken("samples", wrong, (*counts, "balanced"))
        if self.label_noise and self.supervision == "cluster":
            only = 'flips labels +1/-1, so only with supervision = "class": targets are clusters here'
            yield Broken("label_noise", only, ("supervision",))

    def noise_deviation(self) -> float:
        return self.noise.standard_deviation(self.dimension)

    def entries(self, neurons: int) -> Mapping[str, int]:
        return entries(self.samples, self.dimension, self.test)

    def fresh(self, scenario: Drawing, samples: Samples, count: int, seed: int) -> Samples:
        return self.model_copy(update={"samples": count, "balanced": False}).around(
            samples.centers, samples.cluster_label, seed
        )

    def around(self, centers: Floats, cluster_label: Integers, seed: int) -> Samples:
        """Samples around these centres (K, d) with these labels (K,)."""
        return samples_around(centers, cluster_label, self, seed)


def entries(samples: int, dimension: int, test: HeldOut | None) -> Mapping[str, int]:
    """What so many samples, and those to be held out, take in memory, by the keys that ask for them."""
    found = {"data.samples": samples * dimension}
    if test is not None and test.samples is not None:
        found["data.test.samples"] = test.samples * dimension
    return found


def samples_around(
    centers: Floats,
    cluster_label: Integers,
    data: Drawn,
    seed: int,
    law: Law = LAWS["gaussian"],
    first: Callable[[Floats, Integers], Floats] | None = None,
) -> Samples:
    """The training set around these centres (K, d) with these labels (K,).

    first: of inputs (n, d) and their clusters (n,) a number (n,); the labels with the smallest are flipped, by chance among
    equal ones. Without, labels are flipped by chance."""
    clusters = len(centers)
    if data.balanced:
        sample_cluster = np.repeat(np.arange(clusters), data.samples // clusters)
    else:
        sample_cluster = stream(seed, "data.cluster").integers(clusters, size=data.samples)
    inputs = centers[sample_cluster]
    deviation = data.noise.standard_deviation(data.dimension)
    if deviation > 0:
        noise = law(stream(seed, "data.noise"), inputs.shape)
        noise *= deviation
        inputs += noise
    clean_label = cluster_label[sample_cluster].astype(float)
    label = clean_label.copy()
    order = stream(seed, "labels").permutation(data.samples)
    if first is not None:
        order = order[np.argsort(first(inputs, sample_cluster)[order], kind="stable")]
    label[order[: round(data.label_noise * data.samples)]] *= -1
    return Samples.supervised(
        data.supervision,
        inputs=inputs,
        label=label,
        clean_label=clean_label,
        sample_cluster=sample_cluster.astype(np.int64),
        centers=centers,
        cluster_label=cluster_label,
    )


def frame(count: int, dimension: int, basis: str | None, generator: np.random.Generator) -> Floats:
    """Orthonormal rows (count, dimension): coordinate "axes", or uniform among all such frames."""
    if basis == "axes":
        return np.eye(count, dimension)
    columns, triangle = np.linalg.qr(generator.standard_normal((dimension, count)))
    return np.ascontiguousarray((columns * np.sign(np.diag(triangle))).T)
