"""How one number of a sweep's points depends on a swept key: a line through logarithms, its slope and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import UsageError
from ..kinds.names import nearest

#: law -> what is fitted
LAWS = {"power": "log y = intercept + slope log x", "log": "y = intercept + slope log x"}
Law = Literal["power", "log"]


@dataclass(frozen=True)
class Scaling:
    """A fitted slope. name, over: of what over which key. x, y (points,): all that were fitted, each seed by itself.
    law: one of LAWS; "power" is y ~ x^slope. interval: of the slope, with this confidence, for errors that are independent
    and normal around the line. left_out: points without a finite value, or with one that has no logarithm. expected: the
    slope that theory says, if there is one."""

    name: str
    over: str
    law: Law
    x: Floats
    y: Floats
    slope: float
    intercept: float
    interval: tuple[float, float]
    confidence: float
    left_out: int
    expected: float | None = None

    @property
    def excludes(self) -> bool:
        """Whether the interval excludes the slope that is expected"""
        low, high = self.interval
        return self.expected is not None and not low <= self.expected <= high

    def line(self, x: Floats) -> Floats:
        """The fitted law at these x."""
        values = self.intercept + self.slope * np.log(x)
        return np.asarray(np.exp(values) if self.law == "power" else values)

    def __str__(self) -> str:
        low, high = self.interval
        formed = f"{self.name} ~ {self.over}^s" if self.law == "power" else f"{self.name} ~ s log {self.over}"
        told = f"{formed}: s = {self.slope:.4g}, {100 * self.confidence:g} % interval [{low:.4g}, {high:.4g}]"
        if self.expected is not None:
            told += f", which {'excludes' if self.excludes else 'has in it'} {self.expected:g}"
        return f"{told}, from {len(self.x)} points" + (f"; {self.left_out} left out" if self.left_out else "")


def scaling(
    dataset: xr.Dataset,
    name: str,
    over: str,
    law: Law = "power",
    confidence: float = 0.95,
    expected: float | None = None,
) -> Scaling:
    """Fit a line, by least squares, to a sweep's number `name` over the key `over`.

    expected: the slope that theory says; whether the interval excludes it is then said.

    name: a variable of the sweep's dataset with one number for each point; or a phase, for its instant, or a claim, for its
    measured value. Other swept keys than `over` and seed have to be chosen before, by ``dataset.sel``. Raises UsageError
    where that is not so, or where fewer than three points at two places are left.
    """
    if law not in LAWS:
        raise UsageError(f'no law is called "{law}"; there are {", ".join(LAWS)}')
    values = number(dataset, name)
    if over not in dataset.coords or dataset[over].dtype.kind not in "iuf" or not dataset[over].dims:
        keys = [str(key) for key in dataset.coords if dataset[key].dtype.kind in "iuf" and dataset[key].dims]
        raise UsageError(f'"{over}" is not a swept number; {nearest(over, keys)}there are {", ".join(keys) or "none"}')
    left = [str(dim) for dim in values.dims if dim not in (*dataset[over].dims, "seed", "point")]
    if left:
        chosen = " and ".join(f'"{dim}"' for dim in left)
        raise UsageError(f"{name} also depends on {chosen}: choose one of its values by dataset.sel, or .isel")
    along, of_points = xr.broadcast(dataset[over].reset_coords(drop=True), values.reset_coords(drop=True))
    x, y = along.values.ravel().astype(float), of_points.transpose(*along.dims).values.ravel().astype(float)
    usable = np.isfinite(x) & np.isfinite(y) & (x > 0) & ((y > 0) | (law != "power"))
    if usable.sum() < 3 or len(np.unique(x[usable])) < 2:
        positive = "finite and positive" if law == "power" else "finite"
        raise UsageError(
            f"{name} over {over}: a slope needs three points at two places or more where both are {positive}"
        )
    return replace(_fitted(name, over, law, x[usable], y[usable], confidence, int((~usable).sum())), expected=expected)


def number(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """What has one number for each point: a variable, the instant of a phase, the measured value of a claim. Raises
    UsageError, with the nearest name, for all else."""
    dims = {dim for key in str(dataset.attrs.get("sweep_keys", "")).splitlines() for dim in _dims_of(dataset, key)}
    numbers = {str(key): array for key, array in dataset.data_vars.items() if array.dtype.kind in "biuf"}
    found = {}
    for key, array in numbers.items():
        lone = array.squeeze([dim for dim in array.dims if dims and dim not in dims and array.sizes[dim] == 1])
        if set(lone.dims) <= (dims or set(lone.dims)):
            found[key] = lone
    for variable, dim in (("phase_instant", "phase"), ("claim_measured", "claim")):
        if variable in numbers and dim in numbers[variable].dims:
            found |= {str(label): numbers[variable].sel({dim: label}) for label in dataset[dim].values}
    if name not in found:
        raise UsageError(f'no number of a point is called "{name}"; {nearest(name, found)}there are {", ".join(found)}')
    return found[name]


def _dims_of(dataset: xr.Dataset, key: str) -> tuple[Any, ...]:
    return dataset[key].dims if key in dataset.coords else ()


def _fitted(name: str, over: str, law: Law, x: Floats, y: Floats, confidence: float, left_out: int) -> Scaling:
    from scipy import stats

    fit = stats.linregress(np.log(x), np.log(y) if law == "power" else y)
    half = float(stats.t.ppf((1 + confidence) / 2, len(x) - 2)) * float(fit.stderr)
    slope = float(fit.slope)
    interval = (slope - half, slope + half)
    return Scaling(name, over, law, x, y, slope, float(fit.intercept), interval, confidence, left_out)
