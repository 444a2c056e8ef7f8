"""[loss]: what is minimised.

One file a kind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ..registry import Registry
from ..section import NonNegative, Section

Array = Any  # NumPy or JAX: the formulas are the same, `xp` is the namespace
Formula = Callable[[Array, Array, ModuleType], Array]

#: The kinds whose files stand first where they are listed.
ORDER = ("square", "logistic", "exponential", "cross_entropy")


@dataclass(frozen=True)
class Tail:
    """How a loss l(m) of the margin m = y f falls: like e^-m times factors that tend to 1.

    The factors' logarithms, in NumPy: value, of l, for m >= 0; slope, of -l'. margin: log l -> m + log l, where m >= 0.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    margin: Callable[[Array], Array]


@dataclass(frozen=True)
class Loss:
    """value, derivative (in f) and log_value: (output, target, xp) -> array; log_value is exact where value underflows.

    relative_derivative: l'/l, exact where both underflow, of losses that fall for ever; None of others. border: of these,
    log_value of a sample that is on neither side. tail: of those of them that are functions of a margin.
    classes: whether targets are indices of classes and outputs (…, k, n) have an axis of them, which `derivative` keeps.
    vectors: whether targets (k, n) and outputs (…, k, n) have an axis over which the loss is a sum.
    kernel: its code in compiled code, None of one that has none.
    parameters: what the formulas depend on. Losses are equal, and share compiled code, when all but the formulas are.
    """

    name: str
    value: Formula = field(compare=False)
    derivative: Formula = field(compare=False)
    log_value: Formula = field(compare=False)
    relative_derivative: Formula | None = field(default=None, compare=False)
    border: float = 0.0
    tail: Tail | None = field(default=None, compare=False)
    classes: bool = False
    kernel: int | None = None
    parameters: tuple[Any, ...] = ()
    vectors: bool = False

    @property
    def several(self) -> bool:
        """Whether outputs have an axis."""
        return self.classes or self.vectors

    def of_vectors(self) -> Loss:
        """The sum of the losses of the entries of vectors."""
        return replace(
            self,
            value=lambda output, target, xp: self.value(output, target, xp).sum(axis=-2),
            log_value=lambda output, target, xp: _log_sum(self.log_value(output, target, xp), xp),
            relative_derivative=None,
            vectors=True,
        )

    @property
    def endless(self) -> bool:
        """Whether a flow can drive it to 0 for ever, without reaching it."""
        return self.relative_derivative is not None


class Regularizer(Section):
    """Added to the loss: square |w_j|^2 / 2 + cubic |w_j|^3 / 3, summed over the neurons, their biases included."""

    square: NonNegative = Field(0.0, description="weight decay: shrinks w_j at the rate square")
    cubic: NonNegative = Field(0.0, description="shrinks w_j at the rate cubic |w_j|")

    @property
    def used(self) -> bool:
        return self.square > 0 or self.cubic > 0


class LossSection(Section):
    """What every loss shares. A kind adds `kind`, its keys, and its formulas.

    of_any_target, of_margins, of_classes: whether targets may be any numbers; or are +1/-1, and it is a function of the
    margin y f that never is 0; or are indices of classes, each of which has an output.
    """

    TAG: ClassVar[str] = "kind"
    SORT: ClassVar[str] = "loss"
    of_any_target: ClassVar[bool] = False
    of_margins: ClassVar[bool] = False
    of_classes: ClassVar[bool] = False

    if TYPE_CHECKING:

        @property
        def kind(self) -> str: ...

    reduction: Literal["mean", "sum", "per_cluster"] = Field(
        "mean", description='"mean" (1/n), "sum", or "per_cluster" (1/N with N = n/K samples in each cluster)'
    )
    regularizer: Regularizer = Field(
        Regularizer(), description="of two-layer networks' neurons; what is kept as loss is without it"
    )

    @property
    @abstractmethod
    def formulas(self) -> Loss:
        """In array-namespace style, for this section's keys."""


LOSSES: Registry[type[LossSection]] = Registry("loss", __name__, ("loss.kind",), ORDER)


def _log_sum(logs: Array, xp: ModuleType) -> Array:
    """log of the sum of e^logs (…, k, n) over k, also where all are -inf"""
    top = logs.max(axis=-2)
    shift = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.exp(logs - shift[..., None, :]).sum(axis=-2)
    return xp.where(total > 0, shift + xp.log(xp.where(total > 0, total, 1.0)), -xp.inf)
