"""[observe]: what is kept of the trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..kinds.names import NameOf
from ..kinds.registries import OBSERVABLES
from ..kinds.section import Broken, Count, NonNegative, Section, as_tuple, refuse

Name = Annotated[str, NameOf(OBSERVABLES)]


class Axis(Section):
    """Values of a feature at equal distances."""

    begin: float = Field(alias="from", allow_inf_nan=False, description="the first value")
    to: float = Field(allow_inf_nan=False, description="the last value")
    count: Count = Field(description="how many values")

    @model_validator(mode="after")
    def _rules(self) -> Axis:
        if self.count == 1 and self.begin != self.to:
            refuse([Broken("count", "one value cannot be both from and to; use at least 2", ("from", "to"))])
        return self


Point = Annotated[tuple[Annotated[float, Field(allow_inf_nan=False)], ...], Field(min_length=1), as_tuple]


class Observe(Section):
    times: Annotated[int, Field(ge=2)] | Annotated[tuple[NonNegative, ...], Field(min_length=1), as_tuple] = Field(
        200,
        description="how many instants are kept; or which ones, an array of times in increasing order, beside time 0 and "
        "where the run stops",
    )
    spacing: Literal["linear", "log", "solver"] = Field("linear", description='"solver" keeps every accepted step')
    variables: Literal["default"] | Annotated[tuple[Name, ...], as_tuple] = Field(
        "default", description="names of the observables to keep"
    )
    snapshots: Literal["none", "ends", "all"] | Annotated[int, Field(ge=2)] = Field(
        "ends", description='instants at which the weights are kept: "none", "ends", "all" or a number'
    )
    probes: Annotated[tuple[Point, ...], Field(min_length=1), as_tuple] | None = Field(
        None, description="points, each with all features, at which `probe_output` is the network's output"
    )
    grid: Annotated[tuple[Axis, ...], Field(min_length=1), as_tuple] | None = Field(
        None, description="more such points: all combinations of values, an array with one table for each feature"
    )
    eigenvalues: Count = Field(1, description="how many of the Hessian's largest eigenvalues `sharpness` has")
    kernel_samples: Count = Field(64, description="on how many of the training samples the tangent kernel is, at most")

    @model_validator(mode="after")
    def _rules(self) -> Observe:
        refuse(self._broken())
        return self

    @property
    def listed(self) -> tuple[float, ...]:
        """The instants that `times` lists; () where it is a number."""
        return self.times if isinstance(self.times, tuple) else ()

    def _broken(self) -> Iterator[Broken]:
        for index, name in enumerate(self.variables):
            if self.variables != "default" and name in self.variables[:index]:
                yield Broken(f"variables[{index}]", f'"{name}" is named twice')
        for index, (time, before) in enumerate(zip(self.listed[1:], self.listed, strict=False), start=1):
            if time <= before:
                yield Broken(f"times[{index}]", f"{time:g} is not above {before:g}; times are in increasing order")
        if self.listed and self.spacing != "linear":
            only = f'"{self.spacing}" is only with a number of times: these are listed; leave it out'
            yield Broken("spacing", only, ("times",))
