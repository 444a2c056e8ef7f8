"""A result in few numbers: where its phases are, what it ends with, and what many values have in common."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..arrays import Floats, Integers
from ..evaluate import phases
from ..results.stored import keys_of

QUARTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
COUNTS = ("steps", "rejections", "evaluations")
FIRST = ("loss", "log10_loss", "accuracy", "void_mass", "balance_drift")

#: The curves that one looks at first -> what they are called in a line of text.
USUAL = {
    "log10_loss": "log10_loss",
    "loss": "loss",
    "log10_test_loss": "log10_test_loss",
    "test_accuracy": "test_accuracy",
    "best_cosine": "best cosine, median",
    "log_norm": "log_norm, median",
    "smallest_margin": "margin, smallest",
    "accuracy": "accuracy",
    "step_size": "step_size",
}

#: What is said of a result whose attributes do not say it.
UNSAID = {
    "title": "",
    "scenario": "",
    "status": "unknown",
    "status_cause": "the file does not say how the run ended",
    "status_remedy": "",
    "warnings": "",
    "engine": "unknown",
    "solver": "unknown",
    "flow_coordinates": "unknown",
    "wall_time": np.nan,
}


def what_ran(trajectory: xr.Dataset) -> dict[str, str]:
    """What a result is of, from its scenario and its own sizes: name -> in words. Left out: what the file does not say."""
    attributes, keys = trajectory.attrs, keys_of(trajectory.attrs)
    model, init, loss, data = (keys.get(section, {}) for section in ("model", "init", "loss", "data"))
    numbers = ", ".join(f"{key} {value:g}" for key, value in model.items() if key in ("degree", "slope", "depth"))
    network = str(model.get("activation" if model.get("kind", "two_layer") == "two_layer" else "kind", ""))
    start = str(init.get("shape", init.get("kind", "")))
    sizes = {
        "neurons": trajectory.sizes.get("neuron", model.get("width")),
        "D": data.get("dimension", trajectory.sizes.get("feature")),
        "n": trajectory.sizes.get("sample", data.get("samples")),
        "clusters": trajectory.sizes.get("cluster"),
    }
    told = {
        "network": f"{network} ({numbers})" if network and numbers else network,
        "neurons": f"{sizes['neurons']} neurons" if sizes["neurons"] else "",
        **{name: str(sizes[name] or "") for name in ("D", "n", "clusters")},
        "loss": f"{loss['kind']} loss" if "kind" in loss else "",
        "start": f"{start}, scale {init['scale']:g}" if start and isinstance(init.get("scale"), int | float) else start,
        "engine": " ".join(
            str(attributes[key]) for key in ("engine", "solver") if attributes.get(key, "unknown") != "unknown"
        ),
        "flowsim": str(attributes.get("flowsim_version", "")),
    }
    return {name: words for name, words in told.items() if words}


def completed(tree: xr.DataTree) -> xr.DataTree:
    """The result, and where somebody has kept a part of it only, groups and attributes in place of those that are gone.

    Phases are found again from the variables that are there; what the solver did is not known any more.
    """
    root = tree.to_dataset()
    groups = {f"/{name}": node.to_dataset(inherit=False) for name, node in tree.children.items()}
    groups["/"] = root.assign_attrs({**UNSAID, **root.attrs})
    if "/phases" not in groups or ("log10_time" in root.coords and "log10_instant" not in groups["/phases"]):
        groups["/phases"] = phases(root)
    if "/numerics" not in groups:
        members = root["seed"].size if "seed" in root.dims else 0
        stop_time = ("seed", np.full(members, float(root["time"][-1])))
        groups["/numerics"] = xr.Dataset({"stop_time": stop_time} if members else {})
    if "seed" in root.dims and "/final" not in groups:
        groups["/final"] = root.isel(time=-1).drop_vars("time")
    return xr.DataTree.from_dict(groups)


def spread(variable: xr.DataArray, shares: tuple[float, ...]) -> Floats:
    """(share, time): quantiles over all other dimensions, of the values that exist."""
    return quantiles(variable.transpose("time", ...).values.reshape(variable.sizes["time"], -1), shares)


def widened(values: Floats, errors: Floats, shares: tuple[float, ...]) -> Floats:
    """The same of values that are known to errors (T, N): quantiles below the median of the least that they may be, those
    above it of the most."""
    found = quantiles(values, shares)
    for share, row, low, high in zip(
        shares, found, quantiles(values - errors, shares), quantiles(values + errors, shares), strict=True
    ):
        row[:] = low if share < 0.5 else high if share > 0.5 else row
    return found


def quantiles(values: Floats, shares: tuple[float, ...]) -> Floats:
    """(share, T): over the second axis of values (T, N), of those that are not NaN."""
    if not values.shape[1]:
        return np.full((len(shares), len(values)), np.nan)
    ordered = np.sort(values, axis=1)
    last = np.maximum((~np.isnan(ordered)).sum(axis=1) - 1, 0)
    place = np.array(shares)[:, None] * last
    below = np.floor(place).astype(int)
    rows, share = np.arange(len(values)), place - below
    low, high = ordered[rows, below], ordered[rows, np.minimum(below + 1, last)]
    with np.errstate(invalid="ignore"):  # between two infinite values there is nothing
        return np.where(share == 0, low, low + share * (high - low))


def curves(root: xr.Dataset, numerics: xr.Dataset) -> dict[str, Floats]:
    """name -> one number for each instant: those of USUAL that were kept, and every other variable over time alone. Of an
    ensemble, over the values of all members. `loss` is left out where its log10 is there."""
    found: dict[str, Floats] = {}
    if "cosine" in root and root.sizes["cluster"]:
        found["best_cosine"] = spread(root["cosine"].max("cluster"), (0.5,))[0]
    if "log_norm" in root:
        found["log_norm"] = spread(root["log_norm"], (0.5,))[0]
    if "margin" in root:
        found["smallest_margin"] = spread(root["margin"], (0.0,))[0]
    if "step_size" in numerics:
        found["step_size"] = spread(numerics["step_size"], (0.5,))[0]
    alone = [str(name) for name, variable in root.data_vars.items() if {*variable.dims} - {"seed"} == {"time"}]
    skipped = {name.removeprefix("log10_") for name in alone if name.startswith("log10_")}
    found |= {name: spread(root[name], (0.5,))[0] for name in alone if name not in skipped}
    return {**{name: found[name] for name in USUAL if name in found}, **found}


def evenly(count: int, most: int) -> Integers:
    """At most so many of the first `count` indices, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def phase_instants(found: xr.Dataset, logarithms: bool = False) -> dict[str, Floats]:
    """The instant of each phase in the group `phases`, or its log10; of an ensemble (seed,)."""
    instants = found["log10_instant" if logarithms else "instant"]
    return {str(name): instants.sel(phase=name).values for name in instants["phase"].values}


def last_values(last: xr.Dataset) -> dict[str, Floats]:
    """Those of them that a dataset without `time` has."""
    values = {name: last[name].values for name in (*FIRST, *COUNTS) if name in last}
    if "cosine" in last and last.sizes["cluster"]:
        best = last["cosine"].max("cluster").transpose(..., "neuron").values
        for name, share in QUARTILES.items():
            values[f"best cosine, {name}"] = np.quantile(best, share, axis=-1)
    return values


def at_instants(group: xr.Dataset, run: xr.Dataset) -> xr.Dataset:
    """A result's group at the instants, and of the members, of a trajectory: of the whole one, of its beginning, or of some
    of its instants. Times beyond the largest float are all inf, and tell nothing apart."""
    shared = [dim for dim in ("seed", "time") if dim in group.dims and {dim} <= run.coords.keys() & group.coords.keys()]
    for dim in shared:
        own, wanted = group[dim].values, run[dim].values
        if wanted.ndim and np.array_equal(own[: len(wanted)], wanted):
            group = group.isel({dim: slice(0, len(wanted))})
        else:
            group = group.sel({dim: wanted})
    return group
