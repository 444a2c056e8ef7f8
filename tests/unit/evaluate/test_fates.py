"""Which neurons end aligned, and why the others do not."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from flowsim.evaluate.neurons import neurons


@pytest.mark.parametrize(
    ("target", "start", "end", "fate"),
    [
        (0, [0.3, 0.1, 0.0], [0.99, 0.0, 0.0], "aligned"),
        (-1, [-0.3, -0.1, 0.2], [-0.3, -0.1, 0.2], "void region"),
        (0, [0.3, 0.1, 0.0], [0.0, 0.97, 0.0], "other centre"),
        (0, [0.3, 0.1, 0.0], [0.70, 0.69, 0.0], "merged"),
        (0, [0.30, 0.29, 0.0], [0.8, 0.3, 0.0], "boundary"),
        (0, [0.3, 0.1, 0.0], [0.8, 0.3, 0.0], "on its way"),
        # the third centre has the other sign: it does not pull the neuron, so it is nothing to be between
        (0, [0.3, 0.1, 0.3], [0.7, 0.1, 0.7], "on its way"),
    ],
)
def test_a_neuron_s_fate_is_told_by_its_own_centres(target, start, end, fate):
    cosine = np.array([[start], [end]])
    run = xr.Dataset(
        {"cosine": (("time", "neuron", "cluster"), cosine)},
        {
            "time": [0.0, 1.0],
            "target_cluster": ("neuron", [target]),
            "neuron_sign": ("neuron", [1]),
            "cluster_label": ("cluster", [1, 1, -1]),
        },
    )
    assert neurons(run)["fate"].tolist() == [fate]
