"""What is drawn over time, as numbers: each figure from the variables that it needs, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ...arrays import Floats
from ..plots.loss import HELD_OUT
from ..run import Run, number
from ..source import label
from ..summary import spread, widened

#: More clusters than this have no curve of their own.
OWN_CURVES = 12
QUARTILES = (0.25, 0.5, 0.75)
SPREAD = (0.05, *QUARTILES, 0.95)


@dataclass(frozen=True)
class Figure:
    """x, y: labels of the axes. curves: each with a `name`, a `tone` (a colour of the palette) and either `y` or both
    `low` and `high`, a band. said: what the figure shows, for those who cannot see it."""

    key: str
    title: str
    x: str
    y: str
    at: Floats
    curves: list[dict[str, Any]]
    said: str
    caption: str = ""
    log: bool = False


@dataclass(frozen=True)
class Absent:
    """A figure that the file does not allow, and why."""

    key: str
    title: str
    why: str


@dataclass(frozen=True)
class Kind:
    """variables: the first that the file has is drawn. draw: (run, variable) -> what to put into a Figure."""

    key: str
    title: str
    variables: tuple[str, ...]
    draw: Callable[[Run, xr.DataArray], dict[str, Any]]
    group: str = ""


def figures(run: Run) -> Iterator[Figure | Absent]:
    """Every figure over time, in the order of the page."""
    for kind in (OF_TARGETS.get(kind.key, kind) if run.has_real_targets else kind for kind in KINDS):
        found = run.trajectory if not kind.group else _group(run, kind.group)
        name = next((name for name in kind.variables if name in found and found[name].size), None)
        if name is None:
            yield Absent(kind.key, kind.title, f"{_listed(kind)} {_why(kind)}")
        else:
            drawn = kind.draw(run, found[name])
            yield Figure(kind.key, kind.title, x=run.clock.label, at=run.clock.values, **drawn)


def _known_to(run: Run, variable: xr.DataArray) -> xr.DataArray | float:
    """The estimated errors of a variable of the trajectory, where it has any."""
    if "error" not in run.groups or str(variable.name) not in (group := run.group("error")):
        return 0.0
    errors = group[str(variable.name)].isel(time=run.clock.index)
    return errors.where(np.isfinite(errors), 0.0)


def _wide(variable: xr.DataArray, errors: xr.DataArray | float, shares: tuple[float, ...]) -> Floats:
    """`spread` of values that are known to these errors: see :func:`flowsim.present.summary.widened`."""
    if isinstance(errors, float):
        return spread(variable, shares)
    dims = variable.transpose("time", ...).dims
    values, known = (of.transpose(*dims).values.reshape(variable.sizes["time"], -1) for of in (variable, errors))
    return widened(values, known, shares)


def _median(variable: xr.DataArray) -> Floats:
    return spread(variable, (0.5,))[0]


def _group(run: Run, name: str) -> xr.Dataset:
    return run.group(name).isel(time=run.clock.index) if name in run.groups else xr.Dataset()


def _listed(kind: Kind) -> str:
    names = " or ".join(kind.variables)
    return f"group {kind.group} with {names}" if kind.group else names


def _why(kind: Kind) -> str:
    return (
        "is not in this file."
        if kind.group
        else "is not in this file: it was left out of observe.variables, or this problem does not have it."
    )


def _band(name: str, low: Floats, high: Floats, tone: int, faint: bool = False) -> dict[str, Any]:
    return {"name": name, "low": low, "high": high, "tone": tone, "faint": faint}


def _line(name: str, y: Floats, tone: int, dash: str = "solid") -> dict[str, Any]:
    return {"name": name, "y": y, "tone": tone, "dash": dash}


def _over(run: Run, what: str) -> str:
    return f"{what} of all members" if run.is_ensemble else what


def _from_to(name: str, values: Floats) -> str:
    there = values[~np.isnan(values)]
    return f"{name}: from {number(there[0])} to {number(there[-1])}." if len(there) else f"{name}: no values."


def _alignment(run: Run, cosine: xr.DataArray) -> dict[str, Any]:
    errors = _known_to(run, cosine)
    best = errors if isinstance(errors, float) else errors.max("cluster")
    lower, median, upper = _wide(cosine.max("cluster"), best, QUARTILES)
    return {
        "y": f"largest {label(cosine)}",
        "curves": [
            _band("quartiles", lower, upper, 0),
            _line(f"median over the {_over(run, 'neurons')}", median, 0),
        ],
        "said": _from_to("Median over the neurons of the largest cosine with any centre", median),
    }


def _loss(run: Run, log_loss: xr.DataArray) -> dict[str, Any]:
    errors = _known_to(run, log_loss)
    lower, median, upper = _wide(log_loss, errors, QUARTILES)
    members = [_band("quartiles of the members", lower, upper, 1)] if run.is_ensemble else []
    known = [] if isinstance(errors, float) or members else [_band("estimated error", lower, upper, 1)]
    name = HELD_OUT[str(log_loss.name)]
    held_out = []
    if name in run.trajectory:
        held_out = [_line("held-out samples", _median(run.trajectory[name]), 2, "dash")]
    return {
        "y": label(log_loss),
        "curves": [
            *members,
            *known,
            _line("median of the members" if members else "training loss", median, 1),
            *held_out,
        ],
        "said": _from_to(f"The {label(log_loss)}", median),
        "log": log_loss.name == "loss",
    }


def _norms(run: Run, log_norm: xr.DataArray) -> dict[str, Any]:
    least, lower, median, upper, largest = _wide(log_norm, _known_to(run, log_norm), SPREAD)
    return {
        "y": label(log_norm),
        "curves": [
            _band("5 % to 95 %", least, largest, 2, faint=True),
            _band("quartiles", lower, upper, 2),
            _line(f"median over the {_over(run, 'neurons')}", median, 2),
        ],
        "said": _from_to(f"Median over the neurons of the {label(log_norm)}", median),
    }


def _mass(run: Run, mass: xr.DataArray) -> dict[str, Any]:
    """mass: itself, or its log where it underflows."""
    clusters, logarithms = mass.sizes["cluster"], mass.name == "log_cluster_mass"
    if clusters > OWN_CURVES:
        lower, median, upper = spread(mass, QUARTILES)
        curves = [_band("quartiles of the clusters", lower, upper, 0), _line("median of the clusters", median, 0)]
    else:
        dashes = ("solid", "dash", "dot")
        curves = [
            _line(f"cluster {cluster_name(run, k)}", _median(mass.isel(cluster=k)), k, dashes[k // 6 % 3])
            for k in range(clusters)
        ]
    void = "log_void_mass" if logarithms else "void_mass"
    if void in run.trajectory:
        curves.append(_line("neurons with no target", _median(run.trajectory[void]), -1, "dashdot"))
    largest = _median(mass.max("cluster", skipna=False))
    return {
        "y": label(mass),
        "curves": curves,
        "said": _from_to(f"Largest {label(mass)}", largest),
        "caption": "Medians of the members." if run.is_ensemble else "",
        "log": not logarithms,
    }


def cluster_name(run: Run, cluster: int) -> str:
    """The cluster's index, with its label where that is +1 or -1."""
    if "cluster_label" not in run.trajectory.coords:
        return str(cluster)
    labels = run.trajectory["cluster_label"].values
    label = labels.reshape(-1, labels.shape[-1])[0][cluster]
    return f"{cluster} ({'+' if label > 0 else '−'})" if label in (-1, 1) else str(cluster)


