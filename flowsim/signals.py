"""Signals that ask a process to end: SIGINT (Ctrl-C), SIGTERM (batch systems), SIGHUP (a terminal that is closed)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ending:
    """Notes the first signal, so that a run can stop where its state is whole. A second one acts as usual.

    flag (1,): whether a signal came, for compiled code.
    """

    def __init__(self) -> None:
        import numpy as np  # not before a command is known

        self.flag, self._at_once = np.zeros(1, dtype=np.bool_), False
        self._usual: dict[Any, Any] = {}

    @property
    def asked(self) -> bool:
        return bool(self.flag[0])

    def listen(self) -> None:
        for number in SIGNALS:
            if number != getattr(signal, "SIGHUP", None) or signal.getsignal(number) != signal.SIG_IGN:  # of nohup
                self._usual[number] = signal.signal(number, self._note) or signal.SIG_DFL

    def leave(self) -> None:
        while self._usual:
            signal.signal(*self._usual.popitem())

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, the first signal raises KeyboardInterrupt, too; so does one that came before."""
        self._at_once = True
        try:
            if self.asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.flag[0] = True
        self.leave()
        if self._at_once:
            raise KeyboardInterrupt


_outermost: list[Ending] = []


@contextmanager
def endings() -> Iterator[Ending]:
    """Listen to signals. Nested calls share one `Ending`. In other threads than the main one no signal comes."""
    if _outermost:
        yield _outermost[0]
        return
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    _outermost.append(ending)
    ending.listen()
    try:
        yield ending
    finally:
        ending.leave()
        _outermost.clear()


def interrupt_on_signals() -> None:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does, so that the process tidies up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupt)
