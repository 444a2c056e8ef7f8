"""flowsim compare"""

from __future__ import annotations

import argparse
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


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A.nc", help="a result of flowsim run")
    parser.add_argument("b", metavar="B.nc", help="another one, of the same neurons on the same data")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    from ..evaluate.compare import compare
    from ..results import open

    with open(options.a) as a, open(options.b) as b:
        found = compare(a, b)
        facts = _facts(found) | {"a": _run(options.a, a), "b": _run(options.b, b)}
    if options.json:
        print_json(facts)
    else:
        put("\n".join(_lines(facts)))
    return 0


def _run(path: str, tree: Any) -> dict[str, Any]:
    attributes = tree.attrs
    sizes = [
        f"{name} {attributes[name]:g}" for name in ("step", "rtol") if name in attributes
    ]  # none of a run in stages
    integrated = ", ".join([f"{attributes['engine']} {attributes['solver']}", *sizes])
    end = finite(tree["time"][-1])
    told = {"path": path, "title": attributes["title"], "integrated": integrated, "end": end}
    return told if end is not None else {**told, "log10_end": float(tree["log10_time"][-1])}


def _facts(found: Any) -> dict[str, Any]:
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
    lines = []
    for name in ("a", "b"):
        run = facts[name]
        lines.append(f"{name:<12} {run['path']}: {run['integrated']}, to time {_time(run, 'end')}")
    common, instants = facts["common"], facts["instants"]
    if facts["only_common"]:
        left_out = f"; the other {instants - common} of a are left out" if common < instants else ""
        lines.append(f"instants     {common} that both have kept, up to time {_time(facts, 'end')}{left_out}")
    else:
        lines.append(f"instants     {instants} of a, up to time {_time(facts, 'end')}")
        lines.append(
            f"warning      at {instants - common} of them b is interpolated linearly between instants of its own"
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


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.6g}"
