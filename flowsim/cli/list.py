"""flowsim list"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..errors import UsageError
from ..kinds.registry import REGISTRIES, Registry
from ..scenario.shipped import shipped, title
from .common import add_json, print_json, put


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", metavar="WORD", nargs="*", help="only those with all of these in their name or title")
    parser.add_argument(
        "--kinds", action="store_true", help="the kinds that scenarios name, by sort, in place of scenarios"
    )
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    if options.kinds:
        return _kinds(options)
    titles = {name: title(file) for name, file in shipped().items()}
    titles = {name: line for name, line in titles.items() if _named(options.words, name, line)}
    if options.json:
        print_json({"scenarios": titles})
        return 0
    if not titles:
        raise UsageError(f"no shipped scenario has {' and '.join(options.words)} in its name or title")
    width = max(map(len, titles))
    for name, line in titles.items():
        put(f"{name:<{width}}  {line}")
    return 0


def _kinds(options: argparse.Namespace) -> int:
    found = {sort: _facts(registry, options.words) for sort, registry in REGISTRIES.items()}
    if options.json:
        print_json(found)
        return 0
    width = max((len(name) for kinds in found.values() for name in kinds), default=0)
    if not width:
        raise UsageError(f"no kind has {' and '.join(options.words)} in its name or in what it is")
    for sort, kinds in found.items():
        if not kinds:
            continue
        put(f"{sort}: {', '.join(REGISTRIES[sort].named_by)}")
        for name, told in kinds.items():
            by = f" [plugin {told['plugin']}]" if told["plugin"] else ""
            put(f"  {name:<{width}}  {told['what']}{by}")
    return 0


def _facts(registry: Registry[Any], words: Sequence[str]) -> dict[str, dict[str, str]]:
    """Name -> what it is in a line, and the plugin that it comes from, "" for flowsim's own."""
    registry.words()  # those of installed plugins are found
    return {
        name: {"what": registry.line(name), "plugin": str(registry.origin(name) or "")}
        for name in registry
        if _named(words, name, registry.line(name))
    }


def _named(words: Sequence[str], *texts: str) -> bool:
    """Whether each word is in one of the texts, in large letters or small ones."""
    return all(any(word.lower() in text.lower() for text in texts) for word in words)
