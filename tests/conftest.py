"""What all tests share: a small scenario, and overrides to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# workers share the cores already; BLAS's threads would only wait for one another. Before NumPy is imported
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from support.sweeps import BASE

import flowsim

# machines are noisy, and what is compiled compiles in the first example
settings.register_profile("flowsim", deadline=None, derandomize=True)
#: Draws anew, or from --hypothesis-seed: tests/rounding.py.
settings.register_profile("drawn", deadline=None)
settings.load_profile("flowsim")

ROOT = Path(__file__).parents[1]
#: Where code that JAX compiles for the tests is kept; tests/rounding.py has a folder of its own for each rounding.
CACHE = Path(os.environ.get("FLOWSIM_TEST_CACHE", ROOT / "build" / "tests"))
#: Seconds of the suite times cores, with code that is compiled already and from an empty cache: measured on two.
WARM, COLD = 710, 1100

#: A run, and a flight, of the compiled engine; descent in both of its precisions.
COMPILED = """
import flowsim
scenario = flowsim.loads("[data]\\nsamples = 12\\n[flow]\\nuntil = { time = 1.0 }")
flowsim.run(scenario)
flowsim.run_ensemble(scenario, [0])
for precision in ("float64", "mixed"):
    descent = {"method": "gradient_descent", "step": 0.1, "iterations": 1, "precision": precision}
    flowsim.run(flowsim.loads("[data]\\nsamples = 12", overrides={"flow": descent}))
"""


def pytest_configure(config: pytest.Config) -> None:
    """Compile once, in a process of its own, before any test: the process that compiles may round differently from those
    that find its code on the disk."""
    if not hasattr(config, "workerinput"):
        subprocess.run([sys.executable, "-c", COMPILED], check=True)
    if not config.option.collectonly:
        keep_what_jax_compiles()


def keep_what_jax_compiles() -> None:
    """On the disk, for this process: those that tests start, and kill, are to have nothing to do with it."""
    import jax

    jax.config.update("jax_compilation_cache_dir", str(CACHE / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # with a limit it takes a lock, and several workers may write
    jax.config.update("jax_compilation_cache_max_size", 2**31)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest first, so that no worker ends long after the others."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_report_header() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    warm, cold = (max(round(seconds / 60 / cores), 1) for seconds in (WARM, COLD))
    return f"all tests take about {warm} minutes on {cores} cores, {cold} the first time, while code is compiled"


@pytest.fixture(scope="session")
def small() -> Callable[..., flowsim.Scenario]:
    """A scenario of a second or less; keyword `data__samples=8` overrides the key `data.samples`."""

    def make(**overrides: Any) -> flowsim.Scenario:
        return flowsim.loads(BASE, overrides={key.replace("__", "."): value for key, value in overrides.items()})

    return make
