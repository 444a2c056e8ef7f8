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

    from ..errors import UsageError
    from ..machine import VARIABLE, folder, writable
    from ..run.compile_ahead import RARE, USUAL, warm

    place = folder()
    if not writable(place):
        raise UsageError(f"{place}: cannot be written to; {VARIABLE} names another folder")
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
        print_json({"folder": str(place), "seconds": took})
    else:
        print(place)
    return 0
