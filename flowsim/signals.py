"""Signals that ask a process to end: Ctrl-C, a batch system's SIGTERM, and SIGHUP of a terminal that goes away."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ending:
    """Whether the process has been asked to end. The first signal is only noted, a second one acts at once.

    flag (1,): the same for compiled code."""

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
        """What is interrupted by the first signal, too, as by Ctrl-C, also where that has come before."""
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
    """Note signals as long as this is entered; within another one, it is the other. Only the main thread is told."""
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
    """SIGTERM and SIGHUP interrupt this process as Ctrl-C does, so that it tidies up."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in SIGNALS:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupt)
