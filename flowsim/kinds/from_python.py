"""Kinds made of functions and classes, whose annotated arguments and attributes become keys of a scenario.

What already is a section, as flowsim's own kinds are, is taken as it is.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import Field, create_model, model_validator
from pydantic.errors import PydanticUserError

from ..arrays import Floats
from ..errors import UsageError
from .activations import Activation, ActivationSection
from .activations import Array as Values
from .data import DataSection, Test, broken_test
from .drawing import Drawing
from .in_memory import Data
from .inits import InitSection, Shape
from .losses import Loss, LossSection
from .networks import NETWORKS, NetworkSection
from .ordinary import NeuronsSection, OrdinarySection, Streams, TreeSection
from .plugins import answering
from .samples import Samples, Supervision
from .section import Section, as_tuple, refuse
from .split import split
from .streams import stream
from .tables import held_out_of_arrays, labels_only, of_arrays, problems, rows_of, vectors_too

S = TypeVar("S", bound=Section)

#: Neurons of functions of <w, x> are taken to be linear in their norm below exp(this): far below what rounding sees.
LINEAR_BELOW = -300.0
#: Attributes of a network's class that are no keys.
OF_CLASS = ("degree", "units", "neurons")


@dataclass(frozen=True)
class Made:
    """name: of the kind. source: the function or class. call: the same, its exceptions naming the plugin's line. keys: what
    it takes from a scenario. options: what was said where it was registered."""

    name: str
    source: Any
    call: Callable[..., Any]
    keys: tuple[str, ...]
    options: Mapping[str, Any]

    def given(self, section: Section) -> dict[str, Any]:
        """What a section says for the keys."""
        return {key: getattr(section, key) for key in self.keys}

    def bound(self, section: Section) -> Callable[..., Any]:
        """The function, with these."""
        return partial(self.call, **self.given(section))

    def told(self, section: Section) -> tuple[Any, ...]:
        """By what two formulas of such functions are told apart."""
        return (self.source, *self.given(section).items())


def activation_of(name: str, function: Callable[..., Any], **options: Any) -> type[ActivationSection]:
    """function: (z, xp, *, keys) -> (value, derivative) of h = f(<w, x>) at z, or the value alone."""
    if (own := _own_section(name, function, ActivationSection, "activation")) is not None:
        return own
    made = _made("activation", name, function, 2, options)
    section = _section(MadeActivation, "activation", made, _of_networks())
    section.pointwise = not made.keys
    return section


def _of_networks() -> set[str]:
    """The keys that networks of two layers have beside those of their activations."""
    return {key for kind in NETWORKS.values() if kind.own_outputs for key in kind.model_fields}


class MadeActivation(ActivationSection):
    """A function of <w, x>."""

    made: ClassVar[Made]

    @property
    def formulas(self) -> Activation:
        options, function = self.made.options, self.made.bound(self)
        power = options["homogeneity"]
        if power is not None:
            return self._activation(lambda s, log_norm, xp: _with_slope(function, s, xp), power)
        through_zero = not np.any(_with_slope(function, np.zeros(1), np)[0])

        def response(s: Values, log_norm: Values, xp: ModuleType) -> tuple[Values, Values]:
            norm = xp.exp(xp.maximum(log_norm, LINEAR_BELOW))
            value, slope = _with_slope(function, norm * s, xp)
            return (value / norm, slope) if through_zero else (value, norm * slope)

        return self._activation(response, 1.0 if through_zero else 0.0)

    def _activation(self, response: Callable[..., Any], power: float) -> Activation:
        options = self.made.options
        return Activation(
            self.made.name,
            response,
            homogeneity=power,
            degree=None,
            smooth=options["smooth"],
            lipschitz=options["lipschitz"],
            parameters=self.made.told(self),
        )


def loss_of(name: str, function: Callable[..., Any], **options: Any) -> type[LossSection]:
    """function: (output, target, xp, *, keys) -> the loss of each sample."""
    if (own := _own_section(name, function, LossSection, "kind")) is not None:
        return own
    told = {key: answering(one, f'loss "{name}"') if callable(one) else one for key, one in options.items()}
    section = _section(MadeLoss, "kind", _made("loss", name, function, 3, told), set(LossSection.model_fields))
    section.of_any_target = not options["labels"]
    return section


class MadeLoss(LossSection):
    """A function of output and target."""

    made: ClassVar[Made]

    @property
    def formulas(self) -> Loss:
        value, options, keys = self.made.bound(self), self.made.options, self.made.given(self)

        def derivative(output: Values, target: Values, xp: ModuleType) -> Values:
            if options["derivative"] is not None:
                return options["derivative"](output, target, xp, **keys)
            return _slope(lambda at, xp: value(at, target, xp), output, xp)

        def log_value(output: Values, target: Values, xp: ModuleType) -> Values:
            if options["log_value"] is not None:
                return options["log_value"](output, target, xp, **keys)
            found = value(output, target, xp)
            return xp.where(found > 0, xp.log(xp.where(found > 0, found, 1.0)), -xp.inf)

        return Loss(self.made.name, value, derivative, log_value, parameters=self.made.told(self))


def init_of(name: str, function: Callable[..., Any]) -> type[InitSection]:
    """function: (rng, shape, *, keys) -> an array of this shape, (neurons, entries)."""
    if (own := _own_section(name, function, InitSection, "shape")) is not None:
        return own
    return _section(MadeShape, "shape", _made("init", name, function, 2, {}), {*Shape.model_fields, "shape"})


class MadeShape(Shape):
    """A shape that a function draws."""

    made: ClassVar[Made]

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        rows = np.array(self.made.bound(self)(generator, shape), dtype=float)
        if rows.shape != shape or not np.isfinite(rows).all() or not rows.any(axis=1).all():
            found = (
                f"an array of shape {rows.shape}" if rows.shape != shape else "a row of 0, or one that is not finite"
            )
            raise UsageError(f'init "{self.made.name}": gives {found}; expected {shape}, with rows that are not 0')
        return rows


def data_of(name: str, function: Callable[..., Any]) -> type[DataSection]:
    """function: (rng, *, keys) -> flowsim.Data; or (rng, law, *, samples, keys), where law is a generator from which all is
    drawn that is the same for all samples: more of them can then be drawn."""
    if (own := _own_section(name, function, DataSection, "kind")) is not None:
        return own
    count = len(_positional(function))
    made = _made("data", name, function, count if count in (1, 2) else 1, {})
    section = _section(MadeData, "kind", made, set(MadeData.model_fields))
    section.drawn = count == 2 and "samples" in made.keys
    return section


class MadeData(DataSection):
    """Data that a function draws."""

    made: ClassVar[Made]
    counted: ClassVar[bool] = False

    supervision: Supervision = "class"
    test: Test = None

    @model_validator(mode="after")
    def _made_rules(self) -> MadeData:
        refuse(broken_test(self))
        return self

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        arrays = self._arrays(scenario, scenario.single_seed, {})
        wrong = list(problems(arrays, labels_only(scenario, self.supervision), vectors_too(scenario)))
        if self.supervision == "cluster" and "cluster" not in arrays:
            wrong.append('gives no clusters, which supervision = "cluster" needs')
        if wrong:
            raise scenario.error(*(("data.kind", text) for text in wrong))
        rows, held_out = split(self.test, scenario, len(arrays["x"]))
        samples = of_arrays(rows_of(arrays, rows), self.supervision)
        if not len(held_out):
            return samples
        test = held_out_of_arrays(rows_of(arrays, held_out), samples, self.supervision)
        return Samples(**{**vars(samples), "test": test})

    def fresh(self, scenario: Drawing, samples: Samples, count: int, seed: int) -> Samples:
        arrays = self._arrays(scenario, seed, {"samples": count})
        return held_out_of_arrays(arrays, samples, self.supervision)

    def _arrays(self, scenario: Drawing, seed: int, other: Mapping[str, Any]) -> dict[str, Floats]:
        law = [stream(scenario.distribution_seed, "data.law")] if len(_positional(self.made.source)) == 2 else []
        found = self.made.call(stream(seed, "data"), *law, **{**self.made.given(self), **other})
        if not isinstance(found, Data):
            raise UsageError(f'data "{self.made.name}": gives a {type(found).__name__}; expected a flowsim.Data')
        return found.arrays()


def network_of(
    name: str,
    source: Any,
    start: Callable[..., Any] | None = None,
    degree: float | None = None,
    units: str | Mapping[str, str] = "rows",
) -> type[NetworkSection]:
    """source: a class whose annotated attributes are keys, with apply(self, params, x) and either shapes(self, features,
    outputs) or start(self, rng, features, outputs), and with degree, units and neurons; or a function (params, x, *, keys),
    beside which start is a function (rng, features, outputs, *, keys)."""
    what = f'network "{name}"'
    if (own := _own_section(name, source, NetworkSection, "kind")) is not None:
        return own
    if start is not None:
        source = _class_of(what, source, start, degree, units)
    if not isinstance(source, type) or not hasattr(source, "apply"):
        raise UsageError(f"{what}: needs a class with a method apply(self, params, x)")
    if not (hasattr(source, "shapes") or hasattr(source, "start")):
        raise UsageError(
            f"{what}: needs a method shapes(self, features, outputs) or start(self, rng, features, outputs)"
        )
    hints = get_type_hints(source, include_extras=True)
    keys = {
        key: (_frozen(hint), getattr(source, key, ...))
        for key, hint in hints.items()
        if key not in OF_CLASS and get_origin(hint) is not ClassVar
    }
    made = Made(name, source, source, tuple(keys), {})
    neurons = getattr(source, "neurons", None)
    if neurons is not None and not hasattr(source, "shapes"):
        raise UsageError(f"{what}: neurons = {neurons!r} goes with a method shapes, which says how many there are")
    base = MadeNetwork if neurons is None else MadeNeurons
    section = _create(base, "kind", made, keys, set(TreeSection.model_fields))
    section.UNITS, section.NEURONS = getattr(source, "units", "rows"), neurons
    return section


def _class_of(
    what: str, function: Callable[..., Any], start: Callable[..., Any], degree: float | None, units: Any
) -> type:
    """The class that a function and its start make."""
    if isinstance(function, type) or len(_positional(function)) != 2:
        raise UsageError(f"{what}: start= goes with a function (params, x, *, keys); a class has a method start")
    arguments = inspect.signature(function).parameters
    keys = [key for key, one in arguments.items() if one.kind is one.KEYWORD_ONLY]
    wanted = set(inspect.signature(start).parameters)
    hints = get_type_hints(function, include_extras=True)
    apply, begin = answering(function, what), answering(start, what)

    def given(instance: Any, among: Collection[str]) -> dict[str, Any]:
        return {key: getattr(instance, key) for key in keys if key in among}

    members = {
        "__doc__": function.__doc__,
        "__annotations__": {key: hints[key] for key in keys if key in hints},
        "apply": lambda self, params, x: apply(params, x, **given(self, keys)),
        "start": lambda self, rng, features, outputs: begin(rng, features, outputs, **given(self, wanted)),
        "degree": degree,
        "units": units,
        **{key: arguments[key].default for key in keys if arguments[key].default is not inspect.Parameter.empty},
    }
    missing = [key for key in keys if key not in hints]
    if missing:
        raise UsageError(f"{what}: the argument {missing[0]} has no annotation, by which its values are checked")
    return type(function.__name__, (), members)


class OfClass(TreeSection):
    """A network of a class."""

    made: ClassVar[Made]

    @property
    def output_degree(self) -> float | None:
        degree = getattr(self._instance(), "degree", None)
        return None if degree is None else float(degree)

    def apply(self, params: Any, x: Any) -> Any:
        return self._method("apply")(params, x)

    def signals(self, params: Any, x: Any) -> Mapping[str, Any]:
        if not hasattr(self.made.source, "signals"):
            return super().signals(params, x)
        signals: Mapping[str, Any] = self._method("signals")(params, x)
        return signals

    def shapes(self, features: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
        shapes: Mapping[str, tuple[int, ...]] = self._method("shapes")(features, outputs)
        return shapes

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Any:
        if not hasattr(self.made.source, "start"):
            return super().start(init, streams, features, outputs)
        return self._method("start")(streams("initialisation"), features, outputs)

    def _method(self, name: str) -> Callable[..., Any]:
        method = getattr(self.made.source, name)
        return partial(answering(method, f'network "{self.made.name}"'), self._instance())

    def _instance(self) -> Any:
        """Of the class, with the section's keys as its attributes."""
        source, keys = self.made.source, self.made.given(self)
        if source.__init__ is not object.__init__:
            return source(**keys)
        instance = object.__new__(source)
        vars(instance).update(keys)
        return instance


