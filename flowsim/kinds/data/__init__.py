"""[data]: what the network is trained on.

One file a kind. What data say of themselves is asked for everywhere else, never their kind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from ...errors import UsageError
from ..drawing import Drawing
from ..files import TABLE_SUFFIXES
from ..registry import Registry
from ..samples import Samples, Supervision
from ..section import Broken, Count, Section, refuse, suffix_in

#: The kinds whose files stand first where they are listed.
ORDER = ("gaussian_mixture", "xor", "sparse_coding", "digits", "table")
ONE_TEST_SET = "give exactly one: path, fraction, samples or standard"


class HeldOut(Section):
    """Samples that are not trained on, from exactly one source."""

    path: Annotated[str, AfterValidator(suffix_in(TABLE_SUFFIXES))] | None = Field(
        None,
        description="CSV, NPZ or NetCDF file, x.npy with others beside it, or Zarr store, with x, y and, where known, "
        "cluster, taken as they are",
    )
    fraction: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="of samples that are there, and not drawn: this part of them, chosen at random, is split off"
    )
    samples: Count | None = Field(
        None,
        description="of data that are drawn: so many samples drawn anew, labels as noisy as in training; of images with a "
        "test set of their own: so many of that",
    )
    standard: Literal[True] | None = Field(None, description="of images with a test set of their own: all of it")

    @model_validator(mode="after")
    def _one_source(self) -> HeldOut:
        given = [name for name, value in self if value is not None]
        if len(given) != 1:
            refuse([Broken("", ONE_TEST_SET, tuple(type(self).model_fields))])
        return self


Test = Annotated[HeldOut | None, Field(description="held-out samples, on which loss and accuracy are kept, too")]


class DataSection(Section):
    """What data say of themselves. A kind adds `kind`, its keys, and how its samples come about.

    drawn: whether they come from a distribution, of which `fresh` draws more. takes_arrays: whether `x` and `y` may be
    handed over from Python. counted: whether each sample is of one of the clusters, which are as large. alike: whether all
    seeds have the same samples. own_test: whether a test set may belong to them, to be taken with `draw`. of_images:
    whether features are pixels.
    """

    TAG: ClassVar[str] = "kind"
    SORT: ClassVar[str] = "data"
    drawn: ClassVar[bool] = False
    takes_arrays: ClassVar[bool] = False
    counted: ClassVar[bool] = True
    alike: ClassVar[bool] = False
    own_test: ClassVar[bool] = False
    of_images: ClassVar[bool] = False

    if TYPE_CHECKING:
        # keys of a kind, or else constants of it

        @property
        def kind(self) -> str: ...
        @property
        def supervision(self) -> Supervision: ...
        @property
        def test(self) -> HeldOut | None: ...

    @property
    def clusters(self) -> int | None:
        """How many there are; None where that is known only once a file is read, or where there are none."""
        return None

    @property
    def augmented(self) -> bool:
        """Whether samples change at random before a gradient sees them."""
        return False

    @property
    def real_targets(self) -> bool:
        """Whether targets are known not to be labels +1/-1, before anything is drawn or read."""
        return False

    @property
    def target_entries(self) -> int:
        """How many numbers a target has, as far as that is known before anything is drawn or read."""
        return 1

    @property
    def file(self) -> str | None:
        """The file that data are read from, "" for data in memory; None where none are."""
        return None

    @property
    def file_key(self) -> str:
        """The key that names `file`."""
        return "path"

    def noise_deviation(self) -> float:
        """Standard deviation of the Gaussian noise around the centres, in each coordinate. Raises ValueError with what is
        wrong where there is none."""
        raise ValueError(f'needs data drawn around centres, not data.kind = "{self.kind}"')

    @property
    def spanned(self) -> bool:
        """Whether samples are given by coordinates in a basis of what they and the initial weights span, in which no
        coordinate is a feature."""
        return False

    def span_features(self, neurons: int) -> int | None:
        """How many numbers a sample would have then, beside so many neurons; None of kinds without such coordinates."""
        return None

    def stored_features(self, neurons: int) -> int | None:
        """How many numbers a sample has in memory, beside so many neurons; None where that is not known beforehand."""
        return self.span_features(neurons) if self.spanned else getattr(self, "dimension", None)

    def entries(self, neurons: int) -> Mapping[str, int]:
        """Key -> how many numbers what it asks for takes beside so many neurons, to be refused where they would not fit
        into memory; of data that are drawn."""
        return {}

    @abstractmethod
    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """The training set. sibling: that of the same scenario with another seed, from which to take what does not depend
        on the seed: members of an ensemble read a file once. Raises ScenarioError where that cannot be done."""

    def fresh(self, scenario: Drawing, samples: Samples, count: int, seed: int) -> Samples:
        """So many more, drawn from this seed as `samples` were, around the same centres; of data that are drawn."""
        raise UsageError(f'data of kind "{self.kind}" come from no distribution to draw from')


DATA: Registry[type[DataSection]] = Registry("data", __name__, ("data.kind",), ORDER)


def broken_test(data: DataSection) -> Iterator[Broken]:
    """Laws have no samples to split off, tables and digits no law to draw from, and only images a test set of their own."""
    test, kind = data.test, data.kind
    if test is not None and test.fraction is not None and data.drawn:
        others = " or ".join(f'"{name}"' for name in sorted(DATA) if not DATA[name].drawn)
        only = f'only with kind = {others}; for "{kind}" give samples, how many to draw anew'
        yield Broken("test.fraction", only, ("kind",))
    if test is not None and test.samples is not None and not data.drawn and not data.own_test:
        none = f'data of kind "{kind}" come from no distribution to draw from; give fraction or path'
        yield Broken("test.samples", none, ("kind",))
    if test is not None and test.standard is not None and not data.own_test:
        others = " or ".join(f'"{name}"' for name in sorted(DATA) if DATA[name].own_test)
        yield Broken("test.standard", f"only with kind = {others}, which may come with a test set", ("kind",))
