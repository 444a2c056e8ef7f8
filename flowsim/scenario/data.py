"""[data]: what the network is trained on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from ..kinds.section import Broken, Count, Fraction, NonNegative, Positive, Section, Seed, as_tuple, refuse, suffix_in

CENTERS = ("orthonormal", "random_sphere", "equicorrelated")
TABLE_SUFFIXES = (".csv", ".npz", ".nc")
ONE_NOISE = "give exactly one: total (covariance total^2/dimension I) or per_coordinate (per_coordinate^2 I)"
ONE_TEST_SET = "give exactly one: path, fraction or samples"
ARRAY_SUFFIXES = (".npy", *TABLE_SUFFIXES)
XOR_CLUSTERS = 4
#: The kinds of data that are drawn from a distribution.
DRAWN = ("gaussian_mixture", "xor", "sparse_coding")
DIGITS = 10
DIGIT_IMAGES = 1797

Radius = Positive | Literal["sqrt_dimension"]
Basis = Literal["random", "axes"]
OwnSeed = Annotated[
    Seed | None,
    Field(
        description="what is the same for all samples, centres and of sparse coding w*, is drawn from this integer rather "
        "than from the scenario's seed: runs of several seeds then share one distribution"
    ),
]
Supervision = Annotated[
    Literal["class", "cluster"],
    Field(description='targets: "class" is y = +1/-1, "cluster" the index of the sample\'s cluster'),
]


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


class HeldOut(Section):
    """Samples that are not trained on, from exactly one source."""

    path: Annotated[str, AfterValidator(suffix_in(TABLE_SUFFIXES))] | None = Field(
        None, description="CSV, NPZ or NetCDF file with x, y and, where known, cluster, taken as they are"
    )
    fraction: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="of a table or of digits: this part of the samples, drawn at random, is split off"
    )
    samples: Count | None = Field(
        None, description="of data that are drawn: so many samples drawn anew, labels as noisy as in training"
    )

    @model_validator(mode="after")
    def _one_source(self) -> HeldOut:
        given = [name for name, value in self if value is not None]
        if len(given) != 1:
            refuse([Broken("", ONE_TEST_SET, tuple(type(self).model_fields))])
        return self


Test = Annotated[HeldOut | None, Field(description="held-out samples, on which loss and accuracy are kept, too")]


def _broken_test(test: HeldOut | None, kind: str) -> Iterator[Broken]:
    """Laws have no samples to split off, tables and digits no law to draw from."""
    drawn = kind in DRAWN
    if test is not None and test.fraction is not None and drawn:
        only = f'only with kind = "table" or "digits"; for "{kind}" give samples, how many to draw anew'
        yield Broken("test.fraction", only, ("kind",))
    if test is not None and test.samples is not None and not drawn:
        none = f'data of kind "{kind}" come from no distribution to draw from; give fraction or path'
        yield Broken("test.samples", none, ("kind",))


class Drawn(Section):
    """Noisy samples drawn around the centres of clusters."""

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

    def _broken_draw(self, clusters: int, kind: str, counts: tuple[str, ...]) -> Iterator[Broken]:
        """counts: the keys that the number of clusters comes from."""
        yield from _broken_test(self.test, kind)
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


class GaussianMixture(Drawn):
    """Clusters around centres; the first `positive` of them carry the label +1, the others -1."""

    kind: Literal["gaussian_mixture"] = "gaussian_mixture"
    positive: int = Field(2, ge=0, description="clusters labelled +1")
    negative: int = Field(2, ge=0, description="clusters labelled -1")
    centers: Annotated[str, AfterValidator(suffix_in(ARRAY_SUFFIXES, CENTERS))] = Field(
        "orthonormal",
        description='"orthonormal", "random_sphere", "equicorrelated", or the path of an array (clusters, features)',
    )
    basis: Basis | None = Field(
        None,
        description='frame of orthonormal and equicorrelated centres: "random" (the default) or the coordinate "axes"',
    )
    cosine: float | None = Field(None, gt=-1, lt=1, description="cosine between any two equicorrelated centres")

    @property
    def clusters(self) -> int:
        return self.positive + self.negative

    @model_validator(mode="after")
    def _rules(self) -> GaussianMixture:
        refuse(self._broken())
        return self

    @property
    def file(self) -> str | None:
        """The file that centres are read from."""
        return None if self.centers in CENTERS else self.centers

    def _broken(self) -> Iterator[Broken]:
        counts = ("positive", "negative")
        if self.clusters == 0:
            yield Broken("positive", "at least one cluster is needed: positive + negative >= 1", counts)
            return
        yield from self._broken_centers()
        yield from self._broken_draw(self.clusters, self.kind, counts)

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
        if self.centers not in CENTERS and self.seed is not None:
            yield Broken("seed", "only for drawn centres; these are read from a file", ("centers",))


class Xor(Drawn):
    """Clusters around mu_1, -mu_1 (label +1), mu_2, -mu_2 (label -1), in this order, with orthogonal mu_1 and mu_2."""

    kind: Literal["xor"]
    dimension: int = Field(2, ge=2, description="number of features D")
    basis: Basis = Field("random", description='directions of mu_1 and mu_2: "random" or the first two "axes"')
    law: Literal["gaussian", "laplace", "uniform"] = Field(
        "gaussian",
        description="law of each coordinate of the noise, independent and with the variance that noise gives",
    )

    @property
    def clusters(self) -> int:
        return XOR_CLUSTERS

    @model_validator(mode="after")
    def _rules(self) -> Xor:
        refuse(self._broken_draw(self.clusters, self.kind, ()))
        return self


class SparseCoding(Section):
    """x = M z + noise with M orthogonal and z sparse; the label is the sign of <w*, z>. Centres are the columns of M times
    the signs of w*, all labelled +1, and samples belong to none."""

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
        yield from _broken_test(self.test, self.kind)
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


class Digits(Section):
    """Handwritten digits of scikit-learn, 8 x 8 pixels. A digit is a cluster; even ones are labelled +1, odd ones -1."""

    kind: Literal["digits"]
    samples: int | None = Field(
        None,
        ge=DIGITS,
        le=DIGIT_IMAGES,
        description=f"number of images, a random subset that keeps every digit's share; all {DIGIT_IMAGES} unless given",
    )
    center: bool = Field(False, description="subtract the mean of the samples")
    radius: Radius = Field("sqrt_dimension", description='mean norm of the samples, or "sqrt_dimension", which is 8')
    supervision: Supervision = "class"
    test: Test = None

    @property
    def clusters(self) -> int:
        return DIGITS

    @model_validator(mode="after")
    def _rules(self) -> Digits:
        refuse(_broken_test(self.test, self.kind))
        return self


class Table(Section):
    """Samples read from a file with arrays x, y and, where known, cluster and centers; or handed over from Python."""

    kind: Literal["table"]
    path: Annotated[str, AfterValidator(suffix_in(TABLE_SUFFIXES))] | None = Field(
        None,
        description="CSV, NPZ or NetCDF file, relative to the scenario's folder; only from Python may it be left out",
    )
    supervision: Supervision = "class"
    test: Test = None

    @property
    def file(self) -> str:
        """The path, or "" for data in memory."""
        return self.path or ""

    @property
    def clusters(self) -> int | None:
        """Known once the file is read."""
        return None

    @model_validator(mode="after")
    def _rules(self) -> Table:
        refuse(_broken_test(self.test, self.kind))
        return self


Data = Annotated[GaussianMixture | Xor | SparseCoding | Digits | Table, Field(discriminator="kind")]
