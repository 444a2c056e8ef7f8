"""Kinds by name. Flowsim's own kinds and those of plugins register in the same way."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from ..errors import UsageError

T = TypeVar("T")

#: Every registry by the word for what it holds, such as "observable".
REGISTRIES: dict[str, Registry] = {}  # type: ignore[type-arg]


class Registry(Mapping[str, T], Generic[T]):
    """The kinds of one sort, by name.

    sort: what messages call one of them. home: the package whose modules register flowsim's own; they are imported when
    somebody looks for the first time.
    """

    def __init__(self, sort: str, home: str):
        self.sort, self.home = sort, home
        self._known: dict[str, T] = {}
        self._discovered = False
        REGISTRIES[sort] = self

    def register(self, name: str, kind: T) -> T:
        """Raises UsageError where another kind of this sort has the name."""
        if self._known.setdefault(name, kind) is not kind:
            raise UsageError(
                f'{self.sort} "{name}" is registered already, as {self._known[name]!r}; choose another name'
            )
        return kind

    def __getitem__(self, name: str) -> T:
        self._discover()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(self._known)

    def __len__(self) -> int:
        self._discover()
        return len(self._known)

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        home = import_module(self.home)
        for module in pkgutil.iter_modules(home.__path__):
            import_module(f"{self.home}.{module.name}")
