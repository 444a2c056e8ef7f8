"""flowsim explore"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..durable import claimed
from ..errors import UsageError
from .common import add_json, add_scenario, finite, print_json, put, read_scenario
from .terminal import say

SUFFIXES = (".nc", ".zarr")
#: Columns of the page of text, their widths, and how many points it shows.
COLUMNS = {
    "origin": 9,
    "width": 7,
    "times": 7,
    "normalised_margin": 19,
    "directions": 12,
    "attracts": 10,
    "test_error": 12,
    "residual": 14,
}
SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    parser.description = f"{parser.description}; SCENARIO.toml may be a result, RUN.nc, too"
    parser.add_argument(
        "-o", "--output", required=True, metavar="POINTS.nc", help="the dataset of KKT points, a file or a Zarr store"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    parser.add_argument("--starts", type=int, default=20, help="random networks of each width (default: %(default)s)")
    parser.add_argument("--patterns", type=int, default=50, help="random gates of each width (default: %(default)s)")
    parser.add_argument(
        "--widths", type=int, nargs="+", metavar="M", help="numbers of neurons (default: the scenario's)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of these draws, not of the samples (default: %(default)s)")
    parser.add_argument("--samples", type=int, default=1000, help="test samples (default: %(default)s)")
    parser.add_argument(
        "--probes", type=int, default=10, help="test samples whose radii are looked for (default: %(default)s)"
    )
    parser.add_argument(
        "--claims", nargs="+", default=[], metavar="NAME", help="claims about every KKT point, to ask each of them"
    )
    parser.add_argument("--member", type=int, help="the seed, of an ensemble's result")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but warnings and errors")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    import xarray as xr

    from ..evaluate.kkt.explore import kkt_points
    from ..results.store import write

    output = Path(options.output)
    if output.suffix not in SUFFIXES:
        raise UsageError(f"{output}: the name of a dataset ends with {' or '.join(SUFFIXES)}")
    asked = ("starts", "patterns", "widths", "seed", "samples", "probes", "claims", "member")
    with claimed(output, options.overwrite):
        found = kkt_points(
            _problem(options),
            **{name: getattr(options, name) for name in asked},
            progress=None if options.quiet else _tell,
        )
        write(xr.DataTree(found), output)
    if options.json:
        print_json({"output": str(output), **_summary(found)})
    elif not options.quiet:
        put("\n".join(_page(found)))
    if not options.quiet:
        say(f"{output}: {found.sizes['point']} KKT points")
    return 0


def _problem(options: argparse.Namespace) -> Any:
    if not options.scenario.endswith(SUFFIXES):
        return read_scenario(options)
    if options.overrides or options.unset:
        raise UsageError(f"{options.scenario}: is a result; --set and --unset are for scenarios")
    return options.scenario


def _tell(done: int, total: int, found: int) -> None:
    """A line at each tenth of the tries."""
    if done == total or done * 10 // total > (done - 1) * 10 // total:
        say(f"{done} of {total} tries, {found} KKT points")


def _summary(found: Any) -> dict[str, Any]:
    """None where a number is not known."""
    bounds = ("best_margin_at_least", "best_margin_at_most")
    told: dict[str, Any] = {name: finite(found[name].item()) if name in found else None for name in bounds}
    rows = found[list(COLUMNS)].to_dataframe().reset_index(drop=True)
    told["points"] = rows.to_dict(orient="records")
    if "verdict" in found:
        told["verdicts"] = {
            str(name): [str(word) for word in found["verdict"].sel(claim=name).values] for name in found["claim"].values
        }
    return told


def _page(found: Any) -> list[str]:
    from ..evaluate.verdicts import counted

    told = _summary(found)
    lines = ["".join(f"{name:>{width}}" for name, width in COLUMNS.items())]
    for row in told["points"][:SHOWN]:
        cells = (f"{value:.5g}" if isinstance(value, float) else str(value) for value in row.values())
        lines.append("".join(f"{cell:>{width}}" for cell, width in zip(cells, COLUMNS.values(), strict=True)))
    rest = len(told["points"]) - SHOWN
    lines += [f"and {rest} more"] if rest > 0 else []
    least, most = (told[name] for name in ("best_margin_at_least", "best_margin_at_most"))
    known = f"{most:.10g}" if most is not None else "unknown"
    lines.append(f"largest margin over all networks of any width: at least {least:.10g}, at most {known}")
    lines += [f"{name}: {counted(verdicts)}" for name, verdicts in told.get("verdicts", {}).items()]
    return lines
