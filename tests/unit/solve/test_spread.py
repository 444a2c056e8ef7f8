"""Samples that devices share, and that each looks at in blocks, give what all of them at once give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.spread import KINDS, SAMPLES, SMALL, apart

import flowsim
from flowsim.problem import reduce
from flowsim.solve import choose
from flowsim.solve.diffrax.spread import _blocks, bounds
from flowsim.solve.shares import BUDGET, bytes_of_one

TESTS = Path(__file__).parents[2]
#: Of sums over the samples in another order, and of softmaxes over them.
ROUNDING = 100 * SAMPLES * np.finfo(float).eps


@pytest.mark.parametrize("kind", KINDS)
def test_the_field_is_the_same_in_blocks(kind):
    assert apart(kind, **{"flow.block": 4}) < ROUNDING


def test_four_devices_have_the_field_of_one():
    flags = "--xla_force_host_platform_device_count=4"
    program = [sys.executable, str(TESTS / "support" / "spread.py")]
    environment = {**os.environ, "XLA_FLAGS": flags}
    told = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300, check=True).stdout
    found = json.loads(told.splitlines()[-1])
    assert found.pop("devices") == 4
    assert found.pop("programs") == 1
    assert len(found) == 2
    assert max(found.values()) < ROUNDING, found


@pytest.mark.parametrize("count", range(1, 40))
def test_blocks_hold_every_sample_and_none_is_empty(count):
    for most in range(1, count + 3):
        blocks = _blocks(count, most)
        assert [row for block in blocks for row in range(count)[block]] == [*range(count)]
        assert all(0 < block.stop - block.start <= most for block in blocks)
        # all but the last are of one size, which the last has, too, where it begins earlier
        assert {block.stop - block.start for block in blocks[:-1]} <= {blocks[0].stop}


@pytest.mark.parametrize(("count", "parts"), [(5, 4), (8, 4), (23, 4), (4, 4), (7, 1)])
def test_devices_have_as_many_samples_each_but_for_one(count, parts):
    ends = [*bounds(count, parts)]
    sizes = np.diff(ends)
    assert (ends[0], ends[-1]) == (0, count)
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1


def test_auto_has_blocks_where_all_samples_are_beyond_the_budget():
    def block(samples: int) -> int | None:
        scenario = flowsim.Scenario(SMALL).replace({"data.samples": samples, "model.width": 1000, "flow.merge": False})
        reduced = reduce(flowsim.build(scenario), merge=False)
        assert bytes_of_one(reduced) == 32_000
        return choose(scenario, reduced).shares.block

    assert block(BUDGET // 32_000) is None
    assert block(BUDGET // 32_000 + 1) == BUDGET // 32_000


@pytest.mark.parametrize(
    ("asked", "key", "told"),
    [
        ({"flow.devices": 2}, "flow.devices", 'JAX has 1 here; "all" takes those that are there'),
        ({"flow.engine": "numba", "flow.block": 5}, "flow.block", 'only flow.engine = "diffrax" shares them'),
        ({"flow.engine": "numba", "flow.devices": "all"}, "flow.devices", 'only flow.engine = "diffrax" shares them'),
    ],
)
def test_what_cannot_be_shared_is_refused(asked, key, told):
    scenario = flowsim.Scenario(SMALL).replace(asked)
    with pytest.raises(flowsim.ScenarioError) as refused:
        choose(scenario, reduce(flowsim.build(scenario)))
    assert refused.value.issues[0].key == key
    assert told in str(refused.value)


def test_descent_has_no_devices():
    descent = {"method": "gradient_descent", "step": 0.1, "iterations": 3, "devices": 2}
    with pytest.raises(flowsim.ScenarioError, match=r'flow.devices: only with method = "gradient_flow"'):
        flowsim.Scenario(SMALL).replace({"flow": descent})


def test_the_engine_with_devices_is_what_auto_takes_for_them():
    scenario = flowsim.Scenario(SMALL).replace({"flow.engine": "auto", "flow.block": 6})
    plan = choose(scenario, reduce(flowsim.build(scenario)))
    assert plan.engine == "diffrax"
    assert "block 6: a device looks at its 23 samples in 4 parts" in plan.reasons
