"""A sweep's dataset as a page of text, and as a summary for machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ..evaluate.scaling import number
from ..evaluate.verdicts import counted
from ..kinds.plugins_used import lines as plugin_lines
from ..present.sweeps import failed, keys, numbers, range_of
from .common import finite
from .sparklines import Sheet

#: The list of failed points names at most so many.
NAMED = 20


def summary(dataset: xr.Dataset) -> dict[str, Any]:
    """How many points are done, the keys, and of each number its quartiles over the points that have it."""
    codes = dataset["exit_code"].values
    return {
        "title": str(dataset.attrs.get("title", "")),
        "points": int(codes.size),
        "done": int((codes == 0).sum()),
        "keys": {key: dataset[key].values.tolist() for key in keys(dataset)},
        "numbers": {name: _quartiles(number(dataset, name).values) for name in numbers(dataset)},
        **({"rates": _rates(dataset)} if "rate" in dataset.dims else {}),
        "failed": [{"point": point, "status": status} for point, status in failed(dataset)],
        "seconds": finite(float(np.nansum(dataset["seconds"].values))),
    }


def _rates(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """What claims say of exponents, and what was found."""
    columns = [str(name) for name, array in dataset.data_vars.items() if array.dims == ("rate",)]
    return {
        str(rate): {
            name.removeprefix("rate_"): str(value) if isinstance(value, str) else finite(float(value))
            for name in columns
            for value in [dataset[name].values.tolist()[row]]
        }
        for row, rate in enumerate(dataset["rate"].values)
    }


def _quartiles(values: np.ndarray) -> dict[str, float | int]:
    there = values[np.isfinite(values)].astype(float)
    lower, median, upper = np.quantile(there, (0.25, 0.5, 0.75)).tolist()
    return {"points": len(there), "lower_quartile": lower, "median": median, "upper_quartile": upper}


def text(dataset: xr.Dataset, sheet: Sheet) -> str:
    """A page for people, that fits on their sheet."""
    found = summary(dataset)
    lines = [found["title"] or "flowsim sweep", f"points       {found['done']} of {found['points']} are done"]
    lines += [*(f"plugin       {line}" for line in plugin_lines(dataset.attrs)), "keys"]
    lines += [f"  {key:<34} {dataset[key].size:>4}: {range_of(dataset[key])}" for key in found["keys"]]
    if found["numbers"]:
        lines.append("numbers      median [lower quartile, upper quartile], over how many")
    for name, spread in found["numbers"].items():
        words = "{median:.5g} [{lower_quartile:.5g}, {upper_quartile:.5g}], {points}".format(**spread)
        lines.append(f"  {name:<34} {words}")
    if found.get("rates"):
        lines.append(f"rates        {counted(rate['verdict'] for rate in found['rates'].values())}")
    for name, rate in found.get("rates", {}).items():
        lines.append(f"  {rate['claim']}: {rate['verdict']}; {name}: {_exponent(rate)}")
    if found["failed"]:
        lines.append("not done")
    lines += [f"  {entry['point']}: {entry['status']}" for entry in found["failed"][:NAMED]]
    if len(found["failed"]) > NAMED:
        lines.append(f"  and {len(found['failed']) - NAMED} more")
    return sheet.fitted([*lines, f"in all       {found['seconds']:.1f} s"])


def _exponent(rate: dict[str, Any]) -> str:
    if rate["exponent"] is None:
        return str(rate["note"])
    excluded = "excludes" if not rate["low"] <= rate["predicted"] <= rate["high"] else "has in it"
    interval = f"[{rate['low']:.4g}, {rate['high']:.4g}]"
    return f"exponent {rate['exponent']:.4g}, whose interval {interval} {excluded} the predicted {rate['predicted']:g}"
