"""Changes of a scenario's values by dotted keys, in which the keys of a kind that is left go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ..errors import Issue, ScenarioError
from ..kinds.names import nearest
from ..kinds.section import Section, written
from .explain import Problem, problems_in, section_of, variants_at, words
from .places import KeyPath
from .scenario import Scenario, valid
from .source import path_of

LEADS_NOWHERE = "leads nowhere: a part of it is not a table, or an array without that element"


@dataclass(frozen=True)
class Changes:
    """values: dotted key -> value, None to unset it. unset: more keys to unset. by, unset_by: what messages call these."""

    values: Mapping[str, Any] = field(default_factory=dict)
    unset: Iterable[str] = ()
    by: str = "overrides"
    unset_by: str = "unset"

    def paths(self) -> dict[KeyPath, Any]:
        """Key path -> its plain value, None for what is to be unset. Raises ScenarioError where TOML has no such value."""
        given = {key: toml_value(key, value, self.by) for key, value in self.values.items()}
        # what names nothing is the key "", which no table has
        return {path_of(key) or ("",): value for key, value in {**given, **dict.fromkeys(self.unset)}.items()}

    @property
    def places(self) -> dict[KeyPath, str]:
        """Key path -> what sets it."""
        return {path_of(key): self.by for key in self.values} | {path_of(key): self.unset_by for key in self.unset}

    def apply(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with these changes. Raises ScenarioError where a key leads nowhere."""
        paths = self.paths()
        wrong = [Issue(key, LEADS_NOWHERE, self.by) for key in self.values if not _leads(values, path_of(key))]
        wrong += [Issue(key, problem, self.unset_by) for key in self.unset if (problem := _no_such(values, key))]
        if wrong:
            raise ScenarioError(wrong)
        return changed(values, paths)


def changed(values: Mapping[str, Any], paths: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """The values with others at these paths, or without what None stands for, and without the keys of kinds that were left.

    Where a word is chosen anew, such as a kind, validation refuses the keys of the old one: those in the same section go,
    and those elsewhere that say no more than their default. What the paths name stays, to be answered for.
    Raises LookupError or TypeError where a path leads nowhere.
    """
    after = deepcopy(dict(values))
    for path, value in paths.items():
        if value is None:
            remove(after, path)
        else:
            assign(after, path, deepcopy(value), dict)
    if not any(_holds_choice(path, after) for path in paths):
        return after
    chosen = [path for path in paths if _is_choice(path) and _at(after, path) != _at(values, path)]

    def leaves(problem: Problem) -> bool:
        if any(_within(problem.path, path) for path in paths):
            return False
        if any(path in problem.reads and path[:-1] == problem.path[:-1] for path in chosen):
            return True
        asked = any(_within(read, path) for read in problem.reads for path in paths)
        return asked and says_default(after, problem.path)

    return without(after, leaves)[0]


def without(values: dict[str, Any], leaves: Callable[[Problem], bool]) -> tuple[dict[str, Any], Scenario | None]:
    """The values without the keys that validation refuses and that are to leave, and the scenario that they then say; None
    where other problems stay."""
    while True:
        try:
            return values, valid(values)
        except ValidationError as error:
            problems = problems_in(error, values)
        leaving = {problem.path for problem in problems if _at(values, problem.path) is not None and leaves(problem)}
        if not leaving:
            return values, None
        values = deepcopy(values)
        for path in leaving:
            remove(values, path)


def says_default(values: Mapping[str, Any], path: KeyPath) -> bool:
    """Whether the value at a path is the one that its key has where it is not given."""
    section = section_of(path[:-1], _at(values, path[:-1]))
    known = section.model_fields.get(str(path[-1])) if section else None
    if known is None or known.is_required():
        return False
    default, value = written(known.get_default()), _at(values, path)
    if isinstance(known.get_default(), Section) and isinstance(value, dict):
        return all(default.get(name) == item for name, item in value.items())
    return bool(default == value)


def assign(table: Any, path: KeyPath, value: Any, new_table: Callable[[], Any]) -> None:
    """Raises LookupError or TypeError where the path leads nowhere."""
    *parents, last = path
    for part in parents:
        if isinstance(part, str) and part not in table:
            table[part] = new_table()
        table = table[part]
        if isinstance(table, str):
            raise TypeError(f"{part} is not a table")
    table[last] = value


def remove(table: Any, path: KeyPath) -> None:
    """Take out what stands at a path, if anything does."""
    *parents, last = path
    owner = _at(table, tuple(parents))
    if isinstance(owner, dict):
        owner.pop(last, None)
    elif isinstance(owner, list) and isinstance(last, int) and last < len(owner):
        del owner[last]


def toml_value(key: str, value: Any, by: str) -> Any:
    """The value in types that TOML has: NumPy's numbers and arrays become Python's, sections tables of what was given to
    them, and keys with None are left out. Raises ScenarioError for what has no such type."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Section):
        value = {name: getattr(value, name) for name in value.model_fields_set}
    if isinstance(value, Mapping):
        return {str(name): toml_value(key, item, by) for name, item in value.items() if item is not None}
    if isinstance(value, list | tuple) and not any(item is None for item in value):
        return [toml_value(key, item, by) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ScenarioError([Issue(key, f"{value!r} is not a string, number, boolean, array or table", by)])


def _at(values: Any, path: KeyPath) -> Any:
    """What stands at a path; None where nothing does."""
    for part in path:
        try:
            values = values[part]
        except (LookupError, TypeError):
            return None
    return values


def _leads(values: Any, path: KeyPath) -> bool:
    """Whether the path could be assigned to: its parents are tables, elements of arrays, or not there yet."""
    for index, part in enumerate(path):
        if isinstance(part, int):
            if not (isinstance(values, list) and part < len(values)):
                return False
        elif not isinstance(values, Mapping):
            return False
        elif part not in values:
            return all(isinstance(later, str) for later in path[index:])
        values = values[part]
    return True


def _within(path: KeyPath, other: KeyPath) -> bool:
    return path[: len(other)] == other


def _is_choice(path: KeyPath) -> bool:
    """Whether a key takes one of some words, as kinds do."""
    fields = [section.model_fields.get(str(path[-1])) for section in variants_at(path[:-1])]
    return any(words(field.annotation) for field in fields if field is not None)


def _holds_choice(path: KeyPath, values: Any) -> bool:
    """Whether a key is a choice, or a whole table in which there may be one."""
    return _is_choice(path) or isinstance(_at(values, path), dict | list)


def _no_such(values: Mapping[str, Any], key: str) -> str:
    """What is wrong with unsetting a key: it is not written, and there is none of this name."""
    path = path_of(key)
    if _at(values, path) is not None:
        return ""
    family = variants_at(path[:-1])
    names = sorted({known.alias or name for section in family for name, known in section.model_fields.items()})
    hint = nearest(str(path[-1]), names)
    return "" if path[-1] in names else f"unknown key; {hint}allowed: {', '.join(names)}"
