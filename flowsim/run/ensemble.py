"""Members of one scenario, one for each seed, side by side: every thread prepares, flies and observes one at a time."""

from __future__ import annotations

import time as wall
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from os import PathLike
from queue import Empty, SimpleQueue

import numpy as np
import xarray as xr

from ..errors import FlowsimError
from ..evaluate import phases
from ..results import attributes, layout, open, status_attributes, write
from ..results.gathered import NOT_RUN, Gathered, Outcome
from ..solve import Plan, make
from ..solve.compiling import spent, working
from ..solve.schedule import Schedule
from ..solve.status import RUNNING, Status, judge
from ..solve.threads import cores, one_blas_thread
from ..solve.through import fly
from . import checkpoint
from .drive import CHECKPOINT_SECONDS, interrupts
from .prepare import Prepared

#: Wall seconds between two looks at Ctrl-C and at the clock.
POLL_SECONDS = 0.1
#: There are no more threads than keep the states that are under way within so many bytes.
FLIGHT_BYTES = 2**30
#: A cause names at most so many seeds.
NAMED_SEEDS = 10
#: What to do about members that a budget has stopped; others have a remedy of their own.
REMEDIES = {
    "interrupted": "--resume runs the members that are not done",
    "wall_time_limit": "raise flow.wall_time; --resume then runs the members that are not done",
    "step_limit": "raise flow.until.steps; --resume then runs the members that are not done",
}


