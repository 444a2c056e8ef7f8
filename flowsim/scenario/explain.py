"""Validation errors in the words of the scenario file: where, what is wrong, what is allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic import ValidationError

from ..errors import Issue
from ..kinds.names import OR_OF_A_PLUGIN, closest, nearest
from ..kinds.section import Section
from ..kinds.unions import SORTS
from . import toml
from .files import missing_files
from .flow import Until
from .places import KeyPath
from .reading import strange
from .scenario import Scenario
from .source import Source, path_of

#: Of tables that may have been meant, so many are named.
MOST_TABLES = 3


class Problem(NamedTuple):
    """path: the key to change. reads: other keys that the judgement rests on."""

    path: KeyPath
    message: str
    reads: frozenset[KeyPath] = frozenset()


def explain(raw: dict[str, Any], source: Source, files: bool = True) -> list[Issue]:
    """One issue per key that is wrong, in the order of the file. files: whether those that are named must be there."""
    messages: dict[KeyPath, list[str]] = {}
    for problem in _all_problems(raw, source, files):
        known = messages.setdefault(problem.path, [])
        if problem.message not in known:
            known.append(problem.message)
    around = {path[:length] for path in messages for length in range(len(path))}
    issues = [
        Issue(_dotted(path), "; or ".join(found), source.place(path))
        for path, found in messages.items()
        if path not in around
    ]
    return sorted(issues, key=lambda issue: _line(issue.place))


def _all_problems(raw: dict[str, Any], source: Source, files: bool) -> list[Problem]:
    """Problems hide each other: a section with a wrong type is not held to its rules.

    So wrong keys are taken out and the rest is validated again, until it is valid. What rests on a key that was taken out,
    or on one that was misspelt, is not reported.
    """
    found = [Problem(path, message) for path, message in strange(raw)]
    suspects = {problem.path for problem in found}
    raw = _without(raw, suspects)
    while True:
        try:
            scenario = Scenario.model_validate(raw)
        except ValidationError as error:
            problems = problems_in(error, raw)
        else:
            missing = missing_files(scenario, source) if files else ()
            problems = [Problem(path_of(key), message) for key, message in missing]
        found += [problem for problem in problems if not suspects & {problem.path, *problem.reads}]
        wrong = {problem.path for problem in problems}
        suspects |= wrong | {_meant(path, raw) for path in wrong}
        remaining = _without(raw, wrong)
        if remaining == raw:
            return found
        raw = remaining


def problems_in(error: ValidationError, raw: dict[str, Any]) -> list[Problem]:
    """What one validation of these values has found."""
    details = _of_the_type_given(error.errors(include_url=False), raw)
    return [problem for detail in details for problem in _translate(detail, raw)]


def _of_the_type_given(details: Sequence[Any], raw: dict[str, Any]) -> list[Any]:
    """Where a value has one of the types that its key admits but breaks a bound, what the other types say is left out."""
    of_type = [detail["type"].endswith("_type") for detail in details]
    paths = [_written_path(detail["loc"], raw, keep_last=False) for detail in details]
    bounded = {path for path, about_type in zip(paths, of_type, strict=True) if not about_type}
    return [
        detail
        for detail, path, about_type in zip(details, paths, of_type, strict=True)
        if not (about_type and path in bounded)
    ]


def _meant(path: KeyPath, raw: dict[str, Any]) -> KeyPath:
    """The path that a misspelt one was probably meant to be: the nearest name that its table does not have."""
    table: Any = raw
    for part in path[:-1]:
        table = table.get(part, {}) if isinstance(table, dict) else {}
    chosen, _ = _sections_at(path[:-1])
    names = [name for section in chosen for name in section.model_fields if name not in table]
    close = closest(str(path[-1]), names) if path else None
    return (*path[:-1], close) if close else path


def _without(raw: dict[str, Any], paths: set[KeyPath]) -> dict[str, Any]:
    """The values without those at the paths; an array with a wrong element is left out whole."""
    kept = deepcopy(raw)
    for path in paths:
        names = list(takewhile(lambda part: isinstance(part, str), path))
        table: Any = kept
        for name in names[:-1]:
            table = table.get(name, {}) if isinstance(table, dict) else {}
        if names and isinstance(table, dict):
            table.pop(names[-1], None)
    return kept


def _dotted(path: KeyPath) -> str:
    text = ""
    for part in path:
        if isinstance(part, str) and "." in part:
            part = f'"{part}"'
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _line(place: str) -> int:
    return int(place.rpartition(":")[2]) if place.rpartition(":")[2].isdigit() else 0


def _translate(detail: Any, raw: dict[str, Any]) -> Iterator[Problem]:
    """What one pydantic error says of the file."""
    kind, location, given = detail["type"], detail["loc"], detail["input"]
    context = detail.get("ctx", {})
    path = _written_path(location, raw, keep_last=kind in ("missing", "extra_forbidden"))
    if kind == "rules":
        tags = _tags_at(location, path)
        for key, message, reads in context["broken"]:
            yield Problem((*path, *path_of(key)), message, tags | {(*path, *path_of(read)) for read in reads})
        return
    tags = _tags_at(location[:-1], path[:-1])
    if kind == "extra_forbidden":
        owners = _owners(location)
        yield Problem(path, f"only with {owners}", tags) if owners else Problem(path, _unknown_key(location))
    elif kind == "missing":
        yield Problem(path, "is required", tags)
    elif kind == "union_tag_invalid":
        tag = context["discriminator"].strip("'")
        wrong = _not_an_option(context["tag"], _quoted_words(context["expected_tags"]))
        yield Problem((*path, tag), f"{wrong}; {OR_OF_A_PLUGIN}" if location[0] in SORTS else wrong)
    elif kind == "union_tag_not_found":
        yield Problem((*path, context["discriminator"].strip("'")), "must be a string")
    elif kind == "literal_error":
        yield Problem(path, _not_an_option(given, _quoted_words(context["expected"])), tags)
    elif kind == "too_short":
        yield Problem(path, f"must have at least {context['min_length']}, not {context['actual_length']}")
    elif kind == "value_error":
        yield Problem(path, str(context["error"]))
    elif kind in ("model_type", "model_attributes_type"):
        yield Problem(path, f"must be a table of keys{_as_table(location, given, path)}, not {_show(given)}")
    else:
        message = _lower(detail["msg"]).replace("input should", "it should").replace("valid tuple", "valid array")
        yield Problem(path, f"{_show(given)} is not allowed; {message}")


def _tags_at(location: KeyPath, path: KeyPath) -> frozenset[KeyPath]:
    """The keys that tell which section stands at a location, written at a path."""
    chosen, _ = _sections_at(location)
    return frozenset(
        (*path, tag) for section in chosen for tag in {_tag_of(section)[0], "kind"} & section.model_fields.keys()
    )


def _written_path(location: KeyPath, raw: Any, keep_last: bool) -> KeyPath:
    """The part of pydantic's location that stands in the file: union tags and type names drop out."""
    path: KeyPath = ()
    for index, part in enumerate(location):
        last = index == len(location) - 1
        inside_table = isinstance(raw, dict) and part in raw
        inside_array = isinstance(raw, list) and isinstance(part, int) and part < len(raw)
        if inside_table or inside_array:
            raw = raw[part]
        elif not (last and keep_last):
            continue
        path = (*path, part)
    return path


