"""What the fuzzers share, and what they say at the end of a long search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support import answers
from support.hostile import SMALL

import flowsim

#: Examples from which on a search is a long one: it asks for everything, and its end says what took long.
LONG = 100
#: Processor seconds from which on a command is named.
SLOW = 5.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    """A folder to be in, and the bounds."""
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("fuzz")
        patch.chdir(place)
        patch.setenv("FLOWSIM_LIMITS", answers.BOUNDS)
        yield place


@pytest.fixture(scope="module")
def result(folder) -> Path:
    flowsim.run(flowsim.Scenario({**SMALL, "loss": {"kind": "logistic"}}), folder / "whole.nc")
    return folder / "whole.nc"


@pytest.fixture(scope="session")
def whole(pytestconfig) -> bool:
    """Whether the search is a long one."""
    return bool(pytestconfig.getoption("--fuzz") >= LONG)


@pytest.fixture(scope="session")
def many(pytestconfig) -> Callable[[float], settings]:
    """A part of the examples that --fuzz asks for, a few at least."""

    def of(share: float) -> settings:
        asked = round(share * pytestconfig.getoption("--fuzz"))
        return settings(max_examples=max(asked, 5), deadline=None, suppress_health_check=[*HealthCheck])

    return of


@pytest.fixture(autouse=True)
def tally(record_property) -> Iterator[None]:
    answers.TALLY.clear()
    yield
    record_property("commands", [[list(took.words), took.seconds, took.peak] for took in answers.TALLY])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Of a long search: how many commands there were, the slow ones, and the memory of the largest."""
    if config.getoption("--fuzz") < LONG:
        return
    reports = [report for found in terminalreporter.stats.values() for report in found]
    ends = [dict(report.user_properties) for report in reports if getattr(report, "when", "") == "teardown"]
    took = sorted((seconds, peak, words) for end in ends for words, seconds, peak in end.get("commands", ()))
    if not took:
        return
    terminalreporter.section("commands that were answered")
    for command in sorted({words[0] for _, _, words in took}):
        of_it = [(seconds, peak) for seconds, peak, words in took if words[0] == command]
        longest, peak = max(of_it)[0], max(peak for _, peak in of_it) / 2**20
        told = f"{command:<8} {len(of_it):6d} times, {longest:6.2f} processor seconds at most"
        terminalreporter.line(f"{told}, its process up to {peak:.0f} MiB so far")
    for seconds, _, words in took:
        if seconds > SLOW:
            terminalreporter.line(f"{seconds:6.1f} s  flowsim {' '.join(words)}")