class MadeNetwork(OfClass, OrdinarySection):
    """One without neurons."""


class MadeNeurons(OfClass, NeuronsSection):
    """One that sees inputs by the products with its neurons alone."""

    reducible: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = False
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "trained"

    @property
    def neurons(self) -> int:
        return self.shapes(1, 1)[self.NEURONS][0]


def _own_section(name: str, source: Any, base: type[S], tag: str) -> type[S] | None:
    """The source where it is a section itself, as flowsim's own kinds are; None where it is a function or another class."""
    if not (isinstance(source, type) and issubclass(source, base)):
        return None
    word = source.model_fields.get(tag)
    if word is None or get_args(word.annotation) != (name,):
        raise UsageError(f'{name}: the section {source.__name__} needs a key {tag}: Literal["{name}"]')
    return source


def _made(sort: str, name: str, function: Callable[..., Any], positional: int, options: Mapping[str, Any]) -> Made:
    what = f'{sort} "{name}"'
    found = _positional(function)
    if len(found) != positional:
        told = ", ".join(found) or "none"
        raise UsageError(
            f"{what}: needs {positional} arguments before the keyword-only ones, which are keys; has {told}"
        )
    keys = [key for key, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]
    return Made(name, function, answering(function, what), tuple(keys), options)


def _positional(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind in kinds]


