"""How far a run is, and the bar that shows it on a terminal or in a notebook."""

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

#: The exponential of a larger number is no float.
LARGEST_LOG = 700.0
#: On the loss clock, larger powers of ten are written as such.
FAR = 100.0
#: Seconds between two updates of the bar while something is compiled.
CLOCK_SECONDS = 0.25
#: tqdm puts a comma before a postfix, so what the bar says beside its percentage goes where the unit would
_FORMAT = "{desc:<11} {percentage:3.0f}%|{bar:24}| {unit} [{elapsed}<{remaining}]"


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this process."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and type(ipython.get_ipython()).__name__ == "ZMQInteractiveShell"


@dataclass(frozen=True)
class Standing:
    """How far a run is.

    members, ended, running: how many members there are, have ended, and run now. With a single member also: report, of its
    solver; log_loss and phase at the latest kept instant. After the flow, `phase` alone says what is evaluated.
    """

    members: int
    ended: int
    running: int
    report: Report | None = None
    log_loss: float = math.nan
    phase: str = ""


class ProgressBar:
    """Shows phase, time, loss, steps and, as far as the stop conditions allow it, the time that remains; of several
    members, how many have ended. Entered, it shows compiling, too; in a pipe, a line says that. quiet: `say` alone writes.
    """

    def __init__(self, scenario: Scenario, quiet: bool = False):
        self._until, self._first_log_loss, self._quiet = _until(scenario), math.nan, quiet
        seen = not quiet and (sys.stderr.isatty() or in_notebook())
        self._bar = tqdm(total=1.0, file=sys.stderr, disable=not seen, bar_format=_FORMAT, unit="", leave=False)
        self._bar.set_description_str("preparing", refresh=True)
        self._inside = ExitStack()

    @property
    def listener(self) -> Callable[[Standing], None] | None:
        """`show`; None where nobody sees the bar, so that nothing is observed for its sake."""
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
        """Show that something is compiled. Afterwards the bar's clock starts anew: its estimate rests on steps alone."""
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
        """Draw the bar, which never goes back. done: the fraction."""
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
        """How near the run is to its end: the largest fraction of any stop condition."""
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
    """What ends the run. Of stages that all end at a time, the sum of these; else what ends the last one."""
    if not scenario.stage:
        return scenario.flow.until
    times = [stage.until.time for stage in scenario.stage if stage.until.time is not None]
    return Until(time=sum(times)) if len(times) == len(scenario.stage) else scenario.stage[-1].until
