"""A run takes no more memory than its samples and a block of what it makes of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "memory.py"
SAMPLES, NEURONS, BLOCK = 250_000, 300, 2_000
#: What all pre-activations take at once, and what compiling, observing and writing take beside a block.
EVERYTHING, BESIDE = 8 * SAMPLES * NEURONS / 2**20, 450.0


@pytest.mark.papers
@pytest.mark.parametrize("more", [(), ("--table",)], ids=["drawn", "on the disk"])
def test_pre_activations_are_never_all_there(more):
    sizes = ("--samples", SAMPLES, "--neurons", NEURONS, "--dimension", 10, "--block", BLOCK)
    command = [sys.executable, BENCHMARK, "--alone", *sizes, *more]
    told = subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, timeout=500).stdout
    found = json.loads(told.splitlines()[-1])
    taken = found["the result is written"][0] - found["the problem is reduced"][0]
    assert taken < BESIDE < EVERYTHING
