"""What every section of a scenario shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from .registry import REGISTRIES

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=1)]

#: What tells the variants of a section apart comes first where a section is written.
TAGS = ("kind", "activation", "shape", "method", "name")

#: A TOML array that becomes an immutable tuple.
as_tuple = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)


def suffix_in(suffixes: tuple[str, ...], words: tuple[str, ...] = ()) -> Callable[[str], str]:
    """A check that a string is one of the words or a path that ends so."""

    def check(value: str) -> str:
        if value in words or value.endswith(suffixes):
            return value
        options = [*(f'"{word}"' for word in words), f"a path that ends with {', '.join(suffixes)}"]
        raise ValueError(f'"{value}" is not allowed; allowed: {", ".join(options)}')

    return check


class Section(BaseModel):
    """A frozen part of a scenario: unknown keys are refused and types are not guessed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    #: The key whose word tells it from the other sections that may stand in its place; "" where there are none.
    TAG: ClassVar[str] = ""
    #: Of a kind, the sort whose registry has it.
    SORT: ClassVar[str] = ""

    def written(self) -> dict[str, Any]:
        """The keys and values of a TOML table that says this section, defaults included. What `model_copy` has put there
        under an unknown name is among them, for validation to refuse."""
        names = _names(type(self))
        # one that was made before a plugin brought a key lacks it
        values = {key: getattr(self, name, None) for name, key in names.items()}
        values |= {name: value for name, value in self.__dict__.items() if name not in names}
        return {key: written(value) for key, value in values.items() if value is not None}

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        """The sections that a scenario may have for this kind: itself, unless another tag tells more of them apart."""
        return (cls,)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Kinds are found by their words in another process: some of their classes have no place in a module."""
        return (_restored, (self.SORT, self.__getstate__())) if self.SORT else super().__reduce_ex__(protocol)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return ((name, value) for name, value in super().__repr_args__() if value is not None)


def rebuild(*sections: type[Section]) -> None:
    """Make their validation anew, after keys or variants of theirs have changed; inner sections first."""
    for section in sections:
        section.model_rebuild(force=True)
    _names.cache_clear()


def told_by(sort: str, values: Mapping[str, Any]) -> type[Section] | None:
    """The section of the registered kind that the tags among these values name; None where it is not registered."""
    kinds = REGISTRIES[sort]
    named = {str(values[tag]) for tag in ("kind", "shape") if tag in values}
    for name in named & kinds.keys():
        variants: tuple[type[Section], ...] = kinds[name].variants()
        for section in variants:
            if values[section.TAG] in get_args(section.model_fields[section.TAG].annotation):
                return section
    return None


def _restored(sort: str, state: dict[Any, Any]) -> Section:
    """The section of a registered kind that has this state."""
    section = told_by(sort, state["__dict__"])
    if section is None:
        raise LookupError(f"no {sort} of this kind is registered: {state['__dict__']}")
    found = section.__new__(section)
    found.__setstate__(state)
    return found


@cache
def _names(section: type[Section]) -> dict[str, str]:
    """Name of each field -> its key in TOML, in the order that they are written in."""
    fields = sorted(section.model_fields.items(), key=lambda field: field[0] not in TAGS)
    return {name: field.alias or name for name, field in fields}


def written(value: Any) -> Any:
    """A value of a section as TOML has it."""
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return value.tolist()
    if isinstance(value, Section):
        return value.written()
    if isinstance(value, Mapping):
        return {str(key): written(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [written(item) for item in value]
    return value


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