def _per_sample(name: str, tone: int, size: bool = False) -> Callable[[Run, xr.DataArray], dict[str, Any]]:
    """size: of the absolute values, on a logarithmic axis, where zeros have no place."""

    def draw(run: Run, values: xr.DataArray) -> dict[str, Any]:
        values = _sizes(values) if size else values
        if "quantile" in values.dims:
            return _from_quantiles(values, tone) | {"log": size}
        shares = (0.0, 0.05, *QUARTILES, 0.95, 1.0)
        least, low, lower, median, upper, high, largest = _wide(values, _known_to(run, values), shares)
        return {
            "y": label(values),
            "curves": [
                _band("smallest to largest", least, largest, tone, faint=True),
                _band("5 % to 95 %", low, high, tone, faint=True),
                _band("quartiles", lower, upper, tone),
                _line(f"median over the {_over(run, 'samples')}", median, tone),
            ],
            "said": _from_to(f"Median {name} over the samples", median) + " " + _from_to(f"Smallest {name}", least),
            "log": size,
        }

    return draw


def _sizes(values: xr.DataArray) -> xr.DataArray:
    """Absolute values; of quantiles, in their order."""
    found = np.where(values.values == 0, np.nan, np.abs(values.values))
    if "quantile" in values.dims:
        found = np.sort(found, axis=values.get_axis_num("quantile"))
    named = {**values.attrs, "long_name": f"size of the {values.attrs.get('long_name', values.name)}"}
    return values.copy(data=found).assign_attrs(named)


