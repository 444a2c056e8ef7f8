"""What several commands share."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..gate import obstacle
from ..markup import visible
from ..scenario import Changes, Scenario, load_changed, parse_assignment


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """The scenario file and its overrides."""
    parser.add_argument("scenario", metavar="SCENARIO.toml", help="the scenario file")
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


def read_scenario(options: argparse.Namespace) -> Scenario:
    overrides = dict(parse_assignment(text) for text in options.overrides)
    return load_changed(options.scenario, Changes(overrides, options.unset, "--set", "--unset"))


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
    print(visible(text))


def print_json(summary: Mapping[str, Any]) -> None:
    print(json.dumps(summary, indent=2, allow_nan=False, default=float))


def finite(value: float) -> float | None:
    """JSON has no nan and no infinity."""
    return float(value) if abs(value) < float("inf") else None
