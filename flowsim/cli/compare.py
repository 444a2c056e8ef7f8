"""flowsim compare"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .common import add_json, finite, print_json, put

#: What there is of networks without neurons, for each of their trained arrays.
PER_ARRAY = "relative_array_distance"
PER_NEURON = (
    "cosine_difference",
    "log_norm_difference",
    "output_weight_difference",
    "angle",
    "relative_weight_distance",
)


#: Two instants are but the start and the end.
ENDS = 2
#: Columns of the names of rows, and of each run's values, at least.
NAMES, CELL = 26, 12


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", metavar="RUN.nc", nargs="+", help="two or more results of flowsim run")
    parser.add_argument("--seed", type=int, help="the member of ensembles; without it, all of them together")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from ..errors import UsageError
    from ..present.run import opened
    from ..present.side_by_side import of_runs
    from .sparklines import Sheet

    if len(options.results) < ENDS:
        raise UsageError(f"{options.results[0]}: is one result; compare takes two or more")
    with ExitStack() as stack:
        runs = opened(options.results, options.seed, stack)
        beside = of_runs(runs)
        apart = [
            _apart(runs[0], run, str(why))
            for run, why in zip(runs[1:], beside["why_not_matched"].values[1:], strict=True)
        ]
        facts = _facts(beside, [_integrated(run) for run in runs])
    if options.json:
        print_json(facts | {"distances": apart, "curves": _curves(beside)})
    else:
        lines = [*_lines(facts), *(line for found in apart for line in _distance_lines(found))]
        put(Sheet.of(sys.stdout).fitted(lines))
    return 0


def _integrated(run: Any) -> str:
    told = run.attributes
    sizes = [f"{name} {told[name]:g}" for name in ("step", "rtol") if name in told]  # none of a run in stages
    return ", ".join([f"{told['engine']} {told['solver']}", *sizes])


def _facts(beside: Any, integrated: list[str]) -> dict[str, Any]:
    """All but distances and curves; a number that does not exist is None. Lists are in the order of the runs."""
    ends = ("title", "status", "status_cause")
    runs = []
    for place, name in enumerate(beside["run"].values):
        one = beside.isel(run=place)
        told = {"name": str(name), **{key: str(one[key].values) for key in ends}, "integrated": integrated[place]}
        runs.append({**told, "end": finite(float(one["end_time"])), "log10_end": finite(float(one["end_log10_time"]))})
    claims = {str(name): beside.sel(claim=name) for name in beside["claim"].values}
    return {
        "runs": runs,
        "differences": {
            str(key): list(map(str, beside["setting"].sel(key=key).values)) for key in beside["key"].values
        },
        "phases": _numbers(beside["phase_instant"]),
        "log10_phases": _numbers(beside["phase_log10_instant"]),
        "final": _numbers(beside["final"]),
        "claims": {
            name: {
                "verdict": list(map(str, of["verdict"].values)),
                "measured": list(map(finite, of["measured"].values)),
            }
            for name, of in claims.items()
        },
    }


def _numbers(values: Any) -> dict[str, list[float | None]]:
    """Along the second dimension: a number for each run."""
    return {
        str(name): list(map(finite, row))
        for name, row in zip(values[values.dims[1]].values, values.values.T, strict=True)
    }


def _curves(beside: Any) -> dict[str, Any]:
    """Clock or quantity -> for each run its values, at its own instants."""
    kept = beside["time"].notnull().values
    told = {name: beside[name] for name in ("time", "log_time", "log_loss", "progress")}
    told |= {str(name): beside["curve"].sel(quantity=name) for name in beside["quantity"].values}
    return {
        name: [[finite(value) for value in row[there]] for row, there in zip(values.values, kept, strict=True)]
        for name, values in told.items()
    }


def _apart(first: Any, other: Any, why: str) -> dict[str, Any]:
    """The distance between the neurons of two runs, or why there is none."""
    from ..evaluate.compare import compare

    names = {"a": first.name, "b": other.name}
    return names | ({"why_not": why} if why else _distances(compare(first.tree, other.tree)))


def _distances(found: Any) -> dict[str, Any]:
    """Numbers about a comparison, over the instants that both have kept, or over all where these are but start and end.

    Those that are not finite are None.
    """
    import numpy as np

    common = np.flatnonzero(~found["interpolated"].values)
    facts: dict[str, Any] = {
        "instants": found.sizes["time"],
        "common": len(common),
        "only_common": len(common) > ENDS or len(common) == found.sizes["time"],
        "snapshots": found.sizes.get("snapshot", 0),
    }
    if facts["only_common"]:
        found = found.isel(time=common)
    facts |= _instant(found, "time", -1, "end")
    for name in (*PER_NEURON, PER_ARRAY):
        if name in found and found[name].size:
            along = str(found[name].dims[0])
            size = np.nan_to_num(np.abs(found[name].values), nan=np.inf)
            place, neuron = np.unravel_index(size.argmax(), size.shape)
            facts[name] = {
                "worst": finite(size[place, neuron]),
                **({"array": str(found["array"].values[neuron])} if name == PER_ARRAY else {"neuron": int(neuron)}),
                **_instant(found, along, place, "time"),
                "median_at_end": finite(np.median(size[-1])),
                "worst_at_end": finite(size[-1].max()),
            }
    if "loss_ratio" in found:
        ratio = found["loss_ratio"].values
        with np.errstate(divide="ignore"):
            furthest = int(np.nan_to_num(np.abs(np.log(ratio)), nan=np.inf).argmax())
        facts["loss_ratio"] = {
            "worst": finite(ratio[furthest]),
            **_instant(found, "time", furthest, "time"),
            "at_end": finite(ratio[-1]),
        }
    return facts


def _instant(found: Any, along: str, place: int, name: str) -> dict[str, Any]:
    """An instant as a fact of this name, with log10 of it where instants are compared by that."""
    logarithms = {"time": "log10_time", "snapshot": "snapshot_log10_time"}[along]
    told: dict[str, Any] = {name: finite(found[along][place])}
    return told | ({f"log10_{name}": finite(found[logarithms][place])} if logarithms in found.coords else {})


def _time(facts: dict[str, Any], name: str) -> str:
    """An instant in words."""
    if facts[name] is None:
        return f"1e{facts[f'log10_{name}']:.6g}"
    return f"{facts[name]:.6g}"


def _lines(facts: dict[str, Any]) -> list[str]:
    """The runs, numbered, and what they have beside each other in columns of these numbers."""
    lines = []
    for number, run in enumerate(facts["runs"], start=1):
        ended = f"{run['status']}, {run['status_cause']}"
        lines.append(f"{number:<12} {run['name']}: {run['integrated']}; {ended}; to time {_time(run, 'end')}")
    lines += _table(
        "keys that differ",
        facts["runs"],
        {key: [value or "—" for value in row] for key, row in facts["differences"].items()},
    )
    if not facts["differences"]:
        lines.append("keys         no key of the scenarios differs")
    phases = {name: _instants(row, facts["log10_phases"][name]) for name, row in facts["phases"].items()}
    lines += _table("phases", facts["runs"], phases)
    lines += _table("at the end", facts["runs"], {name: list(map(_short, row)) for name, row in facts["final"].items()})
    verdicts = {name: [verdict or "—" for verdict in row["verdict"]] for name, row in facts["claims"].items()}
    return lines + _table("claims", facts["runs"], verdicts)


def _instants(row: list[float | None], logs: list[float | None]) -> list[str]:
    return [
        _time({"at": at, "log10_at": log}, "at") if (at, log) != (None, None) else "not reached"
        for at, log in zip(row, logs, strict=True)
    ]


def _table(heading: str, runs: list[Any], rows: dict[str, list[str]]) -> list[str]:
    """A row for each name, a column for each run; nothing where there are no rows."""
    if not rows:
        return []
    first = max(NAMES, *(len(name) + 3 for name in rows))
    widths = [max(CELL, *(len(row[place]) for row in rows.values())) for place in range(len(runs))]
    numbers = [str(number) for number in range(1, len(runs) + 1)]

    def line(name: str, cells: list[str]) -> str:
        return " ".join([f"{name:<{first}}", *(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))])

    return [line(heading, numbers), *(line(f"  {name}", row) for name, row in rows.items())]


def _distance_lines(facts: dict[str, Any]) -> list[str]:
    pair = f"{facts['a']} and {facts['b']}"
    if "why_not" in facts:
        return [f"neurons      of {pair} are not matched: {facts['why_not']}"]
    lines = [f"neurons      of {pair} are the same ones on the same data"]
    common, instants = facts["common"], facts["instants"]
    if facts["only_common"]:
        left_out = f"; the other {instants - common} of {facts['a']} are left out" if common < instants else ""
        lines.append(f"instants     {common} that both have kept, up to time {_time(facts, 'end')}{left_out}")
    else:
        lines.append(f"instants     {instants} of {facts['a']}, up to time {_time(facts, 'end')}")
        lines.append(
            f"warning      at {instants - common} of them {facts['b']} is interpolated linearly between instants of its own"
        )
    lines.append(f"weights      compared at {facts['snapshots']} instants that both have kept")
    of_what = "array" if PER_ARRAY in facts else "neuron"
    lines.append(f"{'':<26} {'worst':>12} {of_what:>8} {'at time':>12} {'median at end':>14} {'worst at end':>14}")
    for name in (*PER_NEURON, PER_ARRAY):
        if name in facts:
            of = facts[name]
            worst, median, last = (_number(of[key]) for key in ("worst", "median_at_end", "worst_at_end"))
            which = of.get("array", of.get("neuron"))
            lines.append(f"{name:<26} {worst:>12} {which:>8} {_time(of, 'time'):>12} {median:>14} {last:>14}")
    if "loss_ratio" in facts:
        of = facts["loss_ratio"]
        worst, last = _number(of["worst"]), _number(of["at_end"])
        lines.append(f"{'loss_ratio':<26} {worst:>12} {'':>8} {_time(of, 'time'):>12} {'':>14} {last:>14}")
    return lines


def _short(value: float | None) -> str:
    return "—" if value is None else f"{value:.6g}"


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.6g}"
