"""From a result back to what ran: the one way that analyses, plots, pages and claims take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import xarray as xr

from ..errors import ScenarioError, UsageError
from ..kinds.network import Handed
from ..kinds.network import Network as OfTree
from ..observe import Setting, parameters
from ..problem import Problem, Reduced, build, reduce
from ..results import layouts, open, open_point
from ..results.companion import root_of
from ..results.layout import leaf_names, snapshot_index
from ..results.stored import scenario_of
from ..results.weights import weights_of
from ..scenario import Scenario, referenced_files
from ..scenario.arrays import SECTIONS, outside
from ..solve import Snapshot
from ..threads import blas_threads
from .member import stopped_member
from .same_start import differences

if TYPE_CHECKING:
    from .robustness.classifier import Network


class Function(NamedTuple):
    """What `reopen` was given for a run of :func:`flowsim.flow`."""

    apply: Callable[[Any, Any], Any] | None
    params: Any


class Case:
    """What ran, as a result has it; :func:`flowsim.reopen` makes one. Everything is made once, when it is asked for."""

    def __init__(
        self, tree: xr.DataTree, name: str, seed: int | None, stage: str | None, function: Function | None = None
    ):
        self.tree, self.name, self.stage = tree, name, stage
        self._seed, self._mine, self._function = seed, False, function
        _ = self.trajectory  # a wrong seed or stage is told at once

    @property
    def seed(self) -> int:
        """The seed that ran."""
        if "seed" in self._root.coords:
            return int(self._root["seed"])
        return int(self.tree.attrs["seed"]) if "seed" in self.tree.attrs else self._whole.single_seed

    @cached_property
    def scenario(self) -> Scenario:
        """What was asked for; of a stage, as if that were all of the flow. Raises UsageError where this version of flowsim
        cannot read it."""
        return self._of_stage(self._whole)

    def asking(self, evaluate: Mapping[str, Any]) -> Scenario:
        """The same with other keys of [evaluate], dotted. Raises ScenarioError where these are wrong."""
        if not evaluate:
            return self.scenario
        _ = self._whole  # what is wrong from here on is wrong with the keys
        return self._of_stage(self._with_network(scenario_of(self.tree, self._member_seed, evaluate)))

    @property
    def problem(self) -> Problem:
        """The data, and the weights that the run started from. Raises UsageError where these are not those of the run."""
        return self.setting.problem

    @property
    def reduced(self) -> Reduced:
        """The problem as the engine integrated it."""
        return self.setting.reduced

    @cached_property
    def setting(self) -> Setting:
        """The reduced problem and what follows from it."""
        scenario = self._whole
        for name in SECTIONS:
            if outside(getattr(scenario, name)) is not None and scenario.arrays(name) is None:
                gone = ", ".join(key for key in referenced_files(scenario) if key.startswith(name)) or "Python"
                raise UsageError(f"{self.name}: what the run took from {gone} is gone: it has no group {name}")
        try:
            problem = build(scenario)
        except (ScenarioError, KeyError) as error:
            said = "; ".join(str(error).splitlines())
            raise UsageError(f"{self.name}: its problem cannot be built again: {said}") from None
        reduced = reduce(problem, project=scenario.project, merge=scenario.merge)
        setting = Setting(reduced, scenario.observe, scenario.attack)
        different = differences(setting, self._root)
        if different:
            maker = self.tree.attrs.get("flowsim_version", "an unknown version")
            raise UsageError(
                f"{self.name}: the scenario that flowsim {maker} has written in it is not the one that ran: "
                f"{', '.join(different)} at time 0 are others"
            )
        return setting

    @cached_property
    def trajectory(self) -> xr.Dataset:
        """The root group; of an ensemble, that of the member, up to where it stopped; of a stage, from the instant that it
        began with."""
        if self.stage is None:
            return self._root
        # an instant bears the name of the stage that led to it, so a stage begins with the one before its own
        names = self._root["stage"].values if "stage" in self._root.coords else np.array([])
        mine = np.flatnonzero(names == self.stage)
        if not len(mine):
            there = ", ".join(dict.fromkeys(map(str, names))) or "none: the run has no stages"
            raise UsageError(f'{self.name}: no stage "{self.stage}" has run; there are {there}')
        first, last = max(int(mine[0]) - 1, 0), int(mine[-1])
        part = self._root.isel(time=slice(first, last + 1))
        if "snapshot" in part.dims:
            kept = snapshot_index(self._root)
            part = part.isel(snapshot=np.flatnonzero((kept >= first) & (kept <= last)))
        return part

    @cached_property
    def companion(self) -> xr.Dataset | None:
        """The same of the companion of a certified run; None of others."""
        root = root_of(self.tree)
        if root is None:
            return None
        tree = self.tree.copy()
        tree.dataset = root
        return Case(tree, self.name, self._seed, self.stage, self._function).trajectory

    @cached_property
    def weights(self) -> Snapshot:
        """All weights that were kept, as many instants, in the reduced coordinates. Raises UsageError where none were."""
        with blas_threads(self.reduced.operations):
            return weights_of(self.setting, self.trajectory)

    def weights_at(self, index: int, name: str = "index") -> Snapshot:
        """Those of one instant; an index below 0 counts from the last one. name: what a message calls the index."""
        kept = len(self.weights.time)
        if not -kept <= index < kept:
            raise UsageError(f"{name}: {index}; weights were kept {kept} times, so from 0 to {kept - 1}")
        return self.weights[index]

    @cached_property
    def network(self) -> Network:
        """The trained network, at the last of the weights that were kept: a function of inputs (n, d)."""
        return self.network_at(-1)

    def network_at(self, index: int, name: str = "index") -> Network:
        """The same at another one of them, as `weights_at`."""
        from .robustness.trained import classifier_of  # evaluations beside it start from a case

        snapshot = self.weights_at(index, name)
        with blas_threads(self.reduced.operations):
            return classifier_of(self.setting, snapshot)

    def close(self) -> None:
        """Close the file, where `reopen` has opened one."""
        if self._mine:
            self.tree.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        run, told = self.trajectory, self.tree.attrs
        of_stage = f', stage "{self.stage}"' if self.stage is not None else ""
        there = [f"{size} {name}s" for name in ("neuron", "cluster", "feature") if (size := run.sizes.get(name))]
        weights = f"weights at {run.sizes['snapshot']} of them" if "snapshot" in run.dims else "no weights"
        return "\n".join(
            (
                f"<flowsim.Case {self.name}: {told.get('title') or 'untitled'}>",
                f"  seed {self.seed}{of_stage}, {told.get('method', 'a run')}: {told.get('status', 'unknown')}",
                f"  {', '.join(there)}",
                f"  {run.sizes['time']} instants up to time {float(run['time'][-1]):.6g}, {weights}",
            )
        )

    @property
    def _member_seed(self) -> int | None:
        """The seed that is to be chosen in the stored scenario, if that is an ensemble's."""
        return int(self._root["seed"]) if "seed" in self._root.coords else None

    @cached_property
    def _whole(self) -> Scenario:
        """With all its stages."""
        try:
            scenario = scenario_of(self.tree, self._member_seed)
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None
        if scenario.is_ensemble:
            raise UsageError(
                f"{self.name}: is a part of an ensemble that does not say of which seed; keep the coordinate seed"
            )
        return self._with_network(scenario)

    def _with_network(self, scenario: Scenario) -> Scenario:
        """The same with the network of a run that was given as a function."""
        return scenario if self._function is None else scenario.with_network(self._handed(scenario, self._function))

    def _handed(self, scenario: Scenario, function: Function) -> Handed:
        if "init" not in self.tree.children:
            raise UsageError(f"{self.name}: holds no arrays of a network at time 0, so apply and params are of no use")
        start = self.tree.children["init"].to_dataset(inherit=False)
        if "seed" in start.dims:
            start = start.isel(seed=np.atleast_1d(self.tree.attrs["seed"]).tolist().index(self.seed))
        arrays = {name: start[name].values for name in leaf_names(start)}
        try:
            network = scenario.model.again(function.apply, function.params, arrays)
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None
        return Handed(network, lambda seed: tuple(arrays.values()), {})

    def params_at(self, index: int = -1) -> Any:
        """The tree of the network's parameters at one of the instants at which weights were kept; an index below 0 counts
        from the last one. Of two layers of neurons {"hidden": (m, d), biases in a last column, "output": (m,)}, the second
        where it is trained; neurons too small for a float have the norm 1e-302."""
        snapshot = self.weights_at(index)
        return self._function_of(snapshot).tree(parameters.arrays(self.reduced, snapshot))

    def apply_at(self, index: int = -1) -> Callable[[Any, Any], Any]:
        """The network as a function in JAX: (a tree like `params_at(index)`, x (n, d)) -> outputs (n,), or (n, k) of
        several. A network whose threshold moves is another function at another instant."""
        network = self._function_of(self.weights_at(index))
        return lambda params, x: network.function(params, network.shaped(network.seen(x)))

    def _function_of(self, snapshot: Snapshot) -> OfTree:
        from ..solve.function import network_of  # with JAX, which other analyses do without

        return network_of(self.problem, float(snapshot.time))

    def _of_stage(self, scenario: Scenario) -> Scenario:
        if self.stage is None:
            return scenario
        names = [stage.name for stage in scenario.stage]
        return scenario.stages[names.index(self.stage)]

    @cached_property
    def _root(self) -> xr.Dataset:
        """The root group, of one run."""
        root, seed = self.tree.to_dataset(inherit=False), self._seed
        if seed is None and "seed" in root.dims and root.sizes["seed"] == 1 and "seed" in root.coords:
            seed = int(root["seed"][0])
        try:
            return stopped_member(self.tree, seed)
        except UsageError as error:
            raise UsageError(f"{self.name}: {error}") from None


