"""flowsim run"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .common import add_json, add_scenario, print_json, read_scenario, say


def configure(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "-o", "--output", metavar="RUN.nc", help="the result (default: the scenario's name with .nc, here)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing result")
    parser.add_argument("--resume", action="store_true", help="go on from what an interrupted run left in the result")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    scenario = read_scenario(options)
    if scenario.sweep.keys:
        say("the scenario is run as it is; its [sweep] is for flowsim sweep")
    output = Path(options.output or Path(options.scenario).with_suffix(".nc").name)

    from ..run import run
    from ..run.progress import ProgressBar
    from .glance import Sheet
    from .page import summary, text

    with ProgressBar(scenario) as bar:
        tree = run(
            scenario, output, overwrite=options.overwrite, resume=options.resume, progress=bar.listener, warn=bar.say
        )
    if options.json:
        print_json({"output": str(output), **summary(tree)})
    else:
        say(text(tree, Sheet.of(sys.stderr)))
    say(str(output))
    return int(tree["numerics"].attrs["exit_code"])
