"""Names of kinds in a scenario: those that are registered."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .registry import Registry

#: What ends the answer to an unknown name of a kind.
OR_OF_A_PLUGIN = "or what a plugin registers, given by --plugin"


def closest(word: str, options: Iterable[str]) -> str | None:
    """The option that was probably meant."""
    return next(iter(difflib.get_close_matches(word, list(options), n=1, cutoff=0.6)), None)


def nearest(word: str, options: Iterable[str]) -> str:
    """`did you mean "x"? ` for the option closest to the word, or nothing."""
    close = closest(word, options)
    return f'did you mean "{close}"? ' if close else ""


@dataclass(frozen=True, eq=False)
class NameOf:
    """Beside `str` in an annotation: the name of a kind, one that is registered when the name is checked."""

    registry: Registry[Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"enum": list(self.registry.words()), "type": "string"}

    def _check(self, word: str) -> str:
        if not self.registry.named(word):
            options = self.registry.words()
            raise ValueError(
                f'"{word}" is not allowed; {nearest(word, options)}allowed: {", ".join(options)}; {OR_OF_A_PLUGIN}'
            )
        return word
