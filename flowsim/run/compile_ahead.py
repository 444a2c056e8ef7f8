"""Compiling the numba engine's kernels ahead of time, for container images and clusters."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from threading import Thread
from typing import Any

from ..scenario import Scenario, loads
from ..solve.compiling import spent
from ..threads import cores
from .estimate import integrators
from .prepare import Prepared

#: The smallest problem. The tables below say what makes it need each kernel.
TINY = """
[data]
dimension = 4
positive = 1
negative = 1
samples = 4
[model]
width = 2
"""
_FLOW = {"engine": "numba", "until": {"time": 1.0}}
_FAR = {**_FLOW, "clock": "loss", "solver": "auto"}
_GATES = {"model.activation": "relu"}
_DESCENT = {"method": "gradient_descent", "step": 0.1, "iterations": 1}
_ATTACK = {"name": "attacked", "attack": {"kind": "fgm", "radius": 0.1}}
_MIXED = {"precision": "mixed"}
_ENDLESS = {"loss.kind": "logistic"}

#: name of a kernel -> overrides. USUAL: for scenarios that leave engine and solver to flowsim.
USUAL: dict[str, dict[str, Any]] = {
    "flow smooth": {"flow": _FLOW},
    "flow gates": {"flow": _FLOW, **_GATES},
    "flow chebyshev_loss_clock": {"flow": _FAR, **_ENDLESS},
    "flow gates_chebyshev_loss_clock": {"flow": _FAR, **_ENDLESS, **_GATES},
    "flow purification": {"stage": [{**_FLOW, **_ATTACK}]},
    "descend smooth": {"flow": _DESCENT},
    "descend purification": {"stage": [{**_DESCENT, **_ATTACK}]},
}
#: The other kernels.
RARE: dict[str, dict[str, Any]] = {
    "flow chebyshev": {"flow": {**_FLOW, "solver": "rkc2"}},
    "flow gates_chebyshev": {"flow": {**_FLOW, "solver": "rkc2"}, **_GATES},
    "flow loss_clock": {"flow": {**_FAR, "solver": "dopri5"}, **_ENDLESS},
    "flow gates_loss_clock": {"flow": {**_FAR, "solver": "dopri5"}, **_ENDLESS, **_GATES},
    "flow chebyshev_purification": {"stage": [{**_FLOW, "solver": "rkc2", **_ATTACK}]},
    "descend smooth mixed": {"flow": {**_DESCENT, **_MIXED}},
    "descend purification mixed": {"stage": [{**_DESCENT, **_MIXED, **_ATTACK}]},
}


def tiny(name: str) -> Scenario:
    """The smallest scenario that needs a kernel."""
    return loads(TINY, overrides={**USUAL, **RARE}[name])


def warm(names: Iterable[str], told: Callable[[str, float], None]) -> None:
    """Compile these kernels, as many at a time as there are cores.

    told: called with each kernel that is ready and the seconds it took, 0 where it was there before. An interruption ends
    the compiling; kernels that are ready stay.
    """
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn"), initializer=_depend) as pool:
        try:
            waiting = {pool.submit(_compile, name): name for name in names}
            for future in as_completed(waiting):
                told(waiting[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - set(others):
                process.kill()
            raise


def _depend() -> None:
    """Of a worker: ignore Ctrl-C, which the parent handles, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "somebody has started this process"

    def end() -> None:
        parent.join()
        os._exit(1)

    Thread(target=end, daemon=True).start()


def _compile(name: str) -> float:
    before = spent()
    for integrator in integrators(Prepared(tiny(name))):
        integrator.begin()
    return spent() - before
