"""flowsim report"""

from __future__ import annotations

import argparse
from pathlib import Path

from .common import say


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
    from ..report.page import write_report

    output = Path(options.output or Path(options.results[0]).with_suffix(".html").name)
    write_report(options.results, output, overwrite=options.overwrite, seed=options.seed)
    say(str(output))
    return 0
