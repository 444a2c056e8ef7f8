"""How far a run is, and the bar that shows it: on a terminal and in a notebook, silent in a pipe."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from types import TracebackType
from typing import Self

from tqdm import tqdm

from ..markup import visible
from ..scenario import Scenario
from ..scenario.flow import Until
from ..solve import Report
from ..solve.compiling import telling
from ..solve.goals import Goals

#: A larger logarithm's loss is no float.
LARGEST_LOG = 700.0
#: Powers of ten from here on are written as such on the loss clock.
FAR = 100.0
#: Between two looks at the clock while something is compiled.
CLOCK_SECONDS = 0.25
#: tqdm puts a comma before a postfix, so what the bar says beside its percentage goes where the unit would
_FORMAT = "{desc:<11} {percentage:3.0f}%|{bar:24}| {unit} [{elapsed}<{remaining}]"


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"


@dataclass(frozen=True)
class Standing:
    """How far a run is. members: how many there are; ended, running: how many of them have ended, and run at this moment.

    Of a run with a single member also report: where its solver stands; log_loss, phase: log of the loss, and the phase, at
    the latest kept instant; or, after the flow, what is evaluated as `phase` alone.
    """

    members: int
    ended: int
    running: int
    report: Report | None = None
    log_loss: float = math.nan
    phase: str = ""


class ProgressBar:
    """Shows phase, time reached, loss, steps and ETA, as far as the stop conditions allow an estimate; of several members,
    how many have ended. Inside, it shows what is compiled, too; in a pipe, a line says so. quiet: there is none of this,
    and `say` alone speaks."""

    def __init__(self, scenario: Scenario, quiet: bool = False):
        self._until, self._first_log_loss, self._quiet = _until(scenario), math.nan, quiet
        seen = not quiet and (sys.stderr.isatty() or in_notebook())
        self._bar = tqdm(total=1.0, file=sys.stderr, disable=not seen, bar_format=_FORMAT, unit="", leave=False)
        self._bar.set_description_str("preparing", refresh=True)
        self._inside = ExitStack()

    @property
    def listener(self) -> Callable[[Standing], None] | None:
        """`show`, or None where nobody sees it, so that nothing is observed for its sake."""
        return None if self._bar.disable else self.show

    def __enter__(self) -> Self:
        self._inside.enter_context(telling(self.compiling))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside.close()
        with suppress(OSError):
            self._bar.close()

    @contextmanager
    def compiling(self, expected: float, once: bool) -> Iterator[None]:
        """While this goes on the clock moves; afterwards it begins anew, so that what remains is told by steps alone."""
        text = f"once for this machine, about {expected:.0f} s" if once else "for this run"
        if self._bar.disable:
            if once and not self._quiet:
                self.say(f"compiling {text}")
            yield
            return
        done = Event()

        def tick() -> None:
            while not done.wait(CLOCK_SECONDS):
                with suppress(OSError):
                    self._bar.refresh()

        self._draw("compiling", text, 0.0)
        clock = Thread(target=tick, daemon=True)
        clock.start()
        try:
            yield
        finally:
            done.set()
            clock.join()
            self._bar.start_t = time.time()

    def say(self, message: str) -> None:
        """A line above the bar."""
        with suppress(OSError):  # a terminal may go away, or be a full disk
            self._bar.write(visible(message), file=sys.stderr)

    def _draw(self, description: str, text: str, done: float) -> None:
        """A bar that never goes back; done: the fraction."""
        if self._bar.disable:
            return
        self._bar.set_description_str(description, refresh=False)
        self._bar.unit = text
        self._bar.n = min(max(done, self._bar.n), 1.0)
        with suppress(OSError):
            self._bar.refresh()

    def show(self, standing: Standing) -> None:
        report, log_loss = standing.report, standing.log_loss
        if report is None and standing.phase:
            self._draw(standing.phase, "after the flow", 1.0)
            return
        if report is None:
            text = f"{standing.ended} of {standing.members} members, {standing.running} running"
            self._draw("ensemble", text, standing.ended / standing.members)
            return
        loss = f"loss {math.exp(min(log_loss, LARGEST_LOG)):.3g}"
        time = f"time {report.time:.4g}"
        if report.log10_time is not None and max(report.log10_time, -log_loss / math.log(10)) > FAR:
            loss, time = f"loss 1e{log_loss / math.log(10):.4g}", f"time 1e{report.log10_time:.4g}"
        self._draw(standing.phase, f"{time}, {loss}, {report.steps} steps", self._done(report, log_loss))

    def _done(self, report: Report, log_loss: float) -> float:
        """The largest fraction of any stop condition that has been covered."""
        until = self._until
        if math.isnan(self._first_log_loss):
            self._first_log_loss = log_loss
        fallen = self._first_log_loss - log_loss
        wanted = max(self._first_log_loss - Goals.of(until).log_loss, 1e-12)  # infinite where no loss is a goal
        if report.loss_clock_from is None:
            fractions = [fallen / wanted]
        else:  # the loss clock goes like the logarithm of that
            fractions = [math.log1p(max(fallen, 0.0)) / math.log1p(wanted)]
        fractions += [report.time / until.time] if until.time is not None else []
        fractions += [report.steps / until.steps] if until.steps is not None else []
        return max((fraction for fraction in fractions if math.isfinite(fraction)), default=0.0)


def _until(scenario: Scenario) -> Until:
    """Of a run in stages, the time at which the last one ends, where that is known; else that of the last one."""
    if not scenario.stage:
        return scenario.flow.until
    times = [stage.until.time for stage in scenario.stage if stage.until.time is not None]
    return Until(time=sum(times)) if len(times) == len(scenario.stage) else scenario.stage[-1].until
