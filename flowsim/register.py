"""Registers kinds from outside of flowsim: in a notebook, a plugin's file, or an installed package.

>>> @flowsim.register.observable("participation", dims=("neuron",), long_name="participation ratio of the weights")
... def participation(instant):
...     square = instant.direction**2
...     return square.sum(axis=-1) ** 2 / (square**2).sum(axis=-1)

A scenario then names the kind as it names flowsim's own: ``observe.variables = ["participation"]``. Data, networks,
activations, losses and starts may also be written as flowsim's own are, as sections: such a class, of
`flowsim.kinds.losses.LossSection` for example, is registered as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from keyword import iskeyword
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from .errors import UsageError
from .kinds.origin import of_running_code, registered_by, registering
from .kinds.plugins import answering

if TYPE_CHECKING:
    from .evaluate.claim import Constant, Premise, Rate, Window
    from .evaluate.evidence import Evidence
    from .problem import Problem

F = TypeVar("F", bound=Callable[..., Any])
N = TypeVar("N", bound=Callable[..., Any])


def observable(
    name: str,
    dims: Iterable[str] = (),
    *,
    long_name: str = "",
    units: str = "1",
    needs: str = "",
    applies: Callable[[Problem], bool] | None = None,
) -> Callable[[F], F]:
    """Register a function of one :class:`flowsim.observe.Instant` that gives a number, or an array along dims.

    dims: of "neuron", "cluster", "sample", "output", "leaf", "matrix", "rank" and "probe". long_name: what plots call it;
    by default the name in words. applies: whether a problem has it, by default each that has the dims; needs says in words
    what that asks for.
    The variable is kept where `observe.variables` names it.
    """
    from .observe.observable import OBSERVABLES, observed_by

    def register(function: F) -> F:
        value = answering(function, f'observable "{name}"')
        kind = observed_by(value, name, tuple(dims), long_name or name.replace("_", " "), units, needs, applies)
        with _by(function):
            OBSERVABLES.register(name, kind)
        return function

    return register


def claim(
    name: str,
    *,
    where: str,
    statement: str,
    bound: float | Callable[[Evidence], float],
    at_least: bool = False,
    observables: Iterable[str] = (),
    measures: str = "",
    premises: Callable[[Evidence], Iterable[Premise]] | None = None,
    constants: Iterable[Constant] = (),
    span: Callable[[Evidence], Window] | None = None,
    trivial: float | Callable[[Evidence], float] | None = None,
    rates: Iterable[Rate] = (),
) -> Callable[[F], F]:
    """Register a function of a :class:`flowsim.evaluate.evidence.Evidence` that measures what a statement bounds.

    name: "paper.theorem" or "paper.theorem.part". The others are as in :class:`flowsim.evaluate.claim.Claim`; where, the
    place in the paper, statement, as printed, and bound are enough.
    The function raises flowsim.NotApplicable where the run has nothing to say, and flowsim.NotCovered where it did not
    reach or keep what the statement speaks of.
    """
    from .evaluate.claim import CLAIMS, Claim, no_premises
    from .evaluate.evidence import NotApplicable

    if "." not in name or not all(part.replace("-", "_").isidentifier() for part in name.split(".")):
        raise UsageError(f'the claim "{name}" needs a name such as "paper.theorem"')

    def register(function: F) -> F:
        def own(value: Any) -> Any:
            return answering(value, f'claim "{name}"', NotApplicable) if callable(value) else value

        kind = Claim(
            where,
            statement,
            own(function),
            own(bound),
            at_least,
            tuple(observables),
            measures,
            own(_listing(premises)) if premises is not None else no_premises,
            tuple(constants),
            own(span),
            own(trivial),
            tuple(rates),
        )
        with _by(function):
            CLAIMS.register(name, kind)
        return function

    return register


def _listing(premises: Callable[[Evidence], Iterable[Premise]]) -> Callable[[Evidence], tuple[Premise, ...]]:
    """The same, run to its end where it is called, so that what it raises is raised there."""

    @wraps(premises)
    def listed(evidence: Evidence) -> tuple[Premise, ...]:
        return tuple(premises(evidence))

    return listed


def stop(name: str, *, description: str, falls: bool = False) -> Callable[[F], F]:
    """Register a function of one :class:`flowsim.observe.Instant` that gives a number, as a key of `until`.

    The first kept instant at which the number reaches that of the key ends the run; falls: by falling to it, rather than by
    growing to it.
    """
    from pydantic import Field

    from .kinds.stop import STOPS, Stop

    if not name.isidentifier() or iskeyword(name):
        raise UsageError(f'the stop condition "{name}" needs a name of letters, digits and "_"')

    def register(function: F) -> F:
        value = answering(function, f'stop condition "{name}"')
        number = Annotated[float, Field(allow_inf_nan=False)]
        kind = Stop(number, description, value=lambda instant: instant.singly(value), falls=falls)
        with _by(function):
            STOPS.register(name, kind)
        return function

    return register


def activation(
    name: str, *, homogeneity: float | None = None, smooth: bool = True, lipschitz: float | None = None
) -> Callable[[F], F]:
    """Register an activation h = f(<w, x>): a function ``(z, xp, *, keys)`` -> f(z) and its derivative.

    xp: NumPy or JAX's NumPy, which z is an array of. The derivative may be left out; JAX then takes it. Keyword-only
    arguments are keys of [model], checked by their annotations.
    homogeneity: q of f(c z) = c^q f(z) for c > 0, if there is one. smooth: whether the derivative has no jumps.
    lipschitz: the largest |f'|, if it is known.
    """
    from .kinds.activations import ACTIVATIONS
    from .kinds.from_python import activation_of

    def register(function: F) -> F:
        kind = activation_of(name, function, homogeneity=homogeneity, smooth=smooth, lipschitz=lipschitz)
        with _by(function):
            ACTIVATIONS.register(name, kind)
        return function

    return register


def loss(
    name: str,
    *,
    labels: bool = False,
    derivative: Callable[..., Any] | None = None,
    log_value: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Register a function ``(output, target, xp, *, keys)`` -> the loss of each sample.

    xp and keys are as for :func:`activation`, the keys those of [loss]. labels: whether targets have to be +1/-1.
    derivative, in the output, and log_value: functions of the same arguments; by default JAX takes the derivative, and
    the logarithm is that of the value.
    """
    from .kinds.from_python import loss_of
    from .kinds.losses import LOSSES

    def register(function: F) -> F:
        kind = loss_of(name, function, labels=labels, derivative=derivative, log_value=log_value)
        with _by(function):
            LOSSES.register(name, kind)
        return function

    return register


