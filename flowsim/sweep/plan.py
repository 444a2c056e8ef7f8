"""From a scenario with a [sweep] table to its points, all of them valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import Issue, ScenarioError, UsageError
from ..kinds.plugins_used import used
from ..scenario import Scenario, referenced_files
from ..scenario.changes import LEADS_NOWHERE, changed, remove
from ..scenario.explain import explain
from ..scenario.files import missing_files, unnamed
from ..scenario.places import KeyPath
from ..scenario.source import Source, path_of
from ..scenario.sweep import Sweep, listed

#: The dimension of points that go side by side: those of zip, or the listed ones.
TOGETHER = "point"
#: No more points than so many are explained, where points are wrong.
EXPLAINED = 100


@dataclass(frozen=True)
class Axis:
    """A dimension of a sweep. name: the swept key, or TOGETHER. values: swept key -> its value at each place.
    paths: swept key -> where in the scenario file each of these stands."""

    name: str
    values: Mapping[str, tuple[Any, ...]]
    paths: Mapping[str, tuple[KeyPath, ...]]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


@dataclass(frozen=True)
class Point:
    """place: index along each axis. values: swept key -> value. sha256: of the resolved scenario, defaults included."""

    place: tuple[int, ...]
    values: Mapping[str, Any]
    sha256: str

    def __str__(self) -> str:
        return ", ".join(f"{key} = {shown(value)}" for key, value in self.values.items())


@dataclass(frozen=True)
class Plan:
    """scenario: as it was read, [sweep] included. base: its values without [sweep]."""

    scenario: Scenario
    base: dict[str, Any]
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]

    def __repr__(self) -> str:
        axes = " x ".join(f"{axis.name} ({len(axis)})" for axis in self.axes)
        return f"Plan: {len(self.points)} points: {axes}"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def folder(self) -> Path:
        """What relative paths start from."""
        return self.scenario.source.folder.absolute()

    @property
    def source(self) -> Source:
        """That of the points, which stand in no file."""
        return Source(folder=self.folder)

    @property
    def identity(self) -> str:
        """What a folder of results has to agree on: the values of everything that is not swept, the files it reads, and the
        plugins whose kinds it names."""
        kept = self.scenario.to_dict()
        for key in ("title", "sweep", *self.scenario.sweep.keys):
            remove(kept, path_of(key))
        files = {key: _digest(path) for key, path in referenced_files(self.scenario, self.folder).items()}
        plugins = [[plugin.name, plugin.sha256] for plugin in used(self.scenario.to_dict())]
        agreed = [kept, files, plugins] if plugins else [kept, files]
        return hashlib.sha256(_canonical(agreed).encode()).hexdigest()

    def resolved(self, point: Point) -> dict[str, Any]:
        """The values of the point's scenario."""
        return resolve(self.base, point.values)


def plan(scenario: Scenario) -> Plan:
    """The points of a scenario, the last key of its grid fastest.

    Raises UsageError where it has no [sweep], and ScenarioError with everything that is wrong with any of them.
    """
    sweep = scenario.sweep
    if not sweep.keys:
        name = scenario.source.name or "the scenario"
        raise UsageError(f"{name}: has no [sweep] with a grid, zip or points; flowsim run runs a single scenario")
    if unnamed(scenario, Source()):
        raise UsageError(
            "arrays in memory cannot be swept: write them to files, by numpy.savez and Weights.save, and name these as "
            "data.path and init.path"
        )
    base, source = scenario.said(), scenario.own_source
    base.pop("sweep", None)
    axes = tuple(_axes(sweep))
    found: list[Point] = []
    wrong = _Wrong(source)
    first: dict[str, Point] = {}
    for place in product(*(range(len(axis)) for axis in axes)):
        values = {
            key: listed[index] for axis, index in zip(axes, place, strict=True) for key, listed in axis.values.items()
        }
        paths = {
            key: listed[index] for axis, index in zip(axes, place, strict=True) for key, listed in axis.paths.items()
        }
        point = Point(place, values, "")
        try:
            raw = resolve(base, values)
            member = Scenario.model_validate(raw)
            complete = not any(missing_files(member, source))
        except (ValidationError, LookupError, TypeError):
            complete = False
        if not complete:
            wrong.add(base, point, paths)
            continue
        point = replace(point, sha256=identity_of(member))
        if point.sha256 in first:
            wrong.twice(point, first[point.sha256], paths)
        first.setdefault(point.sha256, point)
        found.append(point)
    wrong.answer()
    return Plan(scenario, base, axes, tuple(found))


