"""[sweep]: which runs `flowsim sweep` makes of the scenario, and what it keeps of their trajectories."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from ..gate import limit
from ..kinds.section import Broken, Count, Section, as_tuple, refuse
from .observe import Name


class Range(Section):
    """Values from one number to another, both included; whole numbers where both of these are whole."""

    begin: Annotated[int | float, Field(allow_inf_nan=False)] = Field(alias="from", description="the first value")
    to: Annotated[int | float, Field(allow_inf_nan=False)] = Field(description="the last value")
    count: Count = Field(description="how many values")
    spacing: Literal["linear", "log"] = Field(
        "linear", description="equal differences, or equal ratios; between whole numbers they are rounded"
    )

    @model_validator(mode="after")
    def _rules(self) -> Range:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.spacing == "log" and min(self.begin, self.to) <= 0:
            yield Broken("spacing", '"log" needs from and to above 0', ("from", "to"))
        if self.count > 1 and self.begin == self.to:
            yield Broken(
                "to", f"from and to are both {self.to:g}; that is one value, not {self.count}", ("count", "from")
            )
        if self.count == 1 and self.begin != self.to:
            yield Broken("count", "one value cannot be both from and to; use at least 2", ("from", "to"))

    @property
    def values(self) -> tuple[float, ...]:
        last = max(self.count - 1, 1)
        if self.spacing == "log":
            low, high = math.log(self.begin), math.log(self.to)
            inner = [math.exp(low + (high - low) * index / last) for index in range(1, last)]
        else:
            inner = [self.begin + (self.to - self.begin) * index / last for index in range(1, last)]
        found = [self.begin, *inner, self.to][: self.count]
        whole = isinstance(self.begin, int) and isinstance(self.to, int)
        return tuple(round(value) if whole else float(value) for value in found)


def _in_quotes(values: Any) -> Any:
    """Refuse ``data.noise = [...]`` without quotes, which TOML reads as a table within a table."""
    if isinstance(values, dict):
        tables = [key for key, value in values.items() if isinstance(value, dict) and not value.keys() & OF_A_RANGE]
        refuse(
            Broken(f'"{key}"', f'is a table; write dotted keys in quotes: "{key}.{_first(values[key])}"')
            for key in tables
        )
    return values


def _first(table: dict[str, Any]) -> str:
    """The first dotted key that nested tables stand for."""
    key, value = next(iter(table.items()), ("…", None))
    return f"{key}.{_first(value)}" if isinstance(value, dict) and not value.keys() & OF_A_RANGE else key


OF_A_RANGE = {"from", "to", "count", "spacing"}
Values = Range | Annotated[tuple[Any, ...], Field(min_length=1), as_tuple]
Table = Annotated[dict[str, Values], BeforeValidator(_in_quotes)]


class Sweep(Section):
    """Every value of `grid` with every other, and with every point of `zip` or `points`."""

    grid: Table = Field({}, description="dotted key, in quotes -> array or range: all combinations")
    zip: Table = Field({}, description="the same for arrays of one length: their values go side by side")
    points: Annotated[tuple[dict[str, Any], ...], as_tuple] = Field(
        (), description="tables of dotted keys, in quotes, and their values: one for each point"
    )
    trajectories: Annotated[tuple[Name, ...], as_tuple] = Field(
        (), description="observables of which the sweep's dataset has the whole trajectories, on a common grid of times"
    )
    instants: int = Field(
        201, ge=2, description="instants of that grid, where the points do not share the instants that they kept"
    )

    @model_validator(mode="after")
    def _rules(self) -> Sweep:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.zip and self.points:
            yield Broken("points", "not beside zip; write the values of zip into the points", ("zip",))
        if (self.grid or self.zip or self.points) and self.size > (most := int(limit("points"))):
            yield Broken("grid" if self.grid else "", f"{self.size} points; at most {most}", ("zip", "points"))
        lengths = {key: length(values) for key, values in self.zip.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{count} of {key}" for key, count in lengths.items())
            yield from (
                Broken(f'zip."{key}"', f"arrays of zip have one length, and these have {told}") for key in lengths
            )
        for index, point in enumerate(self.points):
            if not point:
                yield Broken(f"points[{index}]", "an empty table; a point needs at least one key")
            elif point.keys() != self.points[0].keys():
                keys = ", ".join(self.points[0])
                yield Broken(f"points[{index}]", f"its keys differ from those of the first point: {keys}")
        yield from self._broken_keys()

    def _broken_keys(self) -> Iterator[Broken]:
        beside = {**{key: f'zip."{key}"' for key in self.zip}, **{key: f'points[0]."{key}"' for key in self._of_points}}
        for key in self.grid.keys() & beside.keys():
            yield Broken(beside[key], "is in grid too; a key is swept once")
        places = {**{key: f'grid."{key}"' for key in self.grid}, **beside}
        for key, place in places.items():
            for other in places:
                if key.startswith((f"{other}.", f"{other}[")):
                    yield Broken(place, f"is a part of {other}, which is swept too")
            if key.partition(".")[0] in ("sweep", "title"):
                yield Broken(place, "cannot be swept")

    @property
    def _of_points(self) -> tuple[str, ...]:
        return tuple(self.points[0]) if self.points else ()

    @property
    def keys(self) -> tuple[str, ...]:
        """All that are swept."""
        return (*self.grid, *self.zip, *self._of_points)

    @property
    def together(self) -> int:
        """How many points go side by side: those of zip, or the listed ones; 0 where there are neither."""
        return length(next(iter(self.zip.values()))) if self.zip else len(self.points)

    @property
    def size(self) -> int:
        """How many points there are."""
        return math.prod(length(values) for values in self.grid.values()) * (self.together or 1)


def length(values: Range | tuple[Any, ...]) -> int:
    return values.count if isinstance(values, Range) else len(values)


def listed(values: Range | tuple[Any, ...]) -> tuple[Any, ...]:
    return values.values if isinstance(values, Range) else values
