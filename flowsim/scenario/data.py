"""[data]: what the network is trained on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from .base import Count, Fraction, NonNegative, Positive, Section, broken_rules

CENTERS = ("orthonormal", "random_sphere", "equicorrelated")
TABLE_SUFFIXES = (".csv", ".npz", ".nc")
ARRAY_SUFFIXES = (".npy", *TABLE_SUFFIXES)


def _suffix_in(suffixes: tuple[str, ...], words: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
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
            broken_rules(
                [
                    (
                        "",
                        "give exactly one: total (covariance total^2/dimension I) or per_coordinate (per_coordinate^2 I)",
                    )
                ]
            )
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
        broken_rules(self._broken())
        return self

    def _broken(self) -> Iterator[tuple[str, str]]:
        clusters, frame = self.clusters, self.centers in ("orthonormal", "equicorrelated")
        if clusters == 0:
            yield "positive", "at least one cluster is needed: positive + negative >= 1"
            return
        if frame and self.dimension < clusters:
            yield (
                "dimension",
                (
                    f"{self.dimension} is too small: {clusters} {self.centers} centres need dimension >= "
                    f"positive + negative = {clusters}"
                ),
            )
        if self.basis is not None and not frame:
            yield "basis", f'only with centers = "orthonormal" or "equicorrelated", not "{self.centers}"'
        if self.centers == "equicorrelated":
            if self.cosine is None:
                yield "cosine", 'required with centers = "equicorrelated"'
            elif clusters > 1 and self.cosine <= -1 / (clusters - 1):
                yield (
                    "cosine",
                    f"{self.cosine} is impossible for {clusters} centres; allowed: above {-1 / (clusters - 1):.4g}",
                )
        elif self.cosine is not None:
            yield "cosine", f'only with centers = "equicorrelated", not "{self.centers}"'
        if self.centers not in CENTERS and "radius" in self.model_fields_set:
            yield "radius", "only for drawn centres; centres read from a file keep their norms"
        if self.balanced and self.samples % clusters:
            lower = self.samples // clusters * clusters
            choices = " or ".join(str(n) for n in (lower, lower + clusters) if n)
            yield (
                "samples",
                f"{self.samples} cannot be split evenly over {clusters} clusters; use {choices}, or balanced = false",
            )


class Table(Section):
    """Samples read from a file with arrays x, y and, where known, cluster and centers."""

    kind: Literal["table"]
    path: Annotated[str, AfterValidator(_suffix_in(TABLE_SUFFIXES))] = Field(
        description="CSV, NPZ or NetCDF file, relative to the scenario's folder"
    )


Data = Annotated[GaussianMixture | Table, Field(discriminator="kind")]