def _from_quantiles(values: xr.DataArray, tone: int) -> dict[str, Any]:
    """Where only quantiles per cluster were kept, their range over the clusters."""
    least, largest = spread(values.isel(quantile=0), (0.0,))[0], spread(values.isel(quantile=-1), (1.0,))[0]
    low, middle, high = spread(values.sel(quantile=0.5), (0.0, 0.5, 1.0))
    return {
        "y": label(values),
        "curves": [
            _band("smallest to largest sample", least, largest, tone, faint=True),
            _band("medians of the clusters", low, high, tone),
            _line("median of those medians", middle, tone),
        ],
        "said": _from_to("Median over the clusters of their median samples", middle),
        "caption": "The run kept quantiles per cluster in place of single samples.",
    }


def _residuals(run: Run, values: xr.DataArray) -> dict[str, Any]:
    """values: y f(x), of targets y."""
    target = run.trajectory["label"]
    residual = (values / target.where(target != 0) - target).assign_attrs(long_name="residual f(x) - y")
    return _per_sample("residual", 4)(run, residual)


def _accuracy(run: Run, accuracy: xr.DataArray) -> dict[str, Any]:
    names = ("accuracy", "clean_accuracy", "noisy_accuracy", "binary_accuracy")
    curves = [
        _line(label(run.trajectory[name]), _median(run.trajectory[name]), tone, dash)
        for tone, (name, dash) in enumerate(zip(names, ("solid", "dash", "dot", "dashdot"), strict=True))
        if name in run.trajectory
    ]
    return {
        "y": label(accuracy) if len(curves) == 1 else "accuracy",
        "curves": curves,
        "said": _from_to("Accuracy on the training labels", curves[0]["y"]),
        "caption": "Medians of the members." if run.is_ensemble else "",
    }


def _steps(run: Run, step: xr.DataArray) -> dict[str, Any]:
    lower, median, upper = spread(step.where(step > 0), QUARTILES)
    members = [_band("quartiles of the members", lower, upper, 3)] if run.is_ensemble else []
    name = "median of the members" if members else "step size"
    return {
        "y": label(step),
        "curves": [*members, _line(name, median, 3)],
        "said": _from_to("Step size of the solver", median),
        "log": True,
    }


KINDS = (
    Kind("loss", "Loss", ("log10_loss", "loss"), _loss),
    Kind("alignment", "Alignment", ("cosine",), _alignment),
    Kind("norms", "Norms", ("log_norm",), _norms),
    Kind("mass", "Mass per cluster", ("log_cluster_mass", "cluster_mass"), _mass),
    Kind("margins", "Margins", ("margin", "margin_quantile"), _per_sample("margin", 4)),
    Kind(
        "loss_derivatives",
        "Loss derivatives",
        ("loss_derivative", "loss_derivative_quantile"),
        _per_sample("size of the loss derivative", 5, size=True),
    ),
    Kind("accuracy", "Accuracy", ("accuracy",), _accuracy),
    Kind("steps", "Solver step size", ("step_size",), _steps, group="numerics"),
)
#: What stands in their place where targets are real numbers: a product y f(x) says nothing there.
OF_TARGETS = {"margins": Kind("residuals", "Residuals", ("margin",), _residuals)}