def reopen(
    result: str | PathLike[str] | xr.DataTree | Case,
    *,
    seed: int | None = None,
    stage: str | None = None,
    point: str | Mapping[str, Any] | None = None,
    apply: Callable[[Any, Any], Any] | None = None,
    params: Any = None,
) -> Case:
    """From a result, a file or a tree, back to what ran: scenario, problem, weights, network, trajectory.

    seed: the member of an ensemble. stage: one stage of a run in several. point: of the folder of a sweep, the point with
    these values of swept keys, such as ``{"data.noise.total": 0.1, "seed": 0}``, or with this SHA-256.
    apply: of a run of :func:`flowsim.flow`, its function, which no file holds; params: a tree like the one that it was
    given, where that was not made of dictionaries and lists alone.
    A file stays open until the case is closed, by ``close`` or by ``with``. The files that a scenario names need not be
    there. Raises UsageError where this is no result, where there is no such member, stage or point, and where a member or a
    point has to be chosen.
    """
    function = None if apply is None and params is None else Function(apply, params)
    if isinstance(result, Case):
        if point is not None:
            raise UsageError("point: chooses among the points of a sweep, in its folder")
        if seed is None and stage is None and function is None:
            return result
        own = result._seed if seed is None else seed
        return Case(result.tree, result.name, own, stage or result.stage, function or result._function)
    tree, name, opened = tree_of(result, point)
    try:
        if "time" not in tree.dims:
            raise UsageError(f"{name}: holds no trajectory, so it is not a result of flowsim")
        case = Case(tree, name, seed, stage, function)
    except UsageError:
        if opened:
            tree.close()
        raise
    case._mine = opened
    return case


