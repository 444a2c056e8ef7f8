"""[data]: what the network is trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from .base import Broken, Count, Fraction, NonNegative, Positive, Section, refuse

CENTERS = ("orthonormal", "random_sphere", "equicorrelated")
TABLE_SUFFIXES = (".csv", ".npz", ".nc")
ONE_NOISE = "give exactly one: total (covariance total^2/dimension I) or per_coordinate (per_coordinate^2 I)"
ARRAY_SUFFIXES = (".npy", *TABLE_SUFFIXES)


def _suffix_in(suffixes: tuple[str, ...], words: tuple[str, ...] = ()) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value in words or value.endswith(suffixes):
            return value
        options = [*(f'"{word}"' for word in words), f"a path that ends with {', '.join(suffixes)}"]
        raise ValueError(f'"{value}" is not allowed; allowed: {", ".join(options)}')

    return check


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


class GaussianMixture(Section):
    """Clusters around centres; the first `positive` of them carry the label +1, the others -1."""

    kind: Literal["gaussian_mixture"] = "gaussian_mixture"
    dimension: Count = Field(100, description="number of features D")
    positive: int = Field(2, ge=0, description="clusters labelled +1")
    negative: int = Field(2, ge=0, description="clusters labelled -1")
    centers: Annotated[str, AfterValidator(_suffix_in(ARRAY_SUFFIXES, CENTERS))] = Field(
        "orthonormal",
        description='"orthonormal", "random_sphere", "equicorrelated", or the path of an array (clusters, features)',
    )
    basis: Literal["random", "axes"] | None = Field(
        None,
        description='frame of orthonormal and equicorrelated centres: "random" (the default) or the coordinate "axes"',
    )
    cosine: float | None = Field(None, gt=-1, lt=1, description="cosine between any two equicorrelated centres")
    radius: Positive | Literal["sqrt_dimension"] = Field(1.0, description='norm of every centre, or "sqrt_dimension"')
    noise: Noise = Field(Noise(total=0.1), description="within-cluster noise")
    samples: Count = Field(400, description="number of training samples n")
    balanced: bool = Field(
        True, description="the same number of samples from every cluster; false draws clusters uniformly"
    )
    label_noise: Fraction = Field(0.0, description="fraction of training labels flipped")
    supervision: Literal["class"] = Field("class", description='targets: "class" is y = +1/-1')

    @property
    def clusters(self) -> int:
        return self.positive + self.negative

    @model_validator(mode="after")
    def _rules(self) -> GaussianMixture:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        clusters, counts = self.clusters, ("positive", "negative")
        if clusters == 0:
            yield Broken("positive", "at least one cluster is needed: positive + negative >= 1", counts)
            return
        yield from self._broken_centers()
        if self.balanced and self.samples % clusters:
            lower = self.samples // clusters * clusters
            choices = " or ".join(str(n) for n in (lower, lower + clusters) if n)
            wrong = (
                f"{self.samples} cannot be split evenly over {clusters} clusters; use {choices}, or balanced = false"
            )
            yield Broken("samples", wrong, (*counts, "balanced"))

    def _broken_centers(self) -> Iterator[Broken]:
        clusters, reads = self.clusters, ("centers", "positive", "negative")
        frame = self.centers in ("orthonormal", "equicorrelated")
        if frame and self.dimension < clusters:
            need = f"{clusters} {self.centers} centres need dimension >= positive + negative = {clusters}"
            yield Broken("dimension", f"{self.dimension} is too small: {need}", reads)
        if self.basis is not None and not frame:
            only = f'only with centers = "orthonormal" or "equicorrelated", not "{self.centers}"'
            yield Broken("basis", only, ("centers",))
        if self.centers != "equicorrelated" and self.cosine is not None:
            yield Broken("cosine", f'only with centers = "equicorrelated", not "{self.centers}"', ("centers",))
        if self.centers == "equicorrelated" and self.cosine is None:
            yield Broken("cosine", 'required with centers = "equicorrelated"', ("centers",))
        elif self.cosine is not None and clusters > 1 and self.cosine <= -1 / (clusters - 1):
            allowed = f"above {-1 / (clusters - 1):.4g}"
            yield Broken("cosine", f"{self.cosine} is impossible for {clusters} centres; allowed: {allowed}", reads)
        if self.centers not in CENTERS and "radius" in self.model_fields_set:
            yield Broken("radius", "only for drawn centres; centres read from a file keep their norms", ("centers",))


class Table(Section):
    """Samples read from a file with arrays x, y and, where known, cluster and centers."""

    kind: Literal["table"]
    path: Annotated[str, AfterValidator(_suffix_in(TABLE_SUFFIXES))] = Field(
        description="CSV, NPZ or NetCDF file, relative to the scenario's folder"
    )


Data = Annotated[GaussianMixture | Table, Field(discriminator="kind")]