def identity_of(scenario: Scenario) -> str:
    """SHA-256 of a resolved and validated scenario: of the values of all keys, defaults included, but for its title."""
    values = {key: value for key, value in scenario.written().items() if key not in ("title", "sweep")}
    return hashlib.sha256(_canonical(values).encode()).hexdigest()


def resolve(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The base with these values at their dotted keys, as :meth:`flowsim.Scenario.replace` changes them. Raises LookupError
    or TypeError where a key leads nowhere."""
    return changed(base, {path_of(key) or ("",): value for key, value in values.items()})


def shown(value: Any) -> str:
    """A value in a line of text."""
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _axes(sweep: Sweep) -> Iterator[Axis]:
    for key, values in sweep.grid.items():
        yield Axis(key, {key: listed(values)}, {key: _places("grid", key, values)})
    if sweep.zip:
        paths = {key: _places("zip", key, values) for key, values in sweep.zip.items()}
        yield Axis(TOGETHER, {key: listed(values) for key, values in sweep.zip.items()}, paths)
    if sweep.points:
        keys = sweep.points[0]
        yield Axis(
            TOGETHER,
            {key: tuple(point[key] for point in sweep.points) for key in keys},
            {key: tuple(("sweep", "points", index, key) for index in range(len(sweep.points))) for key in keys},
        )


def _places(table: str, key: str, values: Any) -> tuple[KeyPath, ...]:
    return tuple(("sweep", table, key, index) for index in range(len(listed(values))))


class _Wrong:
    """Collects what is wrong with points: each problem once, with the first point that has it."""

    def __init__(self, source: Source):
        self._source = source
        self._found: dict[Issue, tuple[Point, int]] = {}
        self._explained = 0
        self._left = 0

    def add(self, base: dict[str, Any], point: Point, paths: Mapping[str, KeyPath]) -> None:
        if self._explained >= EXPLAINED:
            self._left += 1
            return
        self._explained += 1
        source = self._seen_from(paths)
        try:
            issues: Iterable[Issue] = explain(resolve(base, point.values), source)
        except (LookupError, TypeError):
            issues = list(self._dead_ends(base, point, source))
        for issue in issues:
            first, count = self._found.get(issue, (point, 0))
            self._found[issue] = (first, count + 1)

    def twice(self, point: Point, first: Point, paths: Mapping[str, KeyPath]) -> None:
        """Two places have the same scenario: the key that differs in its writing alone, or not even there."""
        same = {key for key, value in point.values.items() if first.values[key] == value}
        moved = [axis for axis, (here, there) in enumerate(zip(point.place, first.place, strict=True)) if here != there]
        key = next((key for key in paths if key not in same), [*paths][min(moved[0], len(paths) - 1)])
        for name, path in paths.items():
            if len(moved) == 1 and path[:3] == ("sweep", "grid", name) and path[3] == point.place[moved[0]]:
                key = name
        place = self._source.place(self._written(paths[key]))
        self._found.setdefault(Issue(key, f"{shown(point.values[key])} is named twice", place), (point, 1))

    def answer(self) -> None:
        """Raise ScenarioError if anything is wrong."""
        if not self._found:
            return
        issues = [
            replace(issue, message=f"{issue.message} (in {self._those(count)} {point})")
            for issue, (point, count) in self._found.items()
        ]
        issues.sort(key=lambda issue: int(f"0{issue.place.rpartition(':')[2]}") if issue.place[-1:].isdigit() else 0)
        if self._left:
            issues.append(Issue("", f"{self._left} more points are wrong", self._source.name))
        raise ScenarioError(issues)

    @staticmethod
    def _those(count: int) -> str:
        return "the point" if count == 1 else f"{count} points, such as"

    def _written(self, path: KeyPath) -> KeyPath:
        """The path, or the closest enclosing one that the file has: the values of a range have no lines of their own."""
        while path and path not in self._source.lines:
            path = path[:-1]
        return path

    def _seen_from(self, paths: Mapping[str, KeyPath]) -> Source:
        """The source in which a swept key stands where its value in [sweep] does."""
        lines, set_by = dict(self._source.lines), dict(self._source.changed)
        for key, path in paths.items():
            place = self._source.place(path)
            set_by.pop(path_of(key), None)
            if place in self._source.changed.values():
                set_by[path_of(key)] = place
            lines[path_of(key)] = self._source.lines.get(self._written(path), 1)
        return replace(self._source, lines=lines, changed=set_by)

    def _dead_ends(self, base: dict[str, Any], point: Point, source: Source) -> Iterator[Issue]:
        for key, value in point.values.items():
            try:
                resolve(base, {key: value})
            except (LookupError, TypeError):
                yield Issue(key, LEADS_NOWHERE, source.place(path_of(key)))


def _canonical(values: Any) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), default=str)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