def _section(base: type[S], tag: str, made: Made, taken: Collection[str]) -> type[S]:
    """The section whose keys are the keyword-only arguments."""
    hints = get_type_hints(made.source, include_extras=True)
    arguments = inspect.signature(made.source).parameters
    for key in made.keys:
        if key not in hints:
            raise UsageError(f"{made.name}: the argument {key} has no annotation, by which its values are checked")
    given = {key: arguments[key].default for key in made.keys}
    empty = inspect.Parameter.empty
    keys = {key: (_frozen(hints[key]), ... if value is empty else value) for key, value in given.items()}
    return _create(base, tag, made, keys, taken)


def _create(
    base: type[S], tag: str, made: Made, keys: Mapping[str, tuple[Any, Any]], taken: Collection[str]
) -> type[S]:
    """taken: keys that the section has anyway."""
    clash = sorted({*taken, tag} & set(keys))
    if clash:
        raise UsageError(f"{made.name}: {', '.join(clash)}: the section has such a key already; choose another name")
    title = "".join(part.capitalize() for part in made.name.replace("-", "_").split("_"))
    fields: dict[str, Any] = {tag: (Literal[made.name], Field()), **keys}
    try:
        section = create_model(title, __base__=base, __doc__=inspect.getdoc(made.source) or "", **fields)
    except (PydanticUserError, NameError) as error:
        raise UsageError(f"{made.name}: its keys cannot be checked by their annotations: {error}") from None
    section.made = made  # type: ignore[attr-defined]
    return section


def _frozen(hint: Any) -> Any:
    """The annotation of a key; where it is a tuple, of one that TOML writes as an array."""
    if get_origin(hint) is tuple:
        return Annotated[hint, as_tuple]
    if isinstance(hint, types.UnionType):
        return _frozen(get_args(hint)[0]) | None if type(None) in get_args(hint) and len(get_args(hint)) == 2 else hint
    return hint


def _with_slope(function: Callable[..., Any], at: Values, xp: ModuleType) -> tuple[Values, Values]:
    """(value, derivative) of a function that gives both, or the value alone."""
    found = function(at, xp)
    return found if isinstance(found, tuple) else (found, _slope(function, at, xp))


def _slope(function: Callable[..., Any], at: Values, xp: ModuleType) -> Values:
    """The derivative of a function of each entry, by JAX."""
    from .trees import slope_of  # with JAX, which functions that give their derivatives do without

    return slope_of(function, at, xp)
