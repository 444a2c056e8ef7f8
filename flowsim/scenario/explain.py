"""Validation errors in the words of the scenario file: where, what is wrong, what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import ValidationError

from ..errors import Issue
from .base import Section
from .scenario import DEFAULT_TAGS, Scenario
from .source import Source, path_of

Path_ = tuple[str | int, ...]


def explain(error: ValidationError, raw: dict[str, Any], source: Source) -> list[Issue]:
    """One issue per key that is wrong, in the order of the file."""
    messages: dict[Path_, list[str]] = {}
    for detail in error.errors(include_url=False):
        for path, message in _translate(detail, raw):
            known = messages.setdefault(path, [])
            if message not in known:
                known.append(message)
    issues = [
        Issue(_dotted(path), "; or ".join(found), source.place(path))
        for path, found in messages.items()
        if not any(len(other) > len(path) and other[: len(path)] == path for other in messages)
    ]
    return sorted(issues, key=lambda issue: _line(issue.place))


def nearest(word: str, options: Iterable[str]) -> str:
    """`did you mean "x"? ` for the option closest to the word, or nothing."""
    close = difflib.get_close_matches(word, list(options), n=1, cutoff=0.6)
    return f'did you mean "{close[0]}"? ' if close else ""


def _dotted(path: Path_) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _line(place: str) -> int:
    return int(place.rpartition(":")[2]) if place.rpartition(":")[2].isdigit() else 0


def _translate(detail: Any, raw: dict[str, Any]) -> Iterator[tuple[Path_, str]]:
    """(path in the file, message) of one pydantic error."""
    kind, location, given = detail["type"], detail["loc"], detail["input"]
    context = detail.get("ctx", {})
    path = _written_path(location, raw, keep_last=kind in ("missing", "extra_forbidden"))
    if kind == "rules":
        for key, message in context["problems"]:
            yield (*path, *path_of(key)), message
    elif kind == "extra_forbidden":
        yield path, _unknown_key(location)
    elif kind == "missing":
        yield path, "is required"
    elif kind == "union_tag_invalid":
        tag = context["discriminator"].strip("'")
        yield (*path, tag), _not_an_option(context["tag"], _quoted_words(context["expected_tags"]))
    elif kind == "union_tag_not_found":
        yield (*path, context["discriminator"].strip("'")), "must be a string"
    elif kind == "literal_error":
        yield path, _not_an_option(given, _quoted_words(context["expected"]))
    elif kind == "value_error":
        yield path, str(context["error"])
    elif kind in ("model_type", "model_attributes_type"):
        yield path, f"must be a table of keys, not {_show(given)}"
    else:
        yield path, f"{_show(given)} is not allowed; {_lower(detail['msg']).replace('input should', 'it should')}"


def _written_path(location: Path_, raw: Any, keep_last: bool) -> Path_:
    """The part of pydantic's location that stands in the file: union tags and type names drop out."""
    path: Path_ = ()
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


def _unknown_key(location: Path_) -> str:
    chosen, family = _sections_at(location[:-1])
    key = str(location[-1])
    owners = [_tag_of(other) for other in family if other not in chosen and key in other.model_fields]
    if owners:
        return f"only with {owners[0][0]} = " + " or ".join(f'"{value}"' for _, value in owners)
    allowed = sorted({name for section in chosen for name in section.model_fields})
    return f"unknown key; {nearest(key, allowed)}allowed: {', '.join(allowed)}"


def _sections_at(location: Path_) -> tuple[list[type[Section]], list[type[Section]]]:
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


def _models_in(annotation: Any) -> list[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _tag_of(section: type[Section]) -> tuple[str, str]:
    for tag, _ in DEFAULT_TAGS.values():
        if tag in section.model_fields and tag != "kind":
            return tag, get_args(section.model_fields[tag].annotation)[0]
    kind = section.model_fields.get("kind")
    return ("kind", get_args(kind.annotation)[0]) if kind else ("", "")


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
