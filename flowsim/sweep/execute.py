"""Batches on Dask: what is submitted, what comes back, and what becomes of points that kill their worker."""

from __future__ import annotations

import logging
import time as wall
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from queue import Empty, SimpleQueue
from typing import Any

from ..errors import UsageError
from ..signals import endings
from ..threads import cores
from .batches import Batch
from .worker import KILLED, Landed, Record, fly

#: Wall seconds between two looks at Ctrl-C, at the scheduler and at the clock.
POLL_SECONDS = 0.1
#: Wall seconds between two looks at how many workers there are.
LOOK_SECONDS = 2.0
#: Batches that wait at the scheduler for each thread of a worker, beside the one that runs: enough to keep it busy, few
#: enough for results not to pile up.
AHEAD = 1
#: A batch that has killed so many workers of this machine, and then another one, is suspect.
DEATHS = 1
#: Seconds in which a scheduler has to answer.
PATIENCE = 30
#: What keeps a worker of this machine to one core; JAX reads the last two.
ONE_CORE = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
#: Of Dask on this machine. Its workers import flowsim as they start. Its profiler and clocks would take processor time from
#: points, as would what it tells the C library: to give memory back to the system at once, so that each array is new pages.
OF_DASK = {
    "distributed.worker.preload": ["flowsim.sweep.worker"],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.nanny.pre-spawn-environ": {},
}


#: Why not all batches have been run.
INTERRUPTED, LOST = "interrupted", "the scheduler was lost"


@contextmanager
def cluster(workers: int | None, scheduler: str | None) -> Iterator[tuple[Any, str]]:
    """(client, address of the dashboard) of a cluster of worker processes on this machine, one thread each, or of the one
    at an address. Raises UsageError where Dask is missing, or no usable scheduler answers."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise UsageError("sweeps need Dask, which is not installed; pip install 'flowsim[sweep]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if scheduler is not None:
        with _connected(distributed, scheduler) as client:
            yield client, client.dashboard_link
        return
    import dask

    with (
        dask.config.set(OF_DASK | {"distributed.scheduler.allowed-failures": DEATHS}),
        _local(distributed, workers or cores()) as local,
        distributed.Client(local) as client,
    ):
        yield client, client.dashboard_link


def _local(distributed: Any, workers: int, again: bool = True) -> Any:
    """again: whether workers that something has ended while they were starting are started once more."""
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            env=ONE_CORE,
            silence_logs=logging.CRITICAL,
        )
    except RuntimeError as error:
        if again:
            return _local(distributed, workers, again=False)
        raise UsageError(
            f"the workers could not be started: {error} Each of them imports the script that it is started from, so there "
            "a sweep belongs under: if __name__ == '__main__':"
        ) from error


@contextmanager
def _connected(distributed: Any, address: str) -> Iterator[Any]:
    try:
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise UsageError(f"{address}: no Dask scheduler answers there: {error}") from None
    with client:
        mine = version("flowsim")
        try:
            theirs = client.run(version, "flowsim")
        except ModuleNotFoundError:
            raise UsageError(f"{address}: its workers have no flowsim installed") from None
        different = {worker: found for worker, found in theirs.items() if found != mine}
        if different:
            told = ", ".join(f"{found} on {worker}" for worker, found in different.items())
            raise UsageError(f"{address}: its workers need flowsim {mine}, and have {told}")
        yield client


def execute(client: Any, batches: Sequence[Batch], keep: Callable[[Landed], None], look: Callable[[int], None]) -> str:
    """Run all batches, and say why not all have been run: INTERRUPTED or LOST, "" where they have.

    keep is called with what each has given, look often, with the number of points that run.

    A worker that dies has its batches run again by others. Points of batches that no worker survives are run again by
    themselves, one after the other, and those that no worker survives then are given to `keep` as killed.
    """
    waiting, suspects = deque(batches), deque[Batch]()
    landed: SimpleQueue[Any] = SimpleQueue()
    flights: dict[Any, Batch] = {}
    team = Team(client)

    def submit(batch: Batch) -> None:
        future = client.submit(fly, batch, pure=False)
        flights[future] = batch
        future.add_done_callback(landed.put)

    with endings() as ending:
        while waiting or suspects or flights:
            if client.status != "running":
                return LOST
            if ending.asked:
                client.cancel([*flights])
                return INTERRUPTED
            threads = team.threads
            while waiting and len(flights) < threads * (1 + AHEAD):
                submit(waiting.popleft())
            if suspects and not flights and not waiting:
                submit(suspects.popleft())
            look(sum(len(batch.points) for batch in [*flights.values()][:threads]))
            try:
                future = landed.get(timeout=POLL_SECONDS)
            except Empty:
                continue
            if future.status in ("cancelled", "lost"):
                return LOST
            batch = flights.pop(future)
            found = _result(future, batch, suspects)
            if found is not None:
                keep(found)
    return ""


def _result(future: Any, batch: Batch, suspects: deque[Batch]) -> Landed | None:
    """What a batch has given; None where its points are to be run again by themselves."""
    from distributed import KilledWorker

    error = future.exception() if future.status == "error" else None
    if error is None:
        found: Landed = future.result()
        future.release()
        return found
    if not isinstance(error, KilledWorker):
        name, cause = "raised", f"{type(error).__name__}: {error}"
    elif batch.suspect:
        name, cause = KILLED, "no worker survived it; most often there was not enough memory"
    else:
        suspects.extend(batch.suspects())
        return None
    return Landed(tuple(Record(point, name, cause, 3, 0.0) for point in batch.points), b"")


class Team:
    """The workers of a cluster, which come and go."""

    def __init__(self, client: Any):
        self._client, self._seen, self._threads = client, -LOOK_SECONDS, 1

    @property
    def threads(self) -> int:
        """Of all workers; at least 1, so that there is something to do for those that are still to come."""
        if wall.monotonic() - self._seen >= LOOK_SECONDS and self._client.status == "running":
            with suppress(OSError):
                self._threads = max(sum(self._client.nthreads().values()), 1)
            self._seen = wall.monotonic()
        return self._threads
