"""As many samples as coordinates are a triangle, and products with it are those with the whole matrix."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import flowsim
from flowsim.kinds.trees import in_float64
from flowsim.run.prepare import Prepared
from flowsim.solve import make
from flowsim.solve.diffrax import triangle as blocks
from flowsim.solve.diffrax.triangle import Triangle, triangle


@pytest.mark.parametrize(("count", "features"), [(9, 9), (10, 12), (23, 24)])
@in_float64
def test_products_are_those_of_the_whole_matrix(monkeypatch, count, features):
    monkeypatch.setattr(blocks, "LEAST", 3)
    random = np.random.default_rng(count)
    whole = np.tril(random.standard_normal((count, features)))
    found = triangle(whole, jnp.float64)
    assert isinstance(found, Triangle)
    assert len(found.rows) == len(found.columns) == min(count // 3, 4)
    left, right = random.standard_normal((5, features)), random.standard_normal((5, count))
    np.testing.assert_allclose(found.project(jnp.asarray(left)), left @ whole.T, atol=1e-12)
    np.testing.assert_allclose(found.gather(jnp.asarray(right)), right @ whole, atol=1e-12)
    held = sum(block.size for block in found.rows)
    assert held < 0.85 * whole.size


def test_what_is_no_triangle_stays_whole(monkeypatch):
    monkeypatch.setattr(blocks, "LEAST", 3)
    whole = np.tril(np.random.default_rng(0).standard_normal((9, 12)))
    assert triangle(whole[::-1], jnp.float64) is None
    whole[2, 10] = 1e-10
    assert triangle(whole, jnp.float64) is None
    assert triangle(np.tril(np.ones((9, 4))), jnp.float64) is None


@pytest.mark.parametrize("scale", [1e-3, 1e-300])
@pytest.mark.parametrize("output", ["trained", "fixed"])
def test_a_flow_of_fewer_samples_than_features_is_that_of_all_features(small, monkeypatch, scale, output):
    monkeypatch.setattr(blocks, "LEAST", 6)
    wide = {"data__dimension": 60, "data__samples": 24, "flow__rtol": 1e-9, "flow__engine": "diffrax"}
    wide |= {"init__scale": scale, "flow__coordinates": "polar", "flow__until": {"time": 20.0}}
    wide |= {"model__output": output, **({"model__output_weight": 0.3} if output == "fixed" else {})}
    scenario = small(**wide)
    prepared = Prepared(scenario)
    assert isinstance(make(prepared.scenario, prepared.reduced, prepared.plan)._constants.data.inputs, Triangle)
    reduced, whole = flowsim.run(scenario), flowsim.run(small(**wide, flow__reduce=False))
    np.testing.assert_allclose(reduced["log_norm"], whole["log_norm"], rtol=1e-7)
    np.testing.assert_allclose(reduced["direction"], whole["direction"], atol=1e-6)
