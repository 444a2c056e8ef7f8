"""Kinds by name. Flowsim's own kinds and those of plugins register in the same way."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from ..errors import UsageError
from .origin import Plugin, registered_by, registering

T = TypeVar("T")

#: Every registry by the word for what it holds, such as "observable".
REGISTRIES: dict[str, Registry] = {}  # type: ignore[type-arg]


class Registry(Mapping[str, T], Generic[T]):
    """The kinds of one sort, by name.

    sort: what messages call one of them. home: the package whose modules register flowsim's own; they are imported when
    somebody looks for the first time. named_by: the keys of a scenario
    that name kinds of this sort, such as "observe.variables". first: the kinds that are listed first.

    A name that nobody has registered is looked for in the installed plugins, too.
    """

    def __init__(self, sort: str, home: str, named_by: tuple[str, ...] = (), first: tuple[str, ...] = ()):
        self.sort, self.home, self.named_by, self._first = sort, home, named_by, first
        self._known: dict[str, T] = {}
        self._origins: dict[str, Plugin] = {}
        self._discovered = False
        self._watchers: list[Callable[[], None]] = []
        REGISTRIES[sort] = self

    def register(self, name: str, kind: T) -> T:
        """Raises UsageError where another kind of this sort has the name, and for a class that leaves out what kinds of
        this sort must say; a plugin may replace its own."""
        if missing := sorted(getattr(kind, "__abstractmethods__", ())):
            raise UsageError(f'the {self.sort} "{name}" does not say {", ".join(missing)}')
        origin, before = registering(), self._origins.get(name)
        if origin is not None:
            self._discover()  # so that flowsim's own come first
        replaces = origin is not None and before is not None and origin.name == before.name
        if name in self._known and self._known[name] is not kind and not replaces:
            by = f"by the plugin {before.name}" if before else "by flowsim"
            raise UsageError(f'the {self.sort} "{name}" is registered already, {by}; choose another name')
        self._known[name] = kind
        if origin is not None:
            self._origins[name] = origin
        self._tell()
        return kind

    def watch(self, changed: Callable[[], None]) -> None:
        """Call this whenever a kind comes or goes, from now on."""
        self._watchers.append(changed)

    def _tell(self) -> None:
        for changed in self._watchers:
            changed()

    def origin(self, name: str) -> Plugin | None:
        """The plugin that a kind comes from; None for flowsim's own and for names that nobody has registered."""
        return self._origins.get(name)

    def forget(self, plugin: Plugin) -> None:
        """Take out the kinds of a plugin."""
        gone = [name for name, origin in self._origins.items() if origin == plugin]
        for name in gone:
            del self._known[name], self._origins[name]
        if gone:
            self._tell()

    def line(self, name: str) -> str:
        """What a kind is, in a line: its long name or statement, or how its docstring begins."""
        kind = self[name]
        told = next((told for key in ("long_name", "statement", "description") if (told := getattr(kind, key, ""))), "")
        return str(told or kind.__doc__ or "").partition("\n")[0]

    def words(self) -> tuple[str, ...]:
        """What a scenario may call the kinds, those of the installed plugins among them."""
        from .plugins import load_installed

        load_installed()
        return self._words()

    def named(self, word: str) -> tuple[str, ...]:
        """The kinds that a word of a scenario stands for; () where there are none."""
        if not (found := self._named(word)):
            from .plugins import load_installed

            load_installed()
            found = self._named(word)
        return found

    def _words(self) -> tuple[str, ...]:
        return tuple(self)

    def _named(self, word: str) -> tuple[str, ...]:
        self._discover()
        return (word,) if word in self._known else ()

    def __getitem__(self, name: str) -> T:
        self._discover()
        if name not in self._known:
            from .plugins import load_installed

            load_installed()
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(tuple(self._known))

    def __len__(self) -> int:
        self._discover()
        return len(self._known)

    def _discover(self) -> None:
        if self._discovered:
            return
        self._discovered = True
        import_modules(self.home)
        # in the same order, whichever of the modules was imported first
        names = dict.fromkeys((*(name for name in self._first if name in self._known), *self._known))
        self._known = {name: self._known[name] for name in names}


def import_modules(home: str, first: tuple[str, ...] = ()) -> None:
    """Import every module of a package, those named first in that order. A package whose kinds have an order calls this
    itself: whichever of its modules is imported first, they then register in the same order."""
    with registered_by(None):  # whoever looks first, be it a plugin
        found = {module.name for module in pkgutil.iter_modules(import_module(home).__path__)}
        ordered = [name for name in first if name in found]
        for name in (*ordered, *sorted(found - set(ordered))):
            import_module(f"{home}.{name}")
