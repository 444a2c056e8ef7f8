"""What all tests share: a small scenario, overrides to it, and a cluster within this process for sweeps."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# workers share the cores already; BLAS's threads would only wait for one another. Before NumPy is imported
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from support.pictures import write_sets
from support.sweeps import BASE

import flowsim

ROOT = Path(__file__).parents[1]
# what is compiled for the tests, and by the processes that they start, is theirs; tests/rounding.py has a folder of its own
# for each rounding
os.environ.setdefault("FLOWSIM_CACHE", str(ROOT / "build" / "tests"))
# JAX writes in place: processes that tests start, and kill, are to have nothing to do with what it keeps
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"

# nothing of a test has to outlive a loss of power, and disks take their time; tests/unit/test_durable.py has the real one
os.fsync = os.fstat

# machines are noisy, and what is compiled compiles in the first example
settings.register_profile("flowsim", deadline=None, derandomize=True)
#: Draws anew, or from --hypothesis-seed: tests/rounding.py.
settings.register_profile("drawn", deadline=None)
settings.load_profile("flowsim")

#: Seconds of the suite times cores, with code that is compiled already, measured on two; and from an empty cache.
WARM, COLD = 940, 2000
#: More mappings of memory than this are too many; after so many tests they are counted.
MAPPINGS, BETWEEN_LOOKS = 20_000, 50
_finished = 0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz",
        type=int,
        default=15,
        metavar="N",
        help="malformed scenarios; tables and results in proportion",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.option.collectonly:
        keep_what_jax_compiles()


def keep_what_jax_compiles() -> None:
    """On the disk, for this process."""
    import jax

    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", str(Path(os.environ["FLOWSIM_CACHE"]) / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # with a limit, JAX looks through all that it keeps whenever it writes; without one, it writes in place
    from jax._src.lru_cache import LRUCache

    LRUCache.put = _put_at_once


def _put_at_once(self: Any, key: str, value: bytes) -> None:
    """Several workers may write the same program, and read what another one writes."""
    aside = self.path / f"{key}-{os.getpid()}"
    aside.write_bytes(value)
    aside.replace(self.path / f"{key}-cache")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest first, so that no worker ends long after the others."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """What is loaded by now stays: the collector has no need to go through it again and again."""
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    """What JAX has compiled is mapped into memory, piece by piece; of more than 65530 pieces Linux ends the process."""
    global _finished
    _finished += 1
    maps = Path("/proc/self/maps")
    if _finished % BETWEEN_LOOKS == 0 and maps.exists() and len(maps.read_bytes().splitlines()) > MAPPINGS:
        import jax

        jax.clear_caches()


def pytest_report_header() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    warm, cold = (max(round(seconds / 60 / cores), 1) for seconds in (WARM, COLD))
    return f"all tests take about {warm} minutes on {cores} cores, {cold} the first time, while code is compiled"


@pytest.fixture(scope="session", autouse=True)
def image_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tiny sets of images for scenarios of images, unless FLOWSIM_DATA names others."""
    if "FLOWSIM_DATA" not in os.environ:
        os.environ["FLOWSIM_DATA"] = str(write_sets(tmp_path_factory.mktemp("images")))


@pytest.fixture(scope="session")
def small() -> Callable[..., flowsim.Scenario]:
    """A scenario of a second or less; keyword `data__samples=8` overrides the key `data.samples`."""

    def make(**overrides: Any) -> flowsim.Scenario:
        return flowsim.loads(BASE, overrides={key.replace("__", "."): value for key, value in overrides.items()})

    return make


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False,
        n_workers=1,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,
        # else xarray asks its scheduler for a lock at every access to a file, in the tests that come after
        set_as_default=False,
    ) as client:
        yield client


@pytest.fixture
def within(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps run on the cluster within this process."""

    @contextmanager
    def here(workers: int | None, scheduler: str | None) -> Iterator[tuple[Any, str]]:
        yield client, "nowhere"

    monkeypatch.setattr("flowsim.sweep.run.cluster", here)