#: What analyses take: the path of a file, a tree, or what `reopen` has made of one.
Result = str | PathLike[str] | xr.DataTree | Case


@contextmanager
def reopened(result: Result, seed: int | None = None) -> Iterator[Case]:
    """The same for as long as it is looked at: files are closed, cases that somebody else made stay as they are."""
    case = reopen(result, seed=seed)
    try:
        yield case
    finally:
        if not isinstance(result, Case):
            case.close()


def tree_of(
    result: str | PathLike[str] | xr.DataTree, point: str | Mapping[str, Any] | None = None
) -> tuple[xr.DataTree, str, bool]:
    """(the tree in the present layout, what messages call it, whether a file was opened)"""
    if isinstance(result, xr.DataTree):
        if point is not None:
            raise UsageError("point: chooses among the points of a sweep, in its folder")
        name = str(result.encoding.get("source", "the result"))
        return layouts.migrated(result, name), name, False
    if isinstance(result, xr.Dataset):
        raise UsageError(
            "a Dataset is a trajectory alone; give the file, or the DataTree that flowsim.open and flowsim.run return"
        )
    if not isinstance(result, str | PathLike):
        raise UsageError(f"a result is the path of a file or a DataTree, not {type(result).__name__}")
    path = str(fspath(result))
    if point is not None:
        return open_point(path, point), path, False
    return open(path), path, True
