"""A result as pages, and views of several results, see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import UsageError
from ..evaluate.case import Case, Result, tree_of
from ..evaluate.neurons import fates
from ..evaluate.phases import moment
from ..evaluate.verdicts import rows
from ..kinds.losses import LOSSES
from ..results.stored import keys_of
from ..scenario.arrays import SECTIONS
from .source import Clock, Source
from .summary import COUNTS, completed, last_values, phase_instants

#: What the members of an ensemble have of their own, of what attributes say of a run.
OWN = ("status", "status_cause", "engine", "solver", "flow_coordinates")


@dataclass(frozen=True)
class Phase:
    """A named instant. number: its place among those that were reached, None where it was not. instant: on the clock, NaN
    where it was not reached. words: the instant as text."""

    number: int | None
    name: str
    instant: float
    words: str
    definition: str


@dataclass(frozen=True)
class Run:
    """name: what the page calls it, its file's name. source: the whole result; of an ensemble, all members or one of
    them."""

    name: str
    source: Source

    @classmethod
    def of(cls, name: str, tree: xr.DataTree, seed: int | None = None) -> Run:
        """seed: the member of an ensemble to look at. Raises UsageError where there is none such."""
        run = cls(name, Source.of(completed(tree), by_time=True))
        return run if seed is None else run.member(seed)

    def member(self, seed: int) -> Run:
        """One run of an ensemble. Raises UsageError where it is not there or has not run."""
        if not self.is_ensemble:
            raise UsageError(
                f"{self.name}: is a single run, of seed {self.attributes['seed']}; --seed is for ensembles"
            )
        try:
            return Run(self.name, self.source.member(seed))
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None

    @property
    def attributes(self) -> dict[str, Any]:
        """Of the result; a member of an ensemble has some of its own."""
        told = {str(name): value for name, value in self.source.trajectory.attrs.items()}
        seed = self.source.trajectory.coords.get("seed")
        if seed is None or self.is_ensemble:
            return told
        numerics = self.group("numerics")
        own = {name: str(numerics[name].values) for name in OWN if name in numerics}
        remedy = {"status_remedy": ""} if own.get("status") == "done" else {}
        return {**told, **own, **remedy, "seed": int(seed)}

    @property
    def is_ensemble(self) -> bool:
        return self.source.is_ensemble

    @cached_property
    def first(self) -> Run:
        """The run itself; of an ensemble, the first member that has run."""
        if not self.is_ensemble:
            return self
        ran = np.flatnonzero(~np.isnan(self.group("numerics")["stop_time"].values))
        return self.member(int(self.source.trajectory["seed"].values[ran[0] if len(ran) else 0]))

    @property
    def clock(self) -> Clock:
        """What curves are drawn over."""
        return self.source.clock

    @cached_property
    def trajectory(self) -> xr.Dataset:
        """The root group at the instants that are drawn."""
        return self.source.trajectory.isel(time=self.clock.index)

    @property
    def groups(self) -> Mapping[str, xr.Dataset]:
        """All groups, with all members and all instants."""
        return self.source.groups

    def group(self, name: str) -> xr.Dataset:
        """Of the members in question, with all their instants."""
        return self.source.group(name)

    @property
    def has_real_targets(self) -> bool:
        """Whether it is a regression: its targets are not all +1 or -1."""
        label = self.source.trajectory.coords.get("label")
        kind = LOSSES.get(keys_of(self.source.trajectory.attrs).get("loss", {}).get("kind", ""))
        of_any = kind is not None and kind.of_any_target
        return of_any and label is not None and not bool((np.abs(label.values) == 1).all())

    @property
    def tree(self) -> xr.DataTree:
        """The trajectory, of a member alone, and the arrays of files or of memory: what comparisons look at."""
        arrays = {f"/{name}": self.groups[name] for name in SECTIONS if name in self.groups}
        return xr.DataTree.from_dict({"/": self.source.trajectory, **arrays})

    @property
    def final(self) -> dict[str, Floats]:
        """The numbers one looks at first, and the solver's counts, where the run stopped; of an ensemble (seed,)."""
        if self.is_ensemble:
            return last_values(self.group("final"))
        counts, last = self.group("numerics").isel(time=-1), self.source.trajectory.isel(time=-1)
        return last_values(last) | {name: counts[name].values for name in COUNTS if name in counts}

    @property
    def phases(self) -> list[Phase]:
        """In the order in which they were reached, those not reached last."""
        found = self.group("phases")
        words = zip(found["phase"].values, found["definition"].values, strict=True)
        instants = phase_instants(found, self.clock.logarithms)
        reached = [
            (_middle(values), str(name), _when(values, self.clock.logarithms), str(definition))
            for (name, definition), values in zip(words, map(np.atleast_1d, instants.values()), strict=True)
        ]
        reached.sort(key=lambda row: (np.isnan(row[0]), row[0]))
        return [
            Phase(None if np.isnan(at) else number, name, at, words, text)
            for number, (at, name, words, text) in enumerate(reached, start=1)
        ]

    @cached_property
    def fates(self) -> dict[str, list[int]]:
        """See :func:`flowsim.evaluate.neurons.fates`; of an ensemble, none."""
        return {} if self.is_ensemble else fates(self.source.trajectory)

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The findings of the group `claims`, as :func:`flowsim.evaluate.verdicts.rows` has them."""
        return rows(self.groups["claims"]) if "claims" in self.groups else []


def opened(results: Result | Sequence[Result], seed: int | None, stack: ExitStack) -> list[Run]:
    """Results as runs, called by their files' names, or where these are alike by their paths; those in memory by their
    place. Files stay open as long as the stack is. seed: see :meth:`Run.of`."""
    shown = [results] if isinstance(results, str | PathLike | xr.DataTree | Case) else [*results]
    paths = [Path(fspath(result)) for result in shown if isinstance(result, str | PathLike)]
    short = len({path.name for path in paths}) == len(paths)
    return [_opened(result, place, short, seed, stack) for place, result in enumerate(shown, start=1)]


def _opened(result: Result, place: int, short: bool, seed: int | None, stack: ExitStack) -> Run:
    """short: whether a file's name is enough to tell it from the others."""
    if isinstance(result, Case):
        if result.stage is not None:
            raise UsageError("this is about all stages of a run; leave the stage out")
        of_member = result.seed if "seed" in result.tree.dims else seed
        return Run.of(Path(result.name).name, result.tree, of_member)
    tree, name, mine = tree_of(result)
    if mine:
        stack.callback(tree.close)
        return Run.of(Path(name).name if short else name, tree, seed)
    return Run.of(f"result_{place}.nc", tree, seed)


def number(value: float) -> str:
    return "—" if np.isnan(value) else f"{value:.4g}"


def _middle(instants: Floats) -> float:
    reached = instants[~np.isnan(instants)]
    return float(np.median(reached)) if len(reached) else np.nan


def _when(instants: Floats, logarithms: bool) -> str:
    """The instant in words; over the members of an ensemble, their quartiles."""
    reached = instants[~np.isnan(instants)]
    if not len(reached):
        return "not reached"
    if len(instants) == 1:
        return f"at {moment(reached[0], logarithms)}"
    lower, median, upper = (moment(value, logarithms) for value in np.quantile(reached, (0.25, 0.5, 0.75)))
    return f"median {median} [{lower}, {upper}], reached by {len(reached)} of {len(instants)} members"
