"""flowsim plot"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .common import say

FORMATS = (".png", ".svg", ".pdf")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", metavar="RUN.nc", help="a result of flowsim run")
    parser.add_argument("kind", metavar="KIND", nargs="?", help="what to draw; left out, says what can be drawn")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FIG",
        help=f"a name that ends with {', '.join(FORMATS)} (default: RUN-KIND.png, here)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing picture")
    parser.add_argument("--log-time", action="store_true", help="a log axis of time")
    parser.add_argument("--at", type=float, metavar="TIME", help="flow time of the instant, for cosines and boundary")
    parser.add_argument("--seed", type=int, help="the member of an ensemble")
    parser.add_argument("--by-cluster", action="store_true", help="alignment: a band for each target cluster")
    parser.add_argument(
        "--clusters", type=_indices, metavar="K,K", help="alignment: these clusters; phase_portrait: along these two"
    )
    parser.add_argument("--dpi", type=float, default=150.0, help="dots per inch of a PNG (default: 150)")


def execute(options: argparse.Namespace) -> int:
    from ..report.kinds import KINDS, obstacles, plot
    from ..results import check_writable, open

    with open(options.result) as tree:
        if options.kind is None:
            print("\n".join(_listed(KINDS, obstacles(tree))))
            return 0
        output = Path(options.output or f"{Path(options.result).stem}-{options.kind}.png")
        if output.suffix.lower() not in FORMATS:
            raise UsageError(f"{output}: a picture's name ends with {', '.join(FORMATS)}")
        check_writable(output, options.overwrite)
        axes: Any = plot(tree, options.kind, log_time=options.log_time, interactive=False, **_given(options))
        axes.get_figure().savefig(output, dpi=options.dpi)
    say(str(output))
    return 0


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options of a kind that were given."""
    named = {"at": options.at, "seed": options.seed, "clusters": options.clusters}
    named["by_cluster"] = options.by_cluster or None
    return {name: value for name, value in named.items() if value is not None}


def _listed(kinds: dict[str, str], obstacles: dict[str, str]) -> list[str]:
    return [
        f"{kind:<18}{kinds[kind]}" + (f"\n{'':<18}not from this result: {why}" if why else "")
        for kind, why in obstacles.items()
    ]


def _indices(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a list of clusters such as 0,3') from None
