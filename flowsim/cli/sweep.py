"""flowsim sweep"""

from __future__ import annotations

import argparse
from typing import Any

from ..signals import endings
from .common import add_json, add_scenario, add_volume, print_json, read_scenario
from .terminal import say

#: The list at the end names at most so many points.
NAMED = 20


def configure(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the sweep")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=_positive, metavar="N", help="processes on this machine (default: as many as cores)"
    )
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler to use instead, such as tcp://host:8786"
    )
    parser.add_argument("--resume", action="store_true", help="run what is missing or failed in DIR")
    parser.add_argument("--overwrite", action="store_true", help="replace the sweep in DIR")
    add_volume(parser)
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    with endings():
        return _execute(options)


def _execute(options: argparse.Namespace) -> int:
    scenario = read_scenario(options)
    if options.verbose:
        from .check import described

        say("\n".join(described(scenario)[1]))

    from ..sweep import sweep
    from .sweep_table import SweepTable

    with SweepTable(options.quiet) as table:
        result = sweep(
            scenario,
            options.output,
            workers=options.workers,
            scheduler=options.scheduler,
            resume=options.resume,
            overwrite=options.overwrite,
            watch=table,
            warn=say,
        )
    if not options.quiet or result.failed or result.cut:
        for line in _lines(result):
            say(line)
    if options.json:
        print_json(_facts(result))
    return int(result.exit_code)


def _lines(result: Any) -> list[str]:
    ran = f"{result.ran} ran now" if result.ran else "nothing was left to run"
    found = [f"{result.done} of {result.points} points are done, {len(result.failed)} failed; {ran}"]
    for point, (status, cause) in [*result.failed.items()][:NAMED]:
        found.append(f"  {point}: {status}: {cause}")
    if len(result.failed) > NAMED:
        found.append(f"  and {len(result.failed) - NAMED} more, in {result.folder / 'manifest.jsonl'}")
    if result.cut:
        found.append(f"{result.cut}; --resume runs what is missing")
    if result.dataset:
        found.append(str(result.dataset))
    return found


def _facts(result: Any) -> dict[str, Any]:
    return {
        "folder": str(result.folder),
        "dataset": str(result.dataset) if result.dataset else None,
        "points": result.points,
        "done": result.done,
        "ran": result.ran,
        "failed": [
            {"point": point, "status": status, "cause": cause} for point, (status, cause) in result.failed.items()
        ],
        "cut": result.cut,
        "exit_code": result.exit_code,
    }


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of processes, 1 or more')
    return int(text)
