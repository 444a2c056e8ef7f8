"""Two-layer networks on three points of a line against Boursier & Flammarion (2025), Theorem 2."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

#: Of Assumption 3 with eta = 1/10, in a corner of which no point lies on its boundary: the middle one is far below the
#: others.
X, Y = np.array([[-0.95], [0.02], [0.95]]), np.array([1.05, 0.08, 1.03])


def trained(scale):
    """Outputs on the samples at the end, from weights of this size."""
    scenario = {
        "data": {"kind": "points", "x": X.tolist(), "y": Y.tolist()},
        "model": {"activation": "relu", "width": 20, "bias": True},
        "init": {"scale": scale},
        "loss": {"kind": "square"},
        "flow": {"until": {"time": 200.0}},
        "observe": {"variables": ["margin"]},
    }
    return flowsim.run(scenario)["margin"].values[-1] / Y


@pytest.mark.parametrize("scale", [1e-3, 1e-8])
def test_from_a_small_start_the_network_ends_at_the_line_of_least_squares(scale):
    columns = np.column_stack([X, np.ones(3)])
    line = columns @ np.linalg.lstsq(columns, Y)[0]
    assert np.abs(line - Y).max() > 0.5
    np.testing.assert_allclose(trained(scale), line, atol=1e-5)


def test_from_a_larger_start_the_same_network_interpolates():
    np.testing.assert_allclose(trained(0.1), Y, atol=1e-3)
