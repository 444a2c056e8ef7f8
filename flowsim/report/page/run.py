"""A result as the report sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ...analysis.spans import Span, spans
from ...errors import UsageError
from ...problem.data.samples import Floats
from ...results.layout import named_by
from ..summary import completed, evenly

#: Curves are drawn through at most so many instants.
INSTANTS = 400


@dataclass(frozen=True)
class Phase:
    """A named instant. instant: NaN where it was not reached. words: the instant as text."""

    number: int
    name: str
    instant: float
    words: str
    definition: str


@dataclass(frozen=True)
class Run:
    """name: what the page calls it, its file's name. tree: the whole result; of an ensemble, all members or one of them.
    trajectory: its root group at the instants that are drawn."""

    name: str
    tree: xr.DataTree
    trajectory: xr.Dataset

    @classmethod
    def of(cls, name: str, tree: xr.DataTree, seed: int | None = None) -> Run:
        """seed: the member of an ensemble to look at. Raises UsageError where there is none such."""
        tree = completed(tree)
        if seed is not None:
            tree = _member(name, tree, seed)
        root = tree.to_dataset()
        return cls(name, tree, root.isel(time=evenly(root.sizes["time"], INSTANTS)))

    @property
    def attributes(self) -> dict[str, Any]:
        return {str(name): value for name, value in self.tree.attrs.items()}

    @property
    def is_ensemble(self) -> bool:
        return "seed" in self.tree.dims

    @property
    def first(self) -> Run:
        """The run itself; of an ensemble, the first member that has run."""
        if not self.is_ensemble:
            return self
        ran = np.flatnonzero(~np.isnan(self.tree["numerics/stop_time"].to_numpy()))
        return Run.of(self.name, self.tree, int(self.tree["seed"].to_numpy()[ran[0] if len(ran) else 0]))

    @property
    def clock(self) -> xr.DataArray:
        """(time,): what curves are drawn over."""
        return self.trajectory[named_by(self.trajectory)]

    def on_clock(self, instant: float) -> float:
        """Where an instant lies on the clock."""
        with np.errstate(divide="ignore"):
            return float(np.log10(instant)) if self.clock.name == "log10_time" else instant

    @property
    def parts(self) -> list[Span]:
        """The consecutive parts of the trajectory, on the clock."""
        found = spans(self.tree.to_dataset())
        return [Span(part.name, self.on_clock(part.begin), self.on_clock(part.end)) for part in found]

    @property
    def phases(self) -> list[Phase]:
        """In the order in which they were reached, those not reached last."""
        found = self.tree.children["phases"].to_dataset()
        instants = [np.atleast_1d(values) for values in found["instant"].transpose("phase", ...).values]
        rows = [
            (_middle(values), str(name), _when(values), str(definition))
            for name, definition, values in zip(
                found["phase"].values, found["definition"].values, instants, strict=True
            )
        ]
        rows.sort(key=lambda row: (np.isnan(row[0]), row[0]))
        return [Phase(number, name, at, words, text) for number, (at, name, words, text) in enumerate(rows, start=1)]

    @property
    def claims(self) -> Iterator[dict[str, Any]]:
        """The rows of the group `claims`."""
        if "claims" in self.tree.children:
            found = self.tree.children["claims"].to_dataset(inherit=False)
            names = [str(name) for name in found.variables]
            for row in range(found.sizes["claim"]):
                yield {name: found[name].values[row] for name in names}


def long_name(variable: xr.DataArray) -> str:
    """What an axis or a legend calls a variable, with its units where it has any."""
    attributes = variable.attrs
    name = str(attributes.get("long_name", variable.name))
    units = str(attributes.get("units", "1"))
    return name if units in ("1", "") else f"{name} [{units}]"


def number(value: float) -> str:
    return "—" if np.isnan(value) else f"{value:.4g}"


def _member(name: str, tree: xr.DataTree, seed: int) -> xr.DataTree:
    if "seed" not in tree.dims:
        raise UsageError(f"{name}: is a single run, of seed {tree.attrs['seed']}; --seed is for ensembles")
    seeds = tree["seed"].to_numpy().tolist()
    if seed not in seeds:
        raise UsageError(f"{name}: has no member of seed {seed}; its seeds are {', '.join(map(str, seeds))}")
    member = tree.isel(seed=seeds.index(seed))
    numerics = member.children["numerics"].to_dataset(inherit=False)
    names = ("status", "status_cause", "engine", "solver", "flow_coordinates")
    own = {name: str(numerics[name].values) for name in names if name in numerics}
    stop = float(numerics["stop_time"])
    if np.isnan(stop):
        raise UsageError(f"{name}: its member of seed {seed} has not run")
    member = member.isel(time=np.flatnonzero(member["time"].to_numpy() <= stop))
    if own.get("status") == "done":
        own["status_remedy"] = ""
    member.attrs = {**tree.attrs, **own, "seed": seed}
    return member


def _middle(instants: Floats) -> float:
    reached = instants[~np.isnan(instants)]
    return float(np.median(reached)) if len(reached) else np.nan


def _when(instants: Floats) -> str:
    """The instant in words; over the members of an ensemble, their quartiles."""
    reached = instants[~np.isnan(instants)]
    if not len(reached):
        return "not reached"
    if len(instants) == 1:
        return f"at {reached[0]:.5g}"
    lower, median, upper = np.quantile(reached, (0.25, 0.5, 0.75))
    return f"median {median:.5g} [{lower:.5g}, {upper:.5g}], reached by {len(reached)} of {len(instants)} members"
