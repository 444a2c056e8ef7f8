"""flowsim show"""

from __future__ import annotations

import argparse
import sys

from .common import add_json, is_sweep, print_json, put


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RUN.nc", help="a result of flowsim run, or the dataset of a sweep")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    from ..present.summary import completed
    from ..results import open
    from .page import summary, text
    from .sparklines import Sheet

    if is_sweep(options.result):
        return _of_sweep(options)
    with open(options.result) as result:
        tree = completed(result)
        if options.json:
            print_json(summary(tree))
        else:
            put(text(tree, Sheet.of(sys.stdout)))
    return 0


def _of_sweep(options: argparse.Namespace) -> int:
    from ..sweep import open_sweep
    from .sparklines import Sheet
    from .sweep_page import summary, text

    with open_sweep(options.result) as dataset:
        if options.json:
            print_json(summary(dataset))
        else:
            put(text(dataset, Sheet.of(sys.stdout)))
    return 0
