"""flowsim report"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import UsageError
from .common import is_sweep
from .terminal import say


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", metavar="RUN.nc", nargs="+", help="a result of flowsim run; several stand side by side"
    )
    parser.add_argument(
        "-o", "--output", metavar="REPORT.html", help="the page (default: the first result's name, here)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing page")
    parser.add_argument("--seed", type=int, help="the member of an ensemble to show; without it, all of them together")


def execute(options: argparse.Namespace) -> int:
    from ..present.page import write_report

    output = Path(options.output or Path(options.results[0]).with_suffix(".html").name)
    if not _of_sweep(options, output):
        write_report(options.results, output, overwrite=options.overwrite, seed=options.seed)
    say(str(output))
    return 0


def _of_sweep(options: argparse.Namespace, output: Path) -> bool:
    """Write the page about a sweep, if it is one that is shown; whether it is."""
    from ..present.sweeps import write_report

    sweeps = [name for name in options.results if is_sweep(name)]
    if not sweeps:
        return False
    if len(options.results) > 1 or options.seed is not None:
        raise UsageError(f"{sweeps[0]}: is a sweep, which has a page of its own, of all its points")
    from ..sweep import open_sweep

    with open_sweep(sweeps[0]) as dataset:
        write_report(dataset, output, name=Path(sweeps[0]).name, overwrite=options.overwrite)
    return True
