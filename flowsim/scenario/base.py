"""What every section of a scenario shares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=1)]

#: A TOML array that becomes an immutable tuple.
as_tuple = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)


class Section(BaseModel):
    """A frozen part of a scenario: unknown keys are refused and types are not guessed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return ((name, value) for name, value in super().__repr_args__() if value is not None)


class Broken(NamedTuple):
    """A broken rule between keys. key: the one to change; reads: the others that the rule looked at."""

    key: str
    message: str
    reads: tuple[str, ...] = ()


def refuse(broken: Iterable[Broken]) -> None:
    """Raise one validation error that carries every broken rule."""
    found = list(broken)
    if found:
        raise PydanticCustomError("rules", "{count} rules broken", {"count": len(found), "broken": found})
