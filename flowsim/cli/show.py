"""flowsim show"""

from __future__ import annotations

import argparse
import sys

from .common import add_json, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RUN.nc", help="a result of flowsim run")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    from ..report.summary import completed
    from ..results import open
    from .glance import Sheet
    from .page import summary, text

    with open(options.result) as result:
        tree = completed(result)
        if options.json:
            print_json(summary(tree))
        else:
            print(text(tree, Sheet.of(sys.stdout)))
    return 0
