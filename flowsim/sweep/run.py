"""A sweep from scenario to dataset: one page of named stages."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

from ..durable import held
from ..errors import NotWritten, UsageError
from ..kinds.plugins_used import listed, used
from ..results.damage import reading
from ..run import Warn
from ..run.cost import check_disk
from ..scenario import ScenarioLike, as_scenario
from ..signals import endings
from ..threads import cores
from .batches import Estimate, batches, estimate
from .collect import collect, is_current
from .cost import check_memory, check_time
from .execute import INTERRUPTED, Team, cluster, execute
from .plan import Plan, Point, plan
from .store import DATASET, Store, lines
from .worker import Landed


class Watch(Protocol):
    """Who is told how a sweep goes."""

    def begin(self, dashboard: str) -> None:
        """dashboard: the address of Dask's own page about the cluster."""

    def show(self, done: int, failed: int, running: int, points: int) -> None:
        """Numbers of points; done and failed count those of earlier parts of the sweep too."""


@dataclass(frozen=True)
class Result:
    """folder: of the sweep. done, points: how many points, and how many there are. failed: point in words -> its status and
    cause. cut: why points have not been run, "" where all have. ran: how many ended in this call."""

    folder: Path
    points: int
    done: int
    failed: Mapping[str, tuple[str, str]]
    cut: str = ""
    ran: int = 0

    @property
    def dataset(self) -> Path | None:
        """The file with the dataset; None where the sweep has been cut short, and none was written."""
        return None if self.cut else self.folder / DATASET

    @property
    def exit_code(self) -> int:
        """As the shell sees it: 0 where all points are done, 4 where some failed or have not been run, 130 interrupted."""
        return 130 if self.cut == INTERRUPTED else 4 if self.failed or self.cut else 0


def sweep(
    scenario: ScenarioLike,
    folder: str | PathLike[str],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    watch: Watch | None = None,
    warn: Warn = warnings.warn,
) -> Result:
    """Run every point of the [sweep] of a scenario, or of that in a file or a mapping, that is not done yet, and write the
    dataset of all into the folder.

    workers: processes on this machine, by default as many as there are cores; scheduler: the address of a Dask scheduler
    to use instead. resume: go on with the sweep in the folder; overwrite: replace it. warn is called with each file of
    results that is damaged or gone, whose points run again. A point that fails does not stop the others.
    Raises ScenarioError or UsageError before anything is run, NotWritten where what was found cannot be written.
    """
    planned = plan(as_scenario(scenario))
    _check_workers_know(planned)
    # before there is a folder; one that is there says which points are left
    of_each = None if resume else _fitting(planned, planned.points, Path(folder), workers, scheduler)
    with held(Path(folder)), endings(), Store.open(folder, planned, resume=resume, overwrite=overwrite) as store:
        waiting, cut = store.missing, ""
        for place, points in store.damaged.items():
            warn(f"{place}; its points ({points}) run again")
        try:
            if waiting:
                of_each = of_each or _fitting(planned, waiting, store.folder, workers, scheduler)
                cut = _run(planned, store, of_each, workers, scheduler, watch)
            if not cut and (waiting or not is_current(planned, store.folder)):
                with reading(str(store.folder)):
                    collect(planned, store.folder)
        except NotWritten as error:
            done = len(planned.points) - len(store.missing)
            kept = f"{done} of {len(planned.points)} points are done and stay; make room, and --resume does the rest"
            raise NotWritten(f"{error}; {kept}", elsewhere=error.elsewhere) from None
        return _result(planned, store, cut, len(waiting) - len(store.missing) + len(store.failed))


def _check_workers_know(planned: Plan) -> None:
    """Raise UsageError for kinds that only this process knows: those that a notebook has registered."""
    if hasattr(sys.modules["__main__"], "__file__"):
        return  # workers import the script
    for plugin, kinds in used(planned.scenario.to_dict()).items():
        if plugin.name == "__main__":
            raise UsageError(
                f"{listed(kinds)}: registered in this session, of which the workers of a sweep know nothing; write it to a "
                "file, and load that by flowsim.plugin(path)"
            )


def _fitting(
    planned: Plan, points: Sequence[Point], folder: Path, workers: int | None, scheduler: str | None
) -> Estimate:
    """Of each of these points. Raises ScenarioError or UsageError where they are too many for this machine; how long the
    workers of a scheduler take is known once these are."""
    of_each = estimate(planned, points)
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    advice = "make fewer points, or keep fewer observe.times"
    check_disk(of_each.bytes * len(points), there, "this sweep", advice)
    if scheduler is None:
        check_time(planned, of_each, len(points), workers or cores())
        check_memory(of_each, len(points), workers or cores())
    return of_each


def _run(
    planned: Plan, store: Store, of_each: Estimate, workers: int | None, scheduler: str | None, watch: Watch | None
) -> str:
    waiting = store.missing
    again = {point.sha256 for point in waiting}
    with cluster(workers, scheduler) as (client, dashboard):
        if scheduler is not None:
            check_time(planned, of_each, len(waiting), Team(client).threads)
        if watch is not None:
            watch.begin(dashboard)

        def look(running: int) -> None:
            if watch is not None:
                failed = sum(point.sha256 not in again for point in store.failed)
                points = len(planned.points)
                watch.show(points - len(store.missing), failed, running, points)

        def keep(landed: Landed) -> None:
            store.keep(landed)
            again.difference_update(record.sha256 for record in landed.records)

        return execute(client, batches(planned, waiting, of_each, Team(client).threads), keep, look)


def _result(planned: Plan, store: Store, cut: str, ran: int) -> Result:
    failed = {point.sha256: str(point) for point in store.failed}
    told: dict[str, tuple[str, str]] = {}
    for line in lines(store.folder) if failed else ():
        if line.record.sha256 in failed:
            told[failed[line.record.sha256]] = (line.record.status, line.record.cause)
    done = len(planned.points) - len(store.missing)
    return Result(store.folder, len(planned.points), done, told, cut, ran)