def _owners(location: KeyPath) -> str:
    """The other variants that have the key, as ``tag = "value" or "value"``; empty where none has."""
    chosen, family = _sections_at(location[:-1])
    others = [other for other in family if other not in chosen and location[-1] in other.model_fields]
    kinds = {_kind_of(section) for section in chosen}
    of_this_kind = [_tag_of(other) for other in others if _kind_of(other) in kinds]
    owners = of_this_kind or [("kind", kind) for kind in dict.fromkeys(map(_kind_of, others))]
    return f"{owners[0][0]} = " + " or ".join(f'"{value}"' for _, value in owners) if owners else ""


def _unknown_key(location: KeyPath) -> str:
    chosen, _ = _sections_at(location[:-1])
    allowed = sorted({field.alias or name for section in chosen for name, field in section.model_fields.items()})
    of_a_plugin = f"; {OR_OF_A_PLUGIN}" if Until in chosen else ""
    return f"unknown key; {nearest(str(location[-1]), allowed)}allowed: {', '.join(allowed)}{of_a_plugin}"


def _as_table(location: KeyPath, given: Any, path: KeyPath) -> str:
    """`, such as { total = 0.1 } or …`: the tables of one key that admit the value which stands there alone; nothing for
    whole sections, which have many keys."""
    found = []
    for section in _sections_at(location)[0] if len(path) > 1 else ():
        for name in section.model_fields:
            try:
                section.model_validate({name: given})
            except ValidationError:
                continue
            found.append(f"{{ {name} = {toml.inline(given)} }}")
    return f", such as {' or '.join(found[:MOST_TABLES])}" if found else ""


def _sections_at(location: KeyPath) -> tuple[list[type[Section]], list[type[Section]]]:
    """(the section models validated at a location, all variants that its key admits)."""
    family: list[type[Section]] = [Scenario]
    chosen = family
    for part in location:
        fields = [section.model_fields[part] for section in chosen if part in section.model_fields]
        if fields:
            family = [model for field in fields for model in _models_in(field.annotation)]
            chosen = family
        else:
            chosen = [section for section in family if _tag_of(section)[1] == part] or chosen
    return chosen, family


def variants_at(path: KeyPath) -> list[type[Section]]:
    """All sections that may stand at a written path."""
    family: list[type[Section]] = [Scenario]
    for part in path:
        if isinstance(part, str):
            fields = [section.model_fields[part] for section in family if part in section.model_fields]
            family = [model for field in fields for model in _models_in(field.annotation)]
    return family


def section_of(path: KeyPath, table: Any) -> type[Section] | None:
    """That of the variants which the tags in a table name; None where they name none."""
    return next((section for section in variants_at(path) if _is_told(section, table)), None)


def _is_told(section: type[Section], table: Any) -> bool:
    """Whether the tags in a table are those of the section."""
    tags = {name: field for name, field in section.model_fields.items() if len(words(field.annotation)) == 1}
    return isinstance(table, dict) and all(
        table.get(name, field.default) == words(field.annotation)[0] for name, field in tags.items()
    )


def words(annotation: Any) -> tuple[Any, ...]:
    """The words that a key admits; () where it admits anything else."""
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _models_in(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _tag_of(section: type[Section]) -> tuple[str, str]:
    if section.TAG:
        return section.TAG, get_args(section.model_fields[section.TAG].annotation)[0]
    kind = _kind_of(section)
    return ("kind", kind) if kind else ("", "")


def _kind_of(section: type[Section]) -> str:
    """The value of the section's `kind`; "" where that does not tell variants apart."""
    kind = section.model_fields.get("kind")
    return get_args(kind.annotation)[0] if kind else ""


def _not_an_option(given: Any, options: list[str]) -> str:
    hint = nearest(given, options) if isinstance(given, str) else ""
    return f"{_show(given)} is not allowed; {hint}allowed: {', '.join(options)}"


def _quoted_words(text: str) -> list[str]:
    """The options in pydantic's "'a', 'b' or 'c'"."""
    return text.split("'")[1::2]


def _show(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    return repr(value)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
