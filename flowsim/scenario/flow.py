"""[flow]: how the ODE is integrated and when it stops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic.fields import FieldInfo

from ..kinds.section import Broken, Count, Fraction, NonNegative, Positive, Section, as_tuple, rebuild, refuse
from ..kinds.stop import STOPS, Watched

Below1 = Annotated[float, Field(ge=0, lt=1)]

#: A time that is this much of a step beyond an iteration is at that iteration.
AT_ITERATION = 1e-6
#: Methods that know iterations and no time between them; of these, those that go by single entries.
DESCENTS = ("gradient_descent", "sgd", "adam", "adamw")
ADAM = ("adam", "adamw")
#: The keys that belong to the flow alone, with the values that ask for nothing.
OF_THE_FLOW = {
    "engine": "auto",
    "solver": "auto",
    "coordinates": "auto",
    "clock": "auto",
    "rtol": None,
    "devices": 1,
    "block": "auto",
    "certify": False,
}
#: The keys that belong to optimisers.
OF_OPTIMIZERS = ("momentum", "nesterov", "weight_decay", "label_noise", "schedule", "betas", "epsilon")


class Until(Section):
    """Stop conditions; the first one reached ends the run.

    `steps` beside another condition is a budget: reaching it first means that the run could not do what was asked.
    """

    if TYPE_CHECKING:  # its keys are those of the registry; what steps and chunks are reckoned with is named here
        time: float | None = None
        steps: int | None = None

    @model_validator(mode="after")
    def _some_condition(self) -> Until:
        if not self.model_fields_set:
            names = tuple(type(self).model_fields)
            refuse([Broken("", f"give at least one of {', '.join(names)}", names)])
        return self

    def __eq__(self, other: object) -> bool:
        """Whether they end at the same: one that was made before a plugin brought a key lacks it."""
        return isinstance(other, Until) and self.goals == other.goals

    def __hash__(self) -> int:
        return hash(tuple(self.goals.items()))

    @property
    def goals(self) -> dict[str, float]:
        """The conditions that were asked for, by name."""
        return {name: value for name, value in self if value is not None}

    @property
    def open_ended(self) -> bool:
        """Whether the time at which the run will end is unknown beforehand."""
        return not set(self.goals) <= {"time", "steps"} or self.time is None

    def watched(self, by: Watched) -> dict[str, float]:
        """Those of the conditions that are watched so."""
        return {name: value for name, value in self.goals.items() if STOPS[name].watched == by}


def _take_keys() -> None:
    """Give `until` a key for each stop condition that is registered."""
    Until.__pydantic_fields__ = {
        name: FieldInfo.from_annotated_attribute(stop.annotation | None, Field(None, description=stop.description))
        for name, stop in STOPS.items()
    }
    rebuild(Until)


_take_keys()


class Attack(Section):
    """Who moves the samples that a stage trains on: each to where its loss is larger, anew for every gradient."""

    kind: Literal["fgm", "pgd"] = Field(
        description='"fgm": one step, as long as radius, along the gradient of the loss; "pgd": several, projected'
    )
    norm: Literal["l2", "linf"] = Field("l2", description="what perturbations are measured in")
    radius: NonNegative = Field(description="size of the largest perturbation")
    steps: Count | None = Field(None, description="steps of pgd, each 2.5 radius/steps long; 10 unless given")
    warmup: Count | None = Field(
        None, description="iterations in which the radius rises from 0; of descent of networks without neurons"
    )

    @model_validator(mode="after")
    def _rules(self) -> Attack:
        if self.kind == "fgm" and self.steps is not None:
            refuse([Broken("steps", 'only with kind = "pgd"', ("kind",))])
        return self

    @property
    def iterations(self) -> int:
        return 1 if self.kind == "fgm" else self.steps or 10


class Noise(Section):
    """Gaussian noise on the samples that a stage trains on, drawn anew for every gradient, as randomised smoothing takes it
    (Cohen et al. 2019). An attacker moves a sample to where the mean probability of its noisy copies falls (Salman et al.
    2019)."""

    deviation: Positive = Field(description="standard deviation in each feature")
    draws: Count = Field(1, description="noisy copies of each sample that a gradient sees")


class Schedule(Section):
    """By what the step is multiplied as iterations go on; time is step x iteration all the same."""

    kind: Literal["constant", "cosine", "linear"] = Field(
        "constant", description='"cosine" and "linear" fall to `final` at the last iteration'
    )
    warmup: Annotated[int, Field(ge=0)] = Field(0, description="iterations in which the step first rises to its size")
    final: Fraction = Field(0.0, description="part of the step that is left at the last iteration")


class Flow(Section):
    method: Literal["gradient_flow", "gradient_descent", "sgd", "adam", "adamw"] = Field(
        "gradient_flow",
        description="d theta/dt = -grad L(theta); or theta <- theta - step grad L(theta), with the gradient over all "
        "samples or over batches of them; or an optimiser, over either",
    )
    step: Positive | None = Field(None, description="step size of descent; its time is step x iteration")
    batch: Count | None = Field(None, description="samples that an iteration of sgd, adam or adamw sees")
    momentum: Below1 | None = Field(
        None, description="of gradient_descent and sgd: part of the last update that is kept"
    )
    nesterov: bool | None = Field(None, description="whether momentum is Nesterov's")
    betas: Annotated[tuple[Below1, Below1], as_tuple] | None = Field(
        None,
        description="of adam and adamw: how much is kept of the means of gradients and of their squares; [0.9, 0.999] "
        "unless given",
    )
    epsilon: NonNegative | None = Field(
        None, description="of adam and adamw: added to the root of the mean square; 1e-8 unless given"
    )
    weight_decay: NonNegative | None = Field(
        None,
        description="of descent: times the weights, added to the gradient; with adamw, to the update",
    )
    schedule: Schedule | None = Field(None, description="of descent: how the step changes")
    label_noise: NonNegative | None = Field(
        None,
        description="of descent with the square loss: every gradient sees its targets plus or minus this, with signs drawn "
        "anew",
    )
    fresh: bool = Field(
        False,
        description="of sgd: every batch is drawn anew from the distribution of the data, as if there were no end of "
        "samples; what is kept is still measured on data.samples",
    )
    iterations: Count | None = Field(
        None, description="iterations of descent; until, which may then be left out, may stop it earlier"
    )
    engine: Literal["auto", "diffrax", "numba"] = Field(
        "auto", description="what integrates; flowsim check says what auto chose"
    )
    solver: Literal["auto", "tsit5", "dopri5", "dopri8", "dop853", "rkc2", "kvaerno5"] = Field(
        "auto",
        description="tsit5 and dopri5: Runge-Kutta pairs of order 5; dopri8 and dop853: of order 8; rkc2: stabilised, "
        "of order 2, for stiff flows; kvaerno5 is implicit and for small stiff problems",
    )
    coordinates: Literal["auto", "polar", "cartesian"] = Field(
        "auto",
        description="polar: direction, log norm and output weight of each neuron; cartesian: the weights themselves",
    )
    clock: Literal["auto", "time", "loss"] = Field(
        "auto",
        description='the independent variable of the solver; "loss" slows time down as the loss falls: logistic, '
        'exponential and cross_entropy then fall to any log10_loss; "auto" changes to it once the samples are separated',
    )
    precision: Literal["float64", "mixed", "auto"] = Field(
        "float64",
        description='"mixed" computes matrix products, or networks that are functions, in float32 and everything else in '
        'float64; "auto" does so with large products where rtol allows it',
    )
    rtol: Annotated[float, Field(ge=1e-13, le=0.1)] = Field(
        1e-6, description="each neuron's local error, relative to that neuron"
    )
    devices: Count | Literal["all"] = Field(
        1,
        description='how many devices of JAX share the samples, on the engine diffrax; "all": those that there are, of all '
        "processes that run it together",
    )
    block: Count | Literal["auto"] = Field(
        "auto",
        description="how many samples a device looks at at once, on the engine diffrax, at most: what it makes of them "
        'takes memory; "auto": as many as take 256 MiB',
    )
    certify: bool = Field(
        False,
        description="estimate the global error of every variable at every kept instant, by a companion run at a smaller "
        "rtol; of stages, where one asks for it",
    )
    rates: dict[str, NonNegative] | None = Field(
        None,
        description="name of a trained array -> its learning rate, which multiplies its velocity or its steps: 0 freezes "
        "it, and arrays that are not named have 1; * in a name stands for any letters; those of two layers of neurons are "
        "hidden and output",
    )
    reduce: bool = Field(
        True, description="integrate in the span of the data where that is smaller; the answer is the same"
    )
    merge: bool = Field(True, description="integrate equal samples as one weighted sample; the answer is the same")
    until: Until = Field(Until(time=1000.0), description="stop conditions; the first one reached ends the run")
    wall_time: Positive | None = Field(
        None,
        description="seconds of wall time after which the run stops with what it has; a search for its limit gets as many",
    )

    def written(self) -> dict[str, Any]:
        """Without the end of descent that `iterations` gives: another number of them is then another end."""
        values = super().written()
        step, iterations, until = self.step, self.iterations, values.get("until")
        if step is None or iterations is None or not isinstance(until, dict):
            return values
        kept = {key: value for key, value in until.items() if key != "time" or value != step * iterations}
        return {**{key: value for key, value in values.items() if key != "until"}, **({"until": kept} if kept else {})}

    @model_validator(mode="before")
    @classmethod
    def _end_of_descent(cls, raw: Any) -> Any:
        """Give descent its last instant as until.time, a whole number of steps: that of `iterations`, or of the first one
        at or past the time asked for, whichever is earlier."""
        if not (isinstance(raw, dict) and raw.get("method") in DESCENTS):
            return raw
        step: Any = raw.get("step")
        iterations, until = raw.get("iterations"), raw.get("until", {})
        time = until.get("time") if isinstance(until, dict) else None
        if not (_positive(step) and (iterations is None or _positive(iterations)) and isinstance(until, dict)):
            return raw
        if not (time is None or _positive(time)):
            return raw
        if step is None or _overflows(step, iterations, time):
            return raw  # refused below
        ends = [iterations] if iterations is not None else []
        ends += [max(math.ceil(time / step - AT_ITERATION), 1)] if time is not None else []
        return {**raw, "until": {**until, "time": step * min(ends)}} if ends else raw

    @model_validator(mode="after")
    def _rules(self) -> Flow:
        refuse(self._broken_descent() if self.descends else self._broken_flow())
        return self

    def _broken_flow(self) -> Iterator[Broken]:
        for key in ("step", "batch", "iterations"):
            if getattr(self, key) is not None:
                yield Broken(key, 'only with method = "gradient_descent" or "sgd"', ("method",))
        if self.fresh:
            yield Broken("fresh", 'only with method = "sgd"', ("method",))
        for key in self.of_optimizers:
            yield Broken(key, "only for descent", ("method",))

    def _broken_descent(self) -> Iterator[Broken]:
        descent = f'method = "{self.method}"'
        if self.step is None:
            yield Broken("step", f"required with {descent}", ("method",))
        if self.method == "sgd" and self.batch is None:
            yield Broken("batch", f"required with {descent}", ("method",))
        if self.method == "gradient_descent" and self.batch is not None:
            yield Broken("batch", 'only with method = "sgd"', ("method",))
        if self.step is not None and _overflows(self.step, self.iterations, self.until.time):
            size = "large" if self.step > 1 else "small"
            yield Broken("step", f"too {size}: no float is iterations x step, or time / step", ("iterations", "until"))
        yield from self._broken_optimizer()
        if self.method != "sgd" and self.fresh:
            yield Broken("fresh", 'only with method = "sgd"', ("method",))
        if self.fresh and self.until.watched(Watched.LOSS):
            yield Broken("until", "batches that are drawn anew have no training loss to end at", ("fresh",))
        endless = "until" not in self.model_fields_set or set(self.until.goals) == {"steps"}
        if self.iterations is None and endless:
            *others, last = (name for name in STOPS if name != "steps")
            named = f"until names a {', '.join(others)} or {last}"
            yield Broken("iterations", f"required with {descent}, unless {named}", ("method", "until"))
        for key, unset in OF_THE_FLOW.items():
            if key in self.model_fields_set and getattr(self, key) != unset:
                yield Broken(key, 'only with method = "gradient_flow"', ("method",))

    def _broken_optimizer(self) -> Iterator[Broken]:
        foreign = {"momentum", "nesterov"} if self.method in ADAM else {"betas", "epsilon"}
        for key in sorted(foreign & self.of_optimizers):
            yield Broken(key, f'not with method = "{self.method}"', ("method",))
        if self.method == "adam" and self.weight_decay:
            yield Broken("weight_decay", 'decays weights as such with method = "adamw"; use that', ("method",))
        if self.nesterov and not self.momentum:
            yield Broken("momentum", "required with nesterov = true", ("nesterov",))
        if self.schedule is not None and self.step is not None and self.until.time is None:
            yield Broken("schedule", "needs to know the last iteration; give iterations or until.time", ("iterations",))

    @property
    def of_optimizers(self) -> set[str]:
        """The keys that only optimisers know, as far as they are given."""
        return {key for key in OF_OPTIMIZERS if getattr(self, key) is not None}

    @property
    def optimized(self) -> bool:
        """Whether an optimiser makes more of gradients than a step along them."""
        return self.descends and bool(self.method in ADAM or self.of_optimizers or self.rates is not None)

    @property
    def last_iteration(self) -> int | None:
        """Of descent, where it is known."""
        if self.step is None or self.until.time is None:
            return None
        return round(self.until.time / self.step)

    @property
    def shared(self) -> tuple[str, ...]:
        """The keys that share samples among devices or part them in blocks, as far as they are asked for."""
        return tuple(key for key in ("devices", "block") if getattr(self, key) != OF_THE_FLOW[key])

    @property
    def descends(self) -> bool:
        """Whether the method is descent, which knows iterations and no time between them."""
        return self.method != "gradient_flow"


class Stage(Flow):
    """One of several flows, each of which starts where the one before ended."""

    name: Annotated[str, Field(min_length=1)] = Field(description="what results and plots call it")
    attack: Attack | None = Field(None, description="who moves the samples; nobody unless given")
    redraw: Annotated[tuple[str, ...], as_tuple] = Field(
        (),
        description="names of arrays that [init] draws anew when the stage begins, from a stream of the stage's own; * "
        "stands for any letters; of networks that are functions of a tree of arrays and have no neurons",
    )
    noise: Noise | None = Field(
        None, description="noise on the samples, in descent of networks without neurons; none unless given"
    )


def _follow_stops() -> None:
    _take_keys()
    rebuild(Flow, Stage)


STOPS.watch(_follow_stops)


def _overflows(step: float, iterations: int | None, time: float | None) -> bool:
    """Whether the time of so many iterations, or the iterations of such a time, are beyond all floats."""
    return not (math.isfinite(step * (iterations or 1)) and math.isfinite((time or 1) / step))


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0
