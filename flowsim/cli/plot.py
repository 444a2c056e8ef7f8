"""flowsim plot"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..durable import claimed, written_aside
from ..errors import UsageError
from ..gate import NO_FILE, obstacle
from .common import is_sweep, put
from .terminal import say

FORMATS = (".png", ".svg", ".pdf")
#: The options of pictures of sweeps.
OF_SWEEPS = ("of", "over", "by", "law")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results",
        action=_Words,
        metavar="RUN.nc [RUN.nc …] [KIND]",
        nargs="+",
        help="a result of flowsim run, or several to draw on one axis, and what to draw; left out, says what can be drawn",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FIG",
        help=f"a name that ends with {', '.join(FORMATS)} (default: RUN-KIND.png, here)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing picture")
    parser.add_argument("--log-time", action="store_true", help="a log axis of time")
    parser.add_argument(
        "--clock",
        metavar="CLOCK",
        help="of several runs: time (default), log_time, log_loss or progress (of the phases)",
    )
    parser.add_argument(
        "--at",
        type=float,
        metavar="TIME",
        help="flow time of the instant, on the loss clock its log10; for cosines and boundary",
    )
    parser.add_argument("--seed", type=int, help="the member of an ensemble")
    parser.add_argument("--by-cluster", action="store_true", help="alignment: a band for each target cluster")
    parser.add_argument(
        "--clusters", type=_indices, metavar="K,K", help="alignment: these clusters; phase_portrait: along these two"
    )
    parser.add_argument(
        "--of", metavar="NAME", help="variable: its name; of a sweep: the number, phase or claim to draw"
    )
    parser.add_argument("--over", metavar="KEY", help="of a sweep: the swept key to draw over")
    parser.add_argument("--by", metavar="KEY", help="of a sweep: a second swept key")
    parser.add_argument("--law", choices=("power", "log"), help="of a sweep: what scaling fits (default: power)")
    parser.add_argument("--dpi", type=float, default=150.0, help="dots per inch of a PNG (default: 150)")


def execute(options: argparse.Namespace) -> int:
    from ..present.kinds import KINDS, obstacles, plot
    from ..results import open

    if len(options.results) > 1:
        return _of_several(options)
    (options.result,) = options.results
    if is_sweep(options.result):
        return _of_sweep(options)
    if options.clock is not None:
        raise UsageError(f"{options.result}: is one result; --clock is for several, and --log-time for one")
    with open(options.result) as tree:
        if options.kind is None:
            put("\n".join(_listed(KINDS, obstacles(tree))))
            return 0
        output = _output(options)
        with claimed(output, options.overwrite):
            drawn = plot(tree, options.kind, log_time=options.log_time, interactive=False, **_given(options))
            _save(drawn, output, options)
    return 0


class _Words(argparse.Action):
    """Results, and a kind: the last of several words, unless it names a file."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, words: Any, *_: Any) -> None:
        *before, last = words
        is_file = last.endswith((".nc", ".zarr")) or (last not in _kinds() and obstacle(Path(last)) != NO_FILE)
        namespace.results, namespace.kind = (words, None) if not before or is_file else (before, last)


def _kinds() -> set[str]:
    from ..present.kinds import KINDS
    from ..present.sweeps import KINDS as OF_SWEEPS

    return {*KINDS, *OF_SWEEPS}


def _of_several(options: argparse.Namespace) -> int:
    from ..present.overlay import overlay
    from ..present.run import opened

    sweeps = [name for name in options.results if is_sweep(name)]
    if sweeps:
        raise UsageError(f"{sweeps[0]}: is a sweep, which is drawn by itself")
    if options.kind is None:
        raise UsageError(
            "several results need a kind, such as loss; flowsim plot of one of them says what can be drawn"
        )
    output, given = _output(options), _given(options)
    clock = options.clock or ("log_time" if options.log_time else None)
    with ExitStack() as stack, claimed(output, options.overwrite):
        runs = opened(options.results, given.pop("seed", None), stack)
        _save(overlay(runs, options.kind, clock=clock, interactive=False, **given), output, options)
    return 0


def _of_sweep(options: argparse.Namespace) -> int:
    from ..present.sweeps import KINDS, plot
    from ..sweep import open_sweep

    if options.kind is None:
        put("\n".join(_listed(KINDS, dict.fromkeys(KINDS, ""))))
        return 0
    output, given = _output(options), _given(options)
    wrong = sorted(given.keys() - set(OF_SWEEPS)) + (["log_time"] if options.log_time else [])
    wrong += ["clock"] if options.clock else []
    if wrong:
        raise UsageError(f"{options.kind}: takes no {' and no '.join(wrong)}; it takes {', '.join(OF_SWEEPS)}")
    with claimed(output, options.overwrite), open_sweep(options.result) as dataset:
        _save(plot(dataset, options.kind, interactive=False, **given), output, options)
    return 0


def _output(options: argparse.Namespace) -> Path:
    """The name of the picture."""
    output = Path(options.output or f"{Path(options.results[0]).stem}-{options.kind}.png")
    if output.suffix.lower() not in FORMATS:
        raise UsageError(f"{output}: a picture's name ends with {', '.join(FORMATS)}")
    return output


def _save(axes: Any, output: Path, options: argparse.Namespace) -> None:
    with written_aside(output) as aside:
        axes.get_figure().savefig(aside, dpi=options.dpi, format=output.suffix[1:].lower())
    say(str(output))


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options of a kind that were given."""
    named = {name: getattr(options, name) for name in ("at", "seed", "clusters", *OF_SWEEPS)}
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
