"""flowsim list"""

from __future__ import annotations

import argparse
from typing import Any

from ..kinds.registry import REGISTRIES, Registry
from ..scenario.shipped import shipped, title
from .common import add_json, print_json, put


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kinds", action="store_true", help="the kinds that scenarios name, by sort, in place of scenarios"
    )
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    if options.kinds:
        return _kinds(options)
    titles = {name: title(file) for name, file in shipped().items()}
    if options.json:
        print_json({"scenarios": titles})
        return 0
    width = max(map(len, titles), default=0)
    for name, line in titles.items():
        put(f"{name:<{width}}  {line}")
    return 0


def _kinds(options: argparse.Namespace) -> int:
    found = {sort: _facts(registry) for sort, registry in REGISTRIES.items()}
    if options.json:
        print_json(found)
        return 0
    width = max(len(name) for kinds in found.values() for name in kinds)
    for sort, kinds in found.items():
        put(f"{sort}: {', '.join(REGISTRIES[sort].named_by)}")
        for name, told in kinds.items():
            by = f" [plugin {told['plugin']}]" if told["plugin"] else ""
            put(f"  {name:<{width}}  {told['what']}{by}")
    return 0


def _facts(registry: Registry[Any]) -> dict[str, dict[str, str]]:
    """Name -> what it is in a line, and the plugin that it comes from, "" for flowsim's own."""
    registry.words()  # those of installed plugins are found
    return {name: {"what": registry.line(name), "plugin": str(registry.origin(name) or "")} for name in registry}
