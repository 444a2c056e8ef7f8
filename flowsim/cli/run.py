"""flowsim run"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import UsageError
from ..processes import Lost, first, join, leave, together
from ..scenario import Scenario
from ..signals import endings
from .common import add_json, add_scenario, add_volume, print_json, read_scenario
from .terminal import say


def configure(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="RUN.nc",
        help="the result: a file, a Zarr store where the name ends in .zarr, or an address such as s3://bucket/run.nc "
        "(default: the scenario's name with .nc, here)",
    )
    parser.add_argument(
        "--certify",
        action="store_true",
        help="estimate the global error of every variable by a companion run, as flow.certify = true does",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing result")
    parser.add_argument("--resume", action="store_true", help="go on from what an interrupted run left in the result")
    parser.add_argument(
        "--checkpoint-every",
        type=_seconds,
        metavar="SECONDS",
        help="wall time between two checkpoints (default: as often as costs no more than 2 %% of the time)",
    )
    parser.add_argument(
        "--distributed",
        action="store_true",
        help="this is one of several processes that run the scenario together, each with a share of the samples; "
        "flow.devices says with how many devices. The first of them writes and speaks",
    )
    add_volume(parser)
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    try:
        with endings():
            return _execute(options)
    except Lost as error:
        say(str(error))
        leave(error.exit_code)


def _execute(options: argparse.Namespace) -> int:
    if options.distributed:
        join()
    quiet = options.quiet or not first()
    with together("read its scenario"):
        scenario = read_scenario(options)
        scenario = _certified(scenario) if options.certify else scenario
    if options.verbose and not quiet:
        from .check import described

        say("\n".join(described(scenario)[1]))
    if scenario.sweep.keys:
        say("the scenario is run as it is; its [sweep] is for flowsim sweep")
    output = options.output or Path(options.scenario).with_suffix(".nc").name

    from ..run import run
    from ..run.progress import ProgressBar
    from .page import summary, text
    from .sparklines import Sheet

    with ProgressBar(scenario, quiet) as bar:
        tree = run(
            scenario,
            output,
            overwrite=options.overwrite,
            resume=options.resume,
            checkpoint_every=options.checkpoint_every,
            progress=bar.listener,
            warn=bar.say,
        )
    if options.json and first():
        print_json({"output": output, **summary(tree)})
    elif not quiet:
        say(text(tree, Sheet.of(sys.stderr)))
    if not quiet:
        say(output)
    return int(tree["numerics"].attrs["exit_code"])


def _certified(scenario: Scenario) -> Scenario:
    """The same with the errors of its flows estimated."""
    asked = {f"{key}.certify": True for key, flow in scenario.flows() if not flow.descends}
    if not asked:
        raise UsageError("--certify: descent makes its steps exactly; only the error of a flow is estimated")
    return scenario.replace(asked)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of seconds, 0 or more')
    return seconds
