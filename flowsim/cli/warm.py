"""flowsim warm"""

from __future__ import annotations

import argparse
import sys

from .common import add_json, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="also for solvers, clocks and precisions that have to be asked for"
    )
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    from tqdm import tqdm

    from .. import machine
    from ..errors import UsageError
    from ..warm import RARE, USUAL, warm

    folder = machine.folder()
    if not machine.writable(folder):
        raise UsageError(f"{folder}: cannot be written to; {machine.VARIABLE} names another folder")
    names = [*USUAL, *(RARE if options.all else ())]
    took: dict[str, float] = {}
    with tqdm(total=len(names), desc="compiling", unit="kernel", file=sys.stderr, disable=None, leave=False) as bar:

        def told(name: str, seconds: float) -> None:
            took[name] = round(seconds, 1)
            bar.update()
            if not options.json:
                bar.write(f"{name:<32} {f'{seconds:.0f} s' if seconds else 'was there'}", file=sys.stdout)

        warm(names, told)
    if options.json:
        print_json({"folder": str(folder), "seconds": took})
    else:
        print(folder)
    return 0
