"""The members of a run, one for each seed. Most runs have one; several run side by side in threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from os import PathLike
from queue import Empty, SimpleQueue

import numpy as np
import xarray as xr

from ..arrays import Booleans
from ..errors import FlowsimError
from ..evaluate.undetermined import undetermined
from ..results import in_memory, open
from ..results.companion import filled
from ..results.gathered import NOT_RUN, Gathered, Outcome
from ..solve import Plan, Report
from ..solve.compiling import Clock
from ..solve.status import Status
from ..threads import cores, one_blas_thread
from . import checkpoint
from .companion import Companion
from .member import Member
from .prepare import Prepared
from .progress import Standing

#: Wall seconds between two checks for Ctrl-C and the budget of time.
POLL_SECONDS = 0.1
#: A cause names at most so many seeds.
NAMED_SEEDS = 10
#: What to do about members that a budget or Ctrl-C has stopped. Other causes have remedies of their own.
REMEDIES = {
    "interrupted": "--resume runs the members that are not done",
    "wall_time_limit": "raise flow.wall_time; --resume then runs the members that are not done",
    "step_limit": "raise flow.until.steps; --resume then runs the members that are not done",
}
Tell = Callable[[Standing], None]


class Members:
    """The members of a run, and what they share.

    outcomes: how each member has ended. kept: the only member, whose result has no dimension `seed`, or what several
    members have given.
    """

    def __init__(self, first: Prepared, warn: Callable[[str], None]):
        """warn: called with the warnings of members other than the first."""
        self.first, self.scenario, self.clock, self._warn = first, first.scenario, Clock(), warn
        self.outcomes = [Outcome(NOT_RUN)] * len(self.scenario.seeds)
        self.warnings = list(first.plan.warnings)
        self.stopped = np.zeros(1, dtype=np.bool_)
        self.kept: Member | Gathered = (
            Gathered.empty(self.scenario, first.setting, first.selection)
            if self.scenario.is_ensemble
            else Member(first, self.scenario, self.clock)
        )

    def resume(self, output: str | PathLike[str]) -> tuple[Status, xr.DataTree] | None:
        """Take over what an unfinished run of the same scenario has left.

        Returns how the flow ended and the result so far, if the evaluation alone is not done; else None.
        """
        with open(output) as tree:
            checkpoint.check_same(tree, self.scenario, self.first.problem, str(output))
            if (status := checkpoint.flown(tree)) is not None:
                return status, in_memory(tree)
            self.clock.before = checkpoint.seconds_of(tree)
            if isinstance(self.kept, Member):
                self.kept.resume(tree)
            else:
                self.outcomes = self.kept.resume(tree)
            earlier = str(tree.attrs["warnings"]).splitlines()
        self.warnings += [warning for warning in earlier if warning not in self.warnings]
        return None

    def run(self, tell: Tell | None, save: Callable[[], None], interrupted: Booleans) -> Status:
        """Run all members that are not done. Returns how the run as a whole ended.

        tell: called now and then with how far they are. save: called where a checkpoint can be made. interrupted (1,):
        ends the members when it is set.
        """
        if isinstance(self.kept, Gathered):
            return self._run_side_by_side(self.kept, interrupted, tell, save)
        return self._run_alone(self.kept, interrupted, tell, save)

    @property
    def plan(self) -> Plan:
        """The plan that was used. Where members differ, it names all engines, solvers and coordinates."""
        flown = [outcome for outcome in self.outcomes if outcome.engine]

        def used(names: Sequence[str], otherwise: str) -> str:
            return ", ".join(dict.fromkeys(names)) or otherwise

        plan = self.first.plan
        return replace(
            plan,
            engine=used([outcome.engine for outcome in flown], plan.engine),
            solver=used([outcome.solver for outcome in flown], plan.solver),
            coordinates=used([outcome.coordinates for outcome in flown], plan.coordinates),
            warnings=tuple(self.warnings),
        )

    def groups(self) -> dict[str, xr.Dataset]:
        """All groups of the result but those of the evaluation."""
        return self.kept.groups(self.scenario, self.first.problem, self.outcomes)

    def checkpoint(self) -> xr.Dataset:
        """The state from which the run is resumed. Of several members none is saved: those that are done stay as they are,
        and the others are run anew."""
        state = self.kept.save() if isinstance(self.kept, Member) else xr.Dataset()
        return state.assign_attrs(seconds=self.clock.seconds)

    def _run_alone(self, member: Member, interrupted: Booleans, tell: Tell | None, save: Callable[[], None]) -> Status:
        """Run the only member, in this thread: it can be saved while it is under way."""

        def look(report: Report) -> None:
            if tell is not None:
                tell(member.standing(report))

        member.begin()
        self.clock.start()
        self.outcomes[0] = member.outcome(member.drive(look, save, interrupted))
        return self.outcomes[0].status

    def _run_side_by_side(
        self, gathered: Gathered, interrupted: Booleans, tell: Tell | None, save: Callable[[], None]
    ) -> Status:
        """Run several members in threads. Each thread prepares, runs and observes one member at a time."""
        waiting = [index for index, outcome in enumerate(self.outcomes) if outcome.status.exit_code]
        left, threads, cut = len(waiting), _threads(self.first), ""
        landed: SimpleQueue[Future[Outcome]] = SimpleQueue()
        self.clock.start()
        with one_blas_thread() if threads > 1 else nullcontext(), ThreadPoolExecutor(threads) as pool:
            try:
                flights = {pool.submit(self._run_one, index, gathered): index for index in waiting}
                for flight in flights:
                    flight.add_done_callback(landed.put)
                while left:
                    with suppress(Empty):
                        flight = landed.get(timeout=POLL_SECONDS)
                        self.outcomes[flights[flight]] = flight.result()
                        left -= 1
                    cut = cut or self._cut(bool(interrupted[0]))
                    self.stopped[0] = bool(cut)
                    if tell is not None:
                        tell(Standing(len(self.outcomes), len(self.outcomes) - left, min(left, threads)))
                    save()
            finally:
                self.stopped[0] = True
        self._be_wary([warning for outcome in self.outcomes for warning in outcome.warnings])
        return _together(self.scenario.seeds, self.outcomes, cut)

    def _run_one(self, index: int, gathered: Gathered) -> Outcome:
        """Run one of several members."""
        if self.stopped[0]:
            return Outcome(NOT_RUN)
        try:
            prepared = self.first if index == 0 else Prepared(self.scenario.member(index), self.first)
        except FlowsimError as error:
            return Outcome(Status("refused", str(error), "the other members are not concerned", 3))
        member = Member(prepared, self.scenario, self.clock)
        status = member.drive(lambda report: None, lambda: None, self.stopped)
        kept = member.trajectory(complete=False)
        gathered.put(index, prepared.setting, kept, member.loose)
        if self.scenario.certified and not status.exit_code:
            companion = Companion(prepared, kept)
            ended = companion.follow(lambda report: None, lambda: None, self.stopped)
            if ended.exit_code:
                return member.outcome(ended)
            there = filled(companion.trajectory(complete=False), kept)
            gathered.put_companion(index, there, undetermined(prepared.setting, kept, there))
        return member.outcome(status)

    def _cut(self, interrupted: bool) -> str:
        """Why all members are to stop now; "" where they are not."""
        limit = self.scenario.flow.wall_time
        if interrupted:
            return "interrupted"
        return "wall_time_limit" if limit is not None and self.clock.seconds >= limit else ""

    def _be_wary(self, warnings: Iterable[str]) -> None:
        """Pass on each warning that is new, and remember it."""
        for warning in warnings:
            if warning not in self.warnings:
                self.warnings.append(warning)
                self._warn(warning)


def _threads(first: Prepared) -> int:
    """How many members may run at once. JAX has threads of its own."""
    return 1 if first.plan.engine == "diffrax" or first.plan.by_optax else cores()


def _together(seeds: Sequence[int], outcomes: Sequence[Outcome], cut: str) -> Status:
    """The status of the whole run. cut: why members were stopped or not begun; "" if none was."""
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
