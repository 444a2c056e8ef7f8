"""What benchmarks/certify.py measures on hundreds of random problems, on a few of each sort."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
#: Problems of each sort, the first of which no number of the docs rests on.
FIRST, COUNT = 1000, 4

pytestmark = [
    pytest.mark.papers,
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="a source distribution comes without the benchmarks"),
]


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    sys.path.append(str(BENCHMARKS))
    spec = spec_from_file_location("benchmark_of_certified_runs", BENCHMARKS / "certify.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(BENCHMARKS))


def test_stated_errors_of_random_problems_of_every_sort_hold_and_are_close(benchmark):
    found = [
        one
        for sort in benchmark.SORTS
        for number, scenario in benchmark.scenarios(sort, FIRST, COUNT)
        if (one := benchmark.measure(sort, number, scenario)) is not None
    ]
    assert len(found) >= 4 * len(benchmark.SORTS) - 6
    assert np.mean([one.covered for one in found]) >= 0.98
    assert np.mean([one.close for one in found]) >= 0.85
    assert np.median([one.cost for one in found]) <= 2.4
