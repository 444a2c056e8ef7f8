"""The live table of a sweep: on a terminal only, with numbers that add up, and gone at the end."""

from __future__ import annotations

import io
import os
import re
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import BASE, GRID

from flowsim.cli import main, sweep_table

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
GONE = "\x1b[2K"  # what erases a line


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], str]:
    """What an action writes to standard error where that is a pseudo-terminal of 80 columns."""
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    for name, value in {"TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def read(terminal: int, came: io.BytesIO) -> None:
        with suppress(OSError):  # how a pseudo-terminal says that its other end was closed
            while found := os.read(terminal, 4096):
                came.write(found)

    def run(action: Callable[[], object]) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
        came = io.BytesIO()
        reader = threading.Thread(target=read, args=(ours, came))
        reader.start()
        with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            action()
        reader.join()
        os.close(ours)
        return came.getvalue().decode()

    return run


def two_looks(*clock: Callable[[], float]) -> None:
    with sweep_table.SweepTable(False, *clock) as table:
        table.begin("http://127.0.0.1:8787/status")
        table.show(3, 1, 2, 10)
        table.show(5, 1, 2, 10)


def test_on_a_terminal_the_table_counts_points_and_estimates_what_is_left(on_terminal):
    said = on_terminal(lambda: two_looks(iter([100.0, 130.0]).__next__))
    first, second = (CONTROL.sub("", part) for part in said.split("preparing the points")[1].split("have ended")[1:3])
    rows = [dict(zip(*(line.split() for line in part.splitlines()[1:3]), strict=False)) for part in (first, second)]
    counts = {"done": "3", "running": "2", "waiting": "4", "failed": "1", "elapsed": "0:00", "left": "?"}
    assert rows[0] == counts
    # two points in 30 seconds, and four to go
    assert rows[1] == {**counts, "done": "5", "waiting": "2", "elapsed": "0:30", "left": "about"}
    assert "about 1:00" in second
    assert "6 of 10 points" in CONTROL.sub("", said)
    assert "http://127.0.0.1:8787/status" in said


def test_at_the_end_every_line_of_the_table_is_erased(on_terminal, monkeypatch):
    monkeypatch.setattr(sweep_table, "EVERY", 0.0)
    said = on_terminal(two_looks)
    assert said.rpartition("status")[2].count(GONE) >= 4
    assert CONTROL.sub("", said.rpartition("status")[2]).strip() == ""


@pytest.mark.parametrize("forced", ["", "1"])
def test_in_a_pipe_nothing_is_shown_whatever_the_environment_says(monkeypatch, forced):
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    if forced:
        monkeypatch.setenv("FORCE_COLOR", forced)
    two_looks()
    assert pipe.getvalue() == ""


def test_a_narrow_ascii_terminal_has_a_table_too(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    raw = io.BytesIO()
    stream = Terminal(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    two_looks()
    stream.flush()
    assert "http://127.0.0.1:8787/status" in raw.getvalue().decode("ascii")


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.floats(0.0, 1e6))
def test_all_points_are_done_failed_running_or_waiting_and_what_is_left_goes_to_zero(
    done, failed, running, more, seconds
):
    points = done + failed + running + more
    now = sweep_table.Standing(done, failed, running, points, seconds, done + failed)
    assert now.done + now.failed + now.running + now.waiting == points
    if done + failed == 0:
        assert now.left is None
    else:
        assert now.left == pytest.approx(seconds * (points - done - failed) / (done + failed))


@given(st.integers(0, 10**6))
def test_a_duration_says_its_seconds(seconds):
    parts = [int(part) for part in sweep_table.duration(seconds).split(":")]
    assert sum(part * 60**place for place, part in enumerate(reversed(parts))) == seconds


def test_a_sweep_on_a_terminal_shows_its_table_and_then_what_came_of_it(on_terminal, within, tmp_path: Path):
    (tmp_path / "s.toml").write_text(BASE + GRID)
    codes = []
    said = on_terminal(lambda: codes.append(main(["sweep", str(tmp_path / "s.toml"), "-o", str(tmp_path / "out")])))
    assert codes == [0]
    said = CONTROL.sub("", said)
    assert "of 6 points have ended" in said
    assert "Dask's dashboard: nowhere" in said
    assert "6 of 6 points are done, 0 failed; 6 ran now" in said.rpartition("dashboard")[2]
