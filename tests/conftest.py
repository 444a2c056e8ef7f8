"""What all tests share: a small scenario, and overrides to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from support.sweeps import BASE

import flowsim

# machines are noisy, and what is compiled compiles in the first example
settings.register_profile("flowsim", deadline=None)
settings.load_profile("flowsim")

#: A run, and a flight, of the compiled engine.
COMPILED = """
import flowsim
scenario = flowsim.loads("[data]\\nsamples = 12\\n[flow]\\nuntil = { time = 1.0 }")
flowsim.run(scenario)
flowsim.run_ensemble(scenario, [0])
descent = {"flow": {"method": "gradient_descent", "step": 0.1, "iterations": 1}}
flowsim.run(flowsim.loads("[data]\\nsamples = 12", overrides=descent))
"""


def pytest_configure(config: pytest.Config) -> None:
    """Compile once, in a process of its own, before any test: the process that compiles may round differently from those
    that find its code on the disk."""
    if not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, "-c", COMPILED], check=True)


@pytest.fixture(scope="session")
def small() -> Callable[..., flowsim.Scenario]:
    """A scenario of a second or less; keyword `data__samples=8` overrides the key `data.samples`."""

    def make(**overrides: Any) -> flowsim.Scenario:
        return flowsim.loads(BASE, overrides={key.replace("__", "."): value for key, value in overrides.items()})

    return make
