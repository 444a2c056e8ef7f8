"""Runs that are killed at random instants, in writes too, come to the same result to the last bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).with_name("kills.py")


def killed(*words: str) -> None:
    found = subprocess.run([sys.executable, KILLS, *words], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="kills by what Linux has")
def test_killed_runs_are_resumed():
    killed("flow", "evaluated", "--kills", "2")


@pytest.mark.papers
def test_runs_of_every_kind_that_are_killed_again_and_again_are_resumed():
    killed("--kills", "5")