def data(name: str) -> Callable[[F], F]:
    """Register a function ``(rng, *, keys)`` -> :class:`flowsim.Data`.

    rng: a generator of NumPy's, from the scenario's seed. Keyword-only arguments are keys of [data], checked by their
    annotations. A function ``(rng, law, *, samples, keys)`` draws from the generator `law` what all samples share,
    such as a teacher: test data and new batches can then be drawn, too.
    """
    from .kinds.data import DATA
    from .kinds.from_python import data_of

    def register(function: F) -> F:
        kind = data_of(name, function)
        with _by(function):
            DATA.register(name, kind)
        return function

    return register


def init(name: str) -> Callable[[F], F]:
    """Register a function ``(rng, shape, *, keys)`` -> an array (neurons, entries), which init.scale multiplies.

    Keyword-only arguments are keys of [init], checked by their annotations.
    """
    from .kinds.from_python import init_of
    from .kinds.inits import INITS

    def register(function: F) -> F:
        kind = init_of(name, function)
        with _by(function):
            INITS.register(name, kind)
        return function

    return register


def network(
    name: str,
    *,
    start: Callable[..., Any] | None = None,
    degree: float | None = None,
    units: str | Mapping[str, str] = "rows",
) -> Callable[[N], N]:
    """Register a class as a network of [model]; its annotated attributes are keys, checked by their annotations.

    apply(self, params, x): outputs (n,), or (n, k), for x (n, d), in JAX. shapes(self, features, outputs): name -> shape of
    each trained array, which [init] draws; or start(self, rng, features, outputs): the tree of arrays, which init.scale
    multiplies. degree: L of f(c params) = c^L f(params), of a homogeneous network; units: as in :func:`flowsim.flow`;
    neurons: the name of an array (m, d) whose rows are neurons, where apply uses x in products with these alone.
    With start, a function ``(rng, features, outputs, *, keys)``, it is a function ``(params, x, *, keys)`` that is
    registered, and degree and units are said here. params may be any tree of arrays, such as a module of Equinox.
    """
    from .kinds.from_python import network_of
    from .kinds.networks import NETWORKS

    def register(source: N) -> N:
        kind = network_of(name, source, start, degree, units)
        with _by(source):
            NETWORKS.register(name, kind)
        return source

    return register


def _by(kind: Any) -> AbstractContextManager[None]:
    """What registers it: the plugin that is being loaded, else the code that runs."""
    return nullcontext() if registering() is not None else registered_by(of_running_code(kind))
