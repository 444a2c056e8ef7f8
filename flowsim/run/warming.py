"""Compiling ahead of time, for images of containers and for clusters: the compiled engine's kernels, and who needs them."""

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
from .outlook import integrators
from .prepare import Prepared

#: The scenario that those below change: a problem as small as can be.
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

#: name of a kernel -> changes that make TINY need it. First those of scenarios that leave engine and solver to flowsim.
USUAL: dict[str, dict[str, Any]] = {
    "flow smooth": {"flow": _FLOW},
    "flow gates": {"flow": _FLOW, **_GATES},
    "flow chebyshev_loss_clock": {"flow": _FAR, **_ENDLESS},
    "flow gates_chebyshev_loss_clock": {"flow": _FAR, **_ENDLESS, **_GATES},
    "flow purification": {"stage": [{**_FLOW, **_ATTACK}]},
    "descend smooth": {"flow": _DESCENT},
    "descend purification": {"stage": [{**_DESCENT, **_ATTACK}]},
}
#: The others.
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
    """The scenario that needs a kernel."""
    return loads(TINY, overrides={**USUAL, **RARE}[name])


def warm(names: Iterable[str], told: Callable[[str, float], None]) -> None:
    """Compile these kernels, as many at a time as there are cores; told of each when it is there, with the seconds that
    compiling took, 0 where it was there before. What interrupts this ends the compiling, too; what is there stays."""
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
    """Leave Ctrl-C to the process that has started this one, and end with it."""
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
