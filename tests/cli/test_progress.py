"""The progress bar: on a terminal only, and a number whatever is known."""

from __future__ import annotations

import io
import math
import re
import sys
import time

import pytest

import flowsim as package
from flowsim.run.progress import ProgressBar, Standing
from flowsim.solve import Report
from flowsim.solve.compiling import compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch, until: str, log_losses: list[float]) -> list[str]:
    """The lines that the bar prints, one over the other, for steps 0, 1, … of these log losses and one unit of time."""
    monkeypatch.setattr(sys, "stderr", stream)
    scenario = package.loads(f"[flow]\nuntil = {{ {until} }}\n")
    with ProgressBar(scenario) as bar:
        for time, log_loss in enumerate(log_losses):
            report = Report(float(time), 0.1, time, 0, time, reached="", stalled=False, finite=True)
            bar.show(Standing(1, 0, 1, report, log_loss, "growth"))
    return [line for line in stream.getvalue().split("\r") if line.strip()]


def compiled(stream: io.StringIO, monkeypatch, once: bool) -> list[str]:
    """The lines that are printed while something is compiled for longer than the clock's tick."""
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(package.loads("")) as bar:
        with compiling(12.0, once):
            if stream.isatty():
                ticks = len(stream.getvalue())
                while len(stream.getvalue()) == ticks:  # the clock moves though nothing else does
                    time.sleep(0.05)
        report = Report(1.0, 0.1, 1, 0, 1, reached="", stalled=False, finite=True)
        bar.show(Standing(1, 0, 1, report, -1.0, "growth"))
    return [line.strip() for line in re.split(r"[\r\n]", stream.getvalue()) if line.strip()]


def test_in_a_pipe_one_line_says_that_something_is_compiled_for_the_machine(monkeypatch):
    assert compiled(io.StringIO(), monkeypatch, once=True) == ["compiling once for this machine, about 12 s"]
    assert compiled(io.StringIO(), monkeypatch, once=False) == []


@pytest.mark.parametrize(("once", "words"), [(True, "once for this machine, about 12 s"), (False, "for this run")])
def test_on_a_terminal_the_clock_moves_while_something_is_compiled(once, words, monkeypatch):
    lines = compiled(Terminal(), monkeypatch, once)
    assert len([line for line in lines if line.startswith("compiling") and words in line]) >= 2
    assert "compiling" not in lines[-1]
    assert "[00:00<" in lines[-1]  # what remains is told by the steps alone


def test_outside_of_a_bar_nothing_is_told(capsys):
    with compiling(12.0, once=True):
        pass
    assert capsys.readouterr().err == ""


def test_in_a_pipe_nothing_is_shown(monkeypatch):
    assert shown(io.StringIO(), monkeypatch, "time = 4.0", [0.0, -1.0]) == []


@pytest.mark.parametrize(
    ("until", "percent"),
    [
        ("time = 4.0", 50),
        ("steps = 8", 25),
        ("log10_loss = -10", 20),
        ("time = 4.0, log10_loss = -100", 50),
        ("alignment = 0.9", 0),
    ],
)
def test_on_a_terminal_the_furthest_stop_condition_is_shown(monkeypatch, until, percent):
    last = shown(Terminal(), monkeypatch, until, [0.0, -math.log(10), -2 * math.log(10)])[-1]
    assert f" {percent}%|" in last
    assert "growth" in last
    assert "time 2, loss 0.01, 2 steps" in last


def test_a_resumed_run_starts_before_its_loss_is_known(monkeypatch):
    lines = shown(Terminal(), monkeypatch, "log10_loss = -10", [math.nan, 0.0, -math.log(10)])
    assert not any("nan%" in line for line in lines)
    assert " 10%|" in lines[-1]


def test_on_the_loss_clock_powers_of_ten_are_shown_and_half_way_is_half_of_the_logarithm(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with ProgressBar(package.loads('[loss]\nkind = "exponential"\n[flow]\nuntil = { log10_loss = -1e6 }')) as bar:
        for log10_loss in (0.0, -1e3):
            log_time = -log10_loss
            report = Report(
                math.inf,
                0.1,
                7,
                0,
                9,
                reached="",
                stalled=False,
                finite=True,
                log10_time=log_time,
                clock=3.0,
                loss_clock_from=0.0,
            )
            bar.show(Standing(1, 0, 1, report, log10_loss * math.log(10), "convergence"))
    last = [line for line in terminal.getvalue().split("\r") if line.strip()][-1]
    assert "time 1e1000, loss 1e-1000, 7 steps" in last
    assert " 53%|" in last  # log1p(1e3 log 10) / log1p(1e6 log 10)
