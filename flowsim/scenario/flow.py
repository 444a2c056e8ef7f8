"""[flow]: how the ODE is integrated and when it stops."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Broken, Count, Positive, Section, refuse


class Until(Section):
    """Stop conditions; the first one reached ends the run.

    `steps` beside another condition is a budget: reaching it first means that the run could not do what was asked.
    """

    time: Positive | None = Field(None, description="flow time")
    loss: Positive | None = Field(None, description="training loss falls to this value")
    log10_loss: float | None = Field(
        None, allow_inf_nan=False, description="log10 of the training loss falls to this value"
    )
    alignment: float | None = Field(
        None, gt=0, lt=1, description="every targeted neuron's cosine with its target centre reaches this value"
    )
    steps: Count | None = Field(None, description="accepted solver steps; beside other conditions, a budget")

    @model_validator(mode="after")
    def _some_condition(self) -> Until:
        if not self.model_fields_set:
            names = tuple(type(self).model_fields)
            refuse([Broken("", f"give at least one of {', '.join(names)}", names)])
        return self

    @property
    def goals(self) -> dict[str, float]:
        """The conditions that were asked for, by name."""
        return {name: value for name, value in self if value is not None}

    @property
    def open_ended(self) -> bool:
        """Whether the time at which the run will end is unknown beforehand."""
        return not set(self.goals) <= {"time", "steps"} or self.time is None


class Flow(Section):
    method: Literal["gradient_flow"] = Field("gradient_flow", description="d theta/dt = -grad L(theta)")
    engine: Literal["auto", "diffrax", "numba"] = Field(
        "auto", description="what integrates; flowsim check says what auto chose"
    )
    solver: Literal["auto", "tsit5", "dopri5", "dopri8", "dop853", "kvaerno5"] = Field(
        "auto",
        description="tsit5 and dopri5: Runge-Kutta pairs of order 5; dopri8 and dop853: of order 8; kvaerno5 is "
        "implicit and for small stiff problems",
    )
    coordinates: Literal["auto", "polar", "cartesian"] = Field(
        "auto",
        description="polar: direction, log norm and output weight of each neuron; cartesian: the weights themselves",
    )
    clock: Literal["auto", "time"] = Field("auto", description="the independent variable of the solver")
    precision: Literal["float64", "mixed"] = Field(
        "float64", description='"mixed" computes the two matrix products in float32 and everything else in float64'
    )
    rtol: Annotated[float, Field(ge=1e-13, le=0.1)] = Field(
        1e-6, description="each neuron's local error, relative to that neuron"
    )
    reduce: bool = Field(
        True, description="integrate in the span of the data where that is smaller; the answer is the same"
    )
    merge: bool = Field(True, description="integrate equal samples as one weighted sample; the answer is the same")
    until: Until = Field(Until(time=1000.0), description="stop conditions; the first one reached ends the run")
    wall_time: Positive | None = Field(
        None, description="seconds of wall time after which the run stops with what it has"
    )
