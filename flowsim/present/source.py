"""What is drawn, as plain arrays: a result's variables over a thinned clock, and their spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Booleans, Floats, Integers
from ..durable import is_store
from ..errors import UsageError
from ..evaluate.case import Case, reopen
from ..evaluate.member import member
from ..evaluate.spans import Span, spans
from ..observe import OBSERVABLES
from ..results import open
from ..results.layout import named_by
from ..results.stored import keys_of
from ..scenario.arrays import SECTIONS
from .summary import at_instants, evenly, quantiles, widened

#: No more instants are drawn, evenly chosen among those that were kept.
MAX_INSTANTS = 500
#: The group of the band of the void region.
VOID = "void"
#: Shares of the values below each row of a band.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)

#: Group -> how a result comes by it.
MADE_BY = {
    "robustness": "[evaluate.robustness] in the scenario makes it, or flowsim.robustness of a result that has its weights",
    "features": "[evaluate.features] in the scenario makes it",
    "density": "[evaluate.density] in the scenario makes it",
    "kkt": "runs of homogeneous networks with the logistic or exponential loss have it",
}
#: Groups that what ran is made from again, beside the trajectory.
REBUILDING = (*SECTIONS, "final", "numerics")
#: Of a Dataset without a file.
ALONE = "draw from the file with flowsim plot, or from the Dataset that xarray.open_dataset gives"


@dataclass(frozen=True)
class Clock:
    """What the instants are called: flow time, its log10 where the flow went by the loss clock, or iterations of descent.
    name: of the coordinate. index (T,): which kept instants are drawn."""

    name: str
    label: str
    index: Integers
    values: Floats

    @property
    def logarithms(self) -> bool:
        """Whether it is log10 of a time, -inf at the start."""
        return self.name == "log10_time"


@dataclass(frozen=True)
class Band:
    """The spread of some values over time: quantiles (SHARES, T). count: of how many values, at most; of one, all rows are
    the same. group: VOID, or the label of its clusters: what it is drawn like where there are too many to tell apart.
    certified: whether the rows beside the median are further from it by estimated errors."""

    label: str
    quantiles: Floats
    count: int
    group: str = ""
    certified: bool = False

    @classmethod
    def of(cls, label: str, values: Floats, group: str = "", errors: Floats | None = None) -> Band:
        """values (T, N), NaN where there is none; errors (T, N): those of a certified run."""
        if errors is None:
            return cls(label, quantiles(values, SHARES), values.shape[1], group)
        return cls(label, widened(values, errors, SHARES), values.shape[1], group, True)

    def filled(self, few: bool) -> bool:
        """Whether what is between its rows is drawn: quartiles where bands are few, errors of a single value always."""
        return few if self.count > 1 else self.certified

    @property
    def median(self) -> Floats:
        return np.asarray(self.quantiles[len(SHARES) // 2])


@dataclass(frozen=True)
class Bands:
    """The bands of one plot over a clock. label: what they are of. log: whether a log scale suits them."""

    clock: Clock
    label: str
    bands: tuple[Band, ...]
    log: bool = False


@dataclass(frozen=True)
class Source:
    """A result to draw from. groups: the result's other groups; of a file they are found by themselves. by_time: whether
    descent is drawn over its flow time rather than over its iterations, so that it can stand beside a flow."""

    trajectory: xr.Dataset
    groups: Mapping[str, xr.Dataset] = field(default_factory=dict)
    by_time: bool = False

    @classmethod
    def of(cls, result: xr.DataTree | xr.Dataset, by_time: bool = False) -> Source:
        """Of a whole result, or of its root group alone."""
        if isinstance(result, xr.Dataset):
            return cls(result, by_time=by_time)
        groups = {name: node.to_dataset() for name, node in result.children.items()}
        return cls(result.to_dataset(), groups, by_time)

    @property
    def is_ensemble(self) -> bool:
        return "seed" in self.trajectory.dims

    def member(self, seed: int | None) -> Source:
        """The source of a single run; see :func:`flowsim.evaluate.member.member`."""
        return replace(self, trajectory=member(self.trajectory, seed))

    def chosen(self, seed: int | None) -> Source:
        """The source of a member where a seed is given, else this one."""
        return self if seed is None else self.member(seed)

    def found(self, name: str) -> xr.Dataset | None:
        """A group of the result; None where it does not have it."""
        return self.groups[name] if name in self.groups else self._from_file(name)

    def case(self, seed: int | None = None) -> Case:
        """What ran; see :func:`flowsim.reopen`."""
        found = {name: self.found(name) for name in REBUILDING}
        groups = {f"/{name}": at_instants(group, self.trajectory) for name, group in found.items() if group is not None}
        return reopen(xr.DataTree.from_dict({"/": self.trajectory, **groups}), seed=seed)

    @cached_property
    def clock(self) -> Clock:
        """Raises UsageError where no instants were kept."""
        kept = self.trajectory.sizes.get("time", 0)
        if not kept:
            raise UsageError("this result has no instants to draw")
        iterated = "iteration" in self.trajectory.coords and not self.by_time
        name = "iteration" if iterated else named_by(self.trajectory)
        index, values = evenly(kept, MAX_INSTANTS), self.trajectory[name].values.astype(float)
        return Clock(name, self.label(name), index, values[index])

    def on_clock(self, time: float) -> float:
        """A flow time in the units of the clock."""
        if self.clock.logarithms:
            with np.errstate(divide="ignore"):
                return float(np.log10(time))
        if self.clock.name == "iteration":
            return float(np.interp(time, self.trajectory["time"].values, self.trajectory["iteration"].values))
        return time

    @cached_property
    def parts(self) -> tuple[Span, ...]:
        """What follows each other in the run, in the units of the clock: its stages, or the parts that its phases tell
        apart."""
        if "stage" not in self.trajectory.coords and self.clock.logarithms:
            return spans(self.trajectory, logarithms=True)
        found = self._stages() if "stage" in self.trajectory.coords else spans(self.trajectory)
        return tuple(Span(part.name, self.on_clock(part.begin), self.on_clock(part.end)) for part in found)

    def _stages(self) -> tuple[Span, ...]:
        time, stage = self.trajectory["time"].values, self.trajectory["stage"].values
        ends = {str(name): float(time[stage == name][-1]) for name in dict.fromkeys(stage)}
        begins = (float(time[0]), *ends.values())
        return tuple(Span(name, begin, end) for (name, end), begin in zip(ends.items(), begins, strict=False))

    def nearest(self, at: float | None, among: Integers | None = None) -> int:
        """Which of the kept instants, or of those among them, is nearest to a flow time, on the loss clock to its log10.

        The last without a time.
        """
        time = self.trajectory["log10_time" if self.clock.logarithms else "time"].values
        time = time if among is None else time[among]
        return len(time) - 1 if at is None else int(np.abs(time - at).argmin())

    def when(self, place: int) -> str:
        """A kept instant in words."""
        return f"{self.clock.label} {float(self.trajectory[self.clock.name].values[place]):.6g}"

    def has(self, name: str) -> bool:
        return name in self.trajectory and 0 not in self.trajectory[name].sizes.values()

    def label(self, name: str) -> str:
        """What a variable or coordinate is, with its units."""
        return label(self.trajectory[name])

    def over_time(self, name: str, *dims: str) -> Floats:
        """(T, seeds, …dims) of a variable at the instants of the clock, of a single run with one seed.

        Raises UsageError where it was not kept.
        """
        self.need(name)
        return self._drawn(self.trajectory[name], dims)

    def errors_over_time(self, name: str, *dims: str) -> Floats | None:
        """The same of the variable's estimated errors; None of a run that is not certified. What is not known is 0."""
        if self.found("error") is None or name not in (group := self.group("error")):
            return None
        errors = self._drawn(group[name], dims)
        return np.where(np.isfinite(errors), errors, 0.0)

    def _drawn(self, variable: xr.DataArray, dims: tuple[str, ...]) -> Floats:
        kept = variable.reset_coords(drop=True).isel(time=self.clock.index)
        if "seed" not in kept.dims:
            kept = kept.expand_dims("seed")
        return np.asarray(kept.transpose("time", "seed", *dims).values, dtype=float)

    def known(self, name: str, *dims: str) -> Any:
        """(seeds, …dims) of a coordinate; of one that all members share, with one seed."""
        self.need(name)
        kept = self.trajectory[name].reset_coords(drop=True)
        if "seed" not in kept.dims:
            kept = kept.expand_dims("seed")
        return kept.transpose("seed", *dims).values

    def aims(self) -> tuple[Integers, str]:
        """(neuron,): each neuron's target, -1 in the void region, and what that is called.

        Where neurons have no targets, as in networks of several layers, it is the centre that each ends closest to.
        """
        if self.has("target_cluster") or not self.has("cosine"):
            return np.asarray(self.known("target_cluster", "neuron")[0]), "target"
        last = self.trajectory["cosine"].isel(time=-1).transpose("neuron", "cluster").values
        return last.argmax(axis=1), "closest to"

    def need(self, *names: str) -> None:
        """Raise UsageError where one of these is missing, which says how it is kept."""
        missing = [name for name in names if not self.has(name)]
        if missing:
            raise UsageError("; ".join(self._why(name) for name in missing))

    def group(self, name: str) -> xr.Dataset:
        """At the instants, and of the members, of the trajectory. Raises UsageError where the result does not have it."""
        group = self.found(name)
        if group is None:
            whole = bool(self.groups) or "source" in self.trajectory.encoding
            why = MADE_BY.get(name, "this result does not have it") if whole else ALONE
            raise UsageError(f"it needs the group {name} of the result, which is not here; {why}")
        return at_instants(group, self.trajectory)

    def _from_file(self, name: str) -> xr.Dataset | None:
        """A group of the file that the trajectory was opened from; group by group, as netCDF4 crashes where a whole tree is
        opened beside a part of it."""
        file = self.trajectory.encoding.get("source")
        if self.groups or not file:
            return None
        try:
            if is_store(Path(file)):
                tree = open(file)
                return _with_clock(tree.children[name].to_dataset(inherit=False), tree.to_dataset())
            with xr.open_dataset(file, group=name) as group, xr.open_dataset(file) as root:
                return _with_clock(group, root)
        except (OSError, ValueError, KeyError, UsageError):
            return None

    def _why(self, name: str) -> str:
        kept = keys_of(self.trajectory.attrs).get("observe", {})
        if name in ("direction", "bias_weight"):
            return f'it needs {name}, which was not kept; observe.snapshots = "ends" or a number keeps it'
        if name not in OBSERVABLES:
            return f"it needs {name}, which this result does not have: its problem has no known clusters, or several layers"
        if kept.get("variables", "default") != "default":
            return f"it needs {name}, which was not kept; add it to observe.variables and run again"
        return f"it needs {name}, which this result does not have: see flowsim check for what its problem has"


def _with_clock(group: xr.Dataset, root: xr.Dataset) -> xr.Dataset:
    shared = [dim for dim in ("seed", "time") if dim in group.dims and dim in root.coords]
    return group.load().assign_coords({dim: root[dim].load() for dim in shared})


def label(variable: xr.DataArray) -> str:
    """What a variable is, with its units where it has any; of a long name what stands before its semicolon, the rest being
    about special cases."""
    name, units = str(variable.attrs.get("long_name", variable.name)), str(variable.attrs.get("units", "1"))
    return name.partition(";")[0] + ("" if units in ("1", "") else f" ({units})")


def pooled(values: Floats, mask: Booleans | None = None) -> Floats:
    """(T, N) from (T, seeds, …), all members together; NaN where the mask (seeds, …) is false."""
    if mask is not None:
        values = np.where(mask, values, np.nan)
    return values.reshape(len(values), -1)
