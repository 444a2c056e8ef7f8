"""One run by several processes, which JAX has brought together: each integrates the same flow with a share of the samples.

All of them go through the same steps, so what depends on a process's own clock, its signals and its files is agreed on
before it decides anything. Where one process runs alone, nothing here imports JAX.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from .errors import FlowsimError, UsageError

#: Where the first process listens, as host:port; how many processes there are; which of them this one is, from 0.
ADDRESS, COUNT, PLACE = "JAX_COORDINATOR_ADDRESS", "FLOWSIM_PROCESSES", "FLOWSIM_PROCESS"
NOT_JOINED = (
    f"set {ADDRESS} (host:port of the first process), {COUNT} (how many there are) and {PLACE} (which one this is, "
    "from 0); under SLURM and Open MPI they are known"
)
#: Seconds in which processes have to find each other, and after which one that is silent counts as lost.
FIRST_CONTACT, SILENCE = 300, 100


def join() -> None:
    """Bring together the processes of a run, before JAX computes anything: those that the environment names, or the tasks
    of a job of SLURM or Open MPI, or whatever else JAX knows of. Raises UsageError where they do not find each other."""
    import jax

    told = {name: os.environ[name] for name in (COUNT, PLACE) if name in os.environ}
    wrong = [f"{name} is {value!r}" for name, value in told.items() if not value.isdecimal()]
    if wrong or len(told) == 1:
        raise UsageError(f"--distributed: {', '.join(wrong) or 'of two numbers one is missing'}; {NOT_JOINED}")
    processes, place = (int(told[name]) if told else None for name in (COUNT, PLACE))
    try:
        jax.distributed.initialize(
            None, processes, place, initialization_timeout=FIRST_CONTACT, heartbeat_timeout_seconds=SILENCE
        )
    except (ValueError, RuntimeError) as error:
        raise UsageError(f"--distributed: {str(error).splitlines()[0]}; {NOT_JOINED}") from None


def count() -> int:
    """How many processes there are."""
    jax = sys.modules.get("jax")
    return jax.process_count() if jax is not None and jax.distributed.is_initialized() else 1


def devices() -> int:
    """How many JAX has, in all processes."""
    import jax

    return jax.device_count()


def alone() -> bool:
    """Whether there is no other one."""
    return count() == 1


def first() -> bool:
    """Whether this is the one that writes and speaks."""
    return alone() or sys.modules["jax"].process_index() == 0


def agreed(*numbers: float) -> tuple[float, ...]:
    """Those of the first process."""
    return numbers if alone() else tuple(_all(numbers)[0].tolist())


def in_any(flag: bool) -> bool:
    """Whether it is so in any of the processes."""
    return flag if alone() else bool(_all((float(flag),)).any())


@contextmanager
def together(what: str) -> Iterator[None]:
    """What one of the processes cannot do, none of them goes on from. what: in words.

    Raises the process's own error, or UsageError where it is another one's.
    """
    if alone():
        yield
        return
    failed = True
    try:
        yield
        failed = False
    finally:
        somewhere = in_any(failed)
    if somewhere:
        raise UsageError(f"another process of this run could not {what}; its own message says why")


def alike(what: str, digest: bytes) -> None:
    """Raise UsageError where processes have not the same of something. digest: eight bytes that tell it apart."""
    if alone():
        return
    halves = tuple(float(part) for part in np.frombuffer(digest[:8], dtype=np.uint32))
    if len(np.unique(_all(halves), axis=0)) > 1:
        raise UsageError(
            f"the processes have not the same {what}; start them with the same files, on processors that round alike"
        )


@contextmanager
def surviving() -> Iterator[None]:
    """Raise UsageError where another process is gone."""
    lost = sys.modules["jax"].errors.JaxRuntimeError if not alone() else ()
    try:
        yield
    except lost as error:
        raise Lost(str(error).splitlines()[0]) from None


class Lost(FlowsimError):
    """Another process of the run has ended."""

    exit_code = 3

    def __init__(self, why: str):
        super().__init__(f"another process of this run has ended ({why}); --resume goes on from the last checkpoint")


def leave(code: int) -> NoReturn:
    """End this process at once: JAX would wait at its end for those that are gone."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _all(numbers: tuple[float, ...]) -> np.ndarray:
    """(processes, numbers)"""
    import jax
    from jax.experimental.multihost_utils import process_allgather

    with surviving(), jax.enable_x64(True):
        return np.asarray(process_allgather(np.array(numbers, dtype=float))).reshape(count(), len(numbers))
