"""What several commands share."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import Issue, ScenarioError
from ..gate import NO_FILE, obstacle
from ..scenario import Changes, Scenario, load_changed, parse_assignment
from ..scenario.shipped import meant, shipped
from .terminal import say, shown


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """The scenario file and its overrides."""
    parser.add_argument(
        "scenario", metavar="SCENARIO.toml", help="the scenario file, or the name of one that ships with flowsim"
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key, e.g. --set data.samples=100; may be repeated",
    )
    parser.add_argument(
        "--unset",
        action="append",
        default=[],
        metavar="SECTION.KEY",
        help="take a key out of the scenario, so that it has its default; may be repeated",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print a machine-readable summary to standard output")


def add_volume(parser: argparse.ArgumentParser) -> None:
    """How much is said on standard error beside warnings and errors."""
    volume = parser.add_mutually_exclusive_group()
    volume.add_argument("-q", "--quiet", action="store_true", help="say nothing but warnings and errors")
    volume.add_argument("-v", "--verbose", action="store_true", help="say first what will run, and why so")


def read_scenario(options: argparse.Namespace) -> Scenario:
    overrides = dict(parse_assignment(text) for text in options.overrides)
    return load_changed(_file_of(options.scenario), Changes(overrides, options.unset, "--set", "--unset"))


def _file_of(given: str) -> Path:
    """The file of this name; where there is none, that of the scenario which ships with flowsim under it."""
    file = Path(given)
    if obstacle(file) != NO_FILE:
        return file
    known, name = shipped(), given.removesuffix(".toml")
    if given in known:
        say(f"{given}: the scenario that ships with flowsim; flowsim new {given} copies it, to edit")
        return known[given]
    hint = f"flowsim new {name} makes it" if name in known else meant(name) and f"{meant(name)}see flowsim list"
    raise ScenarioError([Issue("", f"{NO_FILE}; {hint}" if hint else NO_FILE, given)])


def is_sweep(result: str) -> bool:
    """Whether a file is the dataset of a sweep, or a folder that of one, rather than the result of a run. Asked of netCDF4
    itself, which crashes where a file is opened as a whole tree and then as a part of it."""
    import netCDF4

    path = Path(result)
    if obstacle(path) == "is a folder":
        return not obstacle(path / "sweep.nc")
    if obstacle(path):
        return False
    try:
        with netCDF4.Dataset(path) as file:
            return "sweep_keys" in file.ncattrs()
    except (OSError, RuntimeError):
        return False


def put(text: str) -> None:
    """What was asked for, to standard output."""
    print(shown(text, sys.stdout))


def print_json(summary: Mapping[str, Any]) -> None:
    print(json.dumps(summary, indent=2, allow_nan=False, default=float))


def finite(value: float) -> float | None:
    """JSON has no nan and no infinity."""
    return float(value) if abs(value) < float("inf") else None
