"""[observe]: what is kept of the trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..kinds.names import NameOf
from ..kinds.section import Broken, NonNegative, Section, as_tuple, refuse
from ..kinds.sorts import OBSERVABLES

Name = Annotated[str, NameOf(OBSERVABLES)]


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
