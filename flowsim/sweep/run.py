"""A sweep from scenario to dataset: one page of named stages."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Protocol

from ..errors import UsageError
from ..kinds.used import listed, used
from ..scenario import ScenarioLike, as_scenario
from .batches import batches, estimate
from .collect import collect, is_current
from .execute import INTERRUPTED, Team, cluster, execute
from .flight import Landed
from .plan import Plan, plan
from .store import DATASET, Store, lines


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
) -> Result:
    """Run every point of the [sweep] of a scenario, or of that in a file or a mapping, that is not done yet, and write the
    dataset of all into the folder.

    workers: processes on this machine, by default as many as there are cores; scheduler: the address of a Dask scheduler
    to use instead. resume: go on with the sweep in the folder; overwrite: replace it. A point that fails does not stop the
    others. Raises ScenarioError or UsageError before anything is run.
    """
    planned = plan(as_scenario(scenario))
    _check_workers_know(planned)
    store = Store.open(folder, planned, resume=resume, overwrite=overwrite)
    with store:
        waiting, cut = store.missing, ""
        if waiting:
            cut = _run(planned, store, workers, scheduler, watch)
        if not cut and (waiting or not is_current(planned, store.folder)):
            collect(planned, store.folder)
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


def _run(planned: Plan, store: Store, workers: int | None, scheduler: str | None, watch: Watch | None) -> str:
    waiting = store.missing
    again = {point.sha256 for point in waiting}
    of_each = estimate(planned, waiting)
    with cluster(workers, scheduler) as (client, dashboard):
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