class Ensemble:
    """An ensemble under way: what its threads share."""

    def __init__(self, first: Prepared):
        self.first, self.scenario, self.members = first, first.scenario, first.scenario.members
        self.instants = np.array(Schedule.of(self.scenario, np.nan).instants)
        self.gathered = Gathered.empty(self.scenario, first.setting, first.selection, self.instants)
        self.stopped = np.zeros(1, dtype=np.bool_)
        self.warnings = list(first.plan.warnings)
        self.before, self._begun, self._spent = 0.0, working(), spent()

    def resume(self, output: str | PathLike[str]) -> None:
        """Take over what is done from an unfinished result of the same ensemble."""
        with open(output) as tree:
            checkpoint.check_same(tree, self.scenario, self.first.problem, str(output))
            self.before = checkpoint.restore_ensemble(tree)
            self.gathered.restore(tree)
            earlier = str(tree.attrs["warnings"]).splitlines()
        self.warnings += [warning for warning in earlier if warning not in self.warnings]

    @property
    def seconds(self) -> float:
        """Wall seconds so far without compiling, those of earlier parts included."""
        return self.before + working() - self._begun

    @property
    def compile_seconds(self) -> float:
        return spent() - self._spent

    @property
    def threads(self) -> int:
        """How many members may run at once. JAX has threads of its own."""
        if self.first.plan.engine == "diffrax" or self.first.problem.network is not None:
            return 1
        flight = 8 * len(self.instants) * self.first.reduced.direction.size
        return max(min(cores(), FLIGHT_BYTES // flight), 1)

    def fly(self, index: int) -> Outcome:
        """Run a member and gather what it gives."""
        if self.stopped[0]:
            return Outcome(NOT_RUN)
        scenario = self.members[index]
        try:
            prepared = self.first if index == 0 else Prepared(scenario, self.first)
        except FlowsimError as error:
            return Outcome(Status("refused", str(error), "the other members are not concerned", 3))
        integrator = make(scenario, prepared.reduced, prepared.plan)
        flown = fly(integrator, self.instants, scenario.flow.until.steps, self.stopped)
        self.gathered.put(index, prepared.setting, prepared.selection, flown)
        status = judge(scenario, flown.report, self.seconds, bool(self.stopped[0]))
        assert status is not None, "a member has ended for no reason"
        plan = prepared.plan
        return Outcome(status, flown.report.time, plan.engine, plan.solver, plan.coordinates, plan.warnings)

    def fly_all(self, look: Callable[[int, int], None]) -> None:
        """Run all members that are not done; look is called often, with the numbers of those that have ended and run."""
        outcomes = self.gathered.outcomes
        waiting = [index for index, outcome in enumerate(outcomes) if outcome.status.exit_code]
        left, threads = len(waiting), self.threads
        landed: SimpleQueue[Future[Outcome]] = SimpleQueue()
        alone = one_blas_thread() if threads > 1 else nullcontext()
        with alone, ThreadPoolExecutor(threads) as pool:
            try:
                flights = {pool.submit(self.fly, index): index for index in waiting}
                for flight in flights:
                    flight.add_done_callback(landed.put)
                while left:
                    try:
                        flight = landed.get(timeout=POLL_SECONDS)
                    except Empty:
                        pass
                    else:
                        outcomes[flights[flight]] = flight.result()
                        left -= 1
                    look(len(outcomes) - left, min(left, threads))
            finally:
                self.stopped[0] = True


def execute(
    first: Prepared,
    output: str | PathLike[str] | None,
    resume: bool,
    progress: Callable[[int, int, int], None] | None,
    warn: Callable[[str], None],
) -> xr.DataTree:
    """Run the ensemble whose first member was prepared, lay out its result, write it.

    progress is called with the numbers of members that have ended, that run, and of all.
    """
    ensemble = Ensemble(first)
    if resume and output is not None:
        ensemble.resume(output)
    cut, written = "", wall.monotonic()
    with interrupts() as interrupted:

        def look(ended: int, running: int) -> None:
            nonlocal cut, written
            limit = ensemble.scenario.flow.wall_time
            if not cut and (interrupted() or (limit is not None and ensemble.seconds >= limit)):
                cut = "interrupted" if interrupted() else "wall_time_limit"
                ensemble.stopped[0] = True
            if progress is not None:
                progress(ended, running, len(ensemble.members))
            if output is not None and wall.monotonic() - written >= CHECKPOINT_SECONDS:
                write(_result(ensemble, RUNNING), output)
                written = wall.monotonic()

        ensemble.fly_all(look)
    for warning in dict.fromkeys(warning for outcome in ensemble.gathered.outcomes for warning in outcome.warnings):
        if warning not in ensemble.warnings:
            ensemble.warnings.append(warning)
            warn(warning)
    tree = _result(ensemble, _together(ensemble.scenario.seeds, ensemble.gathered.outcomes, cut))
    if output is not None:
        write(tree, output)
    return tree


def _result(ensemble: Ensemble, status: Status) -> xr.DataTree:
    scenario, problem = ensemble.scenario, ensemble.first.problem
    groups = ensemble.gathered.groups(problem)
    root, seconds = layout.with_iterations(groups["/"], scenario), ensemble.seconds
    groups["/"] = root
    root.attrs = attributes(scenario, _common_plan(ensemble), status, seconds, ensemble.compile_seconds)
    groups["/phases"] = phases(root)
    groups["/numerics"].attrs = status_attributes(status)
    groups |= layout.taken(scenario, problem)
    if status.exit_code:
        groups["/checkpoint"] = checkpoint.save_ensemble(seconds)
    return xr.DataTree.from_dict(groups)


def _common_plan(ensemble: Ensemble) -> Plan:
    """What integrated the members, in words: where they differ, all that were used."""
    flown = [outcome for outcome in ensemble.gathered.outcomes if outcome.engine]

    def used(names: Sequence[str], otherwise: str) -> str:
        return ", ".join(dict.fromkeys(names)) or otherwise

    plan = ensemble.first.plan
    return replace(
        plan,
        engine=used([outcome.engine for outcome in flown], plan.engine),
        solver=used([outcome.solver for outcome in flown], plan.solver),
        coordinates=used([outcome.coordinates for outcome in flown], plan.coordinates),
        warnings=tuple(ensemble.warnings),
    )


def _together(seeds: Sequence[int], outcomes: Sequence[Outcome], cut: str) -> Status:
    """The status of the whole. cut: why members were stopped or not begun, "" if none was."""
    failed: defaultdict[str, list[int]] = defaultdict(list)
    for seed, outcome in zip(seeds, outcomes, strict=True):
        if outcome.status.exit_code:
            failed[outcome.status.name].append(seed)
    if not failed:
        return Status("done", f"all {len(seeds)} members are done" if len(seeds) > 1 else outcomes[0].status.cause)
    worst = cut if failed.keys() & {cut, NOT_RUN.name} else max(failed, key=lambda name: len(failed[name]))
    own = next((outcome.status.remedy for outcome in outcomes if outcome.status.name == worst), "")
    causes = [f"{len(members)} of {len(seeds)} members: {name} ({_named(members)})" for name, members in failed.items()]
    return Status(worst, "; ".join(causes), REMEDIES.get(worst, own), 130 if worst == "interrupted" else 3)


def _named(seeds: Sequence[int]) -> str:
    listed = ", ".join(map(str, seeds[:NAMED_SEEDS])) + (", …" if len(seeds) > NAMED_SEEDS else "")
    return f"seed {listed}" if len(seeds) == 1 else f"seeds {listed}"
