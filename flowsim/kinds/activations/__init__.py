"""Activations of neurons: one file each. What the flow needs to know of a neuron's response h(w, x)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, create_model

from ..registry import Registry
from ..section import Section

#: The kinds whose files stand first where they are listed.
ORDER = ("prelu", "relu", "leaky_relu", "relu_power", "tanh")

Degree = Annotated[float, Field(ge=1, allow_inf_nan=False)]
S = TypeVar("S", bound=Section)
Array = Any  # NumPy or JAX: the formulas are the same, `xp` is the namespace


@dataclass(frozen=True)
class Activation:
    """h(w, x) written for a direction u = w/|w| and s = <u, x>:  h = |w|^homogeneity k(s, log|w|).

    response: (s, log_norm, xp) -> (k, dk/ds); log_norm broadcasts against s.
    homogeneity: the power of |w| in h as w is scaled with its direction held (1 for tanh, whose k then depends on |w|).
    degree: p with k' s = p k, where k is a power; None where h is a function of <w, x> alone and k is not a power.
    smooth: whether the field has no jumps. inactive_slope: dk/ds for s < 0.
    lipschitz: the largest |k'| at |w| = 1; None where it is not known, and no radius can then be certified by it.
    bend: of k = f(|w| s)/|w| with f odd, convex below 0 and concave above, the largest -f'' on intervals from low to high,
    at least 0.
    kernel: its code in compiled code, None of one that has none. parameters: what the response depends on beside these.
    Two activations are equal, and share compiled code, when all fields but `response` are: every parameter of the
    response must show in one of them. schedule: of one that changes with time, from a time to itself at that time; its own
    response is that of time 0.
    """

    name: str
    response: Callable[[Array, Array, ModuleType], tuple[Array, Array]] = field(compare=False)
    homogeneity: float
    degree: float | None
    smooth: bool
    inactive_slope: float = 0.0
    lipschitz: float | None = None
    bend: Callable[[Array, Array], Array] | None = field(default=None, compare=False)
    kernel: int | None = None
    parameters: tuple[Any, ...] = ()
    schedule: Callable[[Array], Activation] | None = field(default=None, compare=False)

    def at(self, time: Array) -> Activation:
        """The activation at a time; at many (T,), its response takes arrays (T, m, n)."""
        return self if self.schedule is None else self.schedule(time)


#: Of networks that have no neurons.
NONE = Activation("none", lambda s, log_norm, xp: (s, xp.ones_like(s)), homogeneity=1, degree=None, smooth=True)


class ActivationSection(Section):
    """The keys of an activation, which stand in [model]. A kind adds `activation`, its keys, and its formulas.

    pointwise: whether it has no keys and is a function of <w, x> alone, which hidden layers of any network can have.
    """

    pointwise: ClassVar[bool] = False

    @property
    @abstractmethod
    def formulas(self) -> Activation:
        """In array-namespace style, for this section's keys."""


ACTIVATIONS: Registry[type[ActivationSection]] = Registry("activation", __name__, ("model.activation",), ORDER)


def pointwise(name: str) -> Activation:
    """The formulas of an activation that hidden layers of any network can have."""
    return ACTIVATIONS[name].model_validate({"activation": name}).formulas


def with_pointwise(section: type[S]) -> type[S]:
    """A network's section whose key `activation` names one of these activations."""
    return _among(section, tuple(name for name, kind in ACTIVATIONS.items() if kind.pointwise))


@cache
def _among(section: type[S], words: tuple[str, ...]) -> type[S]:
    field: Any = (Literal[words], section.model_fields["activation"])
    return create_model(
        section.__name__, __base__=section, __doc__=section.__doc__, __module__=section.__module__, activation=field
    )


def positive_power(s: Array, degree: float, xp: ModuleType) -> tuple[Array, Array]:
    """max(s, 0)^degree and its derivative, which is 0 at s = 0."""
    positive = xp.maximum(s, 0.0)
    if degree == 1:
        return positive, xp.where(s > 0, 1.0, 0.0)
    slope = degree * whole_power(positive, degree - 1, xp)
    return slope * positive / degree, slope


def whole_power(base: Array, exponent: float, xp: ModuleType) -> Array:
    """base^exponent for base >= 0, by multiplication where the exponent is a small whole number."""
    if exponent == int(exponent) and 1 <= exponent <= 8:
        product = base
        for _ in range(int(exponent) - 1):
            product = product * base
        return product
    # where JAX differentiates, 0 has a slope: that of 1 times 0
    return xp.where(base > 0, xp.power(xp.where(base > 0, base, 1.0), exponent), 0.0)
