"""[init]: where the flow starts. w_j(0) = scale * shape_j, or weights of one's own.

One file a kind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..drawing import Drawing
from ..registry import Registry
from ..samples import Samples
from ..section import Broken, Positive, Section, refuse

#: The kinds whose files stand first where they are listed.
ORDER = ("gaussian", "sphere", "orthonormal", "nudged", "given")


class InitSection(Section):
    """What a start says of itself. A kind adds `shape`, its keys, and what it draws.

    drawn: whether it is a Shape. takes_arrays: whether weights may be handed over from Python, or come from `file`.
    around_centers: whether it draws around the clusters' centres. of_products: whether it is for products of matrices only.
    isotropic: whether it is Isotropic.
    """

    TAG: ClassVar[str] = "shape"
    SORT: ClassVar[str] = "init"
    drawn: ClassVar[bool] = False
    takes_arrays: ClassVar[bool] = False
    around_centers: ClassVar[bool] = False
    of_products: ClassVar[bool] = False
    isotropic: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def shape(self) -> str: ...

    @property
    def file(self) -> str | None:
        """The file that weights are read from, "" for those in memory; None where none are."""
        return None


class Shape(InitSection):
    """A start that is drawn: rows of a shape, times scale."""

    drawn: ClassVar[bool] = True

    scale: Positive = Field(1e-3, description="any positive number, 1e-300 included")
    balanced: bool = Field(True, description="|v_j(0)| = |w_j(0)|; false draws v_j(0) = scale * N(0, 1) independently")
    ratio: Positive | None = Field(
        None,
        description="|v_j(0)|/|w_j(0)|, with balanced = false, which then draws no sizes; at least 1 is a dominated start",
    )
    signs: Literal["random", "half", "positive", "antisymmetric"] | None = Field(
        None,
        description='sign of v_j: "random", "half" (of each output\'s neurons the first half +, the second -), "positive", '
        'or "antisymmetric" (the second half copies the first, with the other sign, so that f is 0); by default "random", '
        'and "positive" where every cluster has an output of its own',
    )

    @model_validator(mode="after")
    def _rules(self) -> Shape:
        if self.ratio is not None and self.balanced:
            refuse([Broken("ratio", "only with balanced = false", ("balanced",))])
        return self

    @property
    def by_sign(self) -> bool:
        """Whether a neuron's shape depends on its sign."""
        return False

    @abstractmethod
    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """(neurons, entries): a layer's weights, but for the scale."""

    def moved(self, rows: Floats, sign: Floats, samples: Samples, scenario: Drawing) -> Floats:
        """The rows of the first layer as the data ask for. sign (m,): of the neurons' output weights."""
        return rows

    def product(self, matrices: Sequence[Floats], samples: Samples) -> Sequence[Floats]:
        """The matrices of a product as the data ask for, that nearest to x first."""
        return matrices


class Isotropic(Shape):
    """A shape whose rows come from independent normal entries and are as likely in any orthonormal basis, so that they can
    be drawn by their coordinates in one."""

    isotropic: ClassVar[bool] = True

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return self.of_normal(generator.standard_normal(shape), shape[1])

    @abstractmethod
    def of_normal(self, rows: Floats, entries: int) -> Floats:
        """The shape's rows from normal ones, which have so many entries, or coordinates of as many."""


INITS: Registry[type[InitSection]] = Registry("init", __name__, ("init.shape",), ORDER)
