"""Batch normalisation in training and after it, against NumPy with differences for derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from networks.test_convolutional import convolved, images, scenario
from scipy.special import logsumexp

import flowsim

DATA = images(image=(1, 4, 4))
MODEL = {"channels": [2], "pool": "none", "activation": "tanh", "norm": "batch"}
STEP, MOMENTUM, DECAY = 0.3, 0.5, 0.1
DESCENT = {"method": "gradient_descent", "step": STEP, "momentum": MOMENTUM, "weight_decay": DECAY, "iterations": 3}
SGD = {"method": "sgd", "batch": 2, "step": 0.1, "momentum": 0.9, "iterations": 12}
AVERAGES = ("norm_1_mean", "norm_1_variance")
TRAINED = ("conv_1", "norm_1_scale", "norm_1_shift", "output")


def descent(flow, **keys):
    return scenario(**MODEL, **keys).replace({"flow": flow, "observe.snapshots": "all"})


def loss(named, mean, variance):
    """The mean cross entropy with channels normalised by these."""
    normal = (convolved(DATA.x.reshape(-1, 1, 4, 4), named["conv_1"]) - mean) / np.sqrt(variance + 1e-5)
    signal = np.tanh(_channels(named["norm_1_scale"]) * normal + _channels(named["norm_1_shift"]))
    outputs = signal.reshape(len(signal), -1) @ named["output"].T
    return (logsumexp(outputs, axis=1) - outputs[np.arange(len(outputs)), DATA.y.astype(int)]).mean()


def _channels(array):
    return array[:, None, None]


def statistics(named):
    """(means, variances) of the channels over all samples, without Bessel's correction."""
    seen = convolved(DATA.x.reshape(-1, 1, 4, 4), named["conv_1"])
    return seen.mean(axis=(0, 2, 3)), seen.var(axis=(0, 2, 3))


def loss_in_training(named):
    return loss(named, *map(_channels, statistics(named)))


def slope(named, name, place, step=1e-5):
    ends = []
    for sign in (1, -1):
        moved = {**named, name: named[name].copy()}
        moved[name][place] += sign * step
        ends.append(loss_in_training(moved))
    return (ends[0] - ends[1]) / (2 * step)


def test_descent_goes_by_the_batch_and_keeps_averages():
    tree = flowsim.run(descent(DESCENT), data=DATA)
    named = {name: tree[name].values[0] for name in (*TRAINED, *AVERAGES)}
    speed = {name: np.zeros_like(named[name]) for name in TRAINED}
    for _ in range(3):
        mean, variance = statistics(named)
        gradient = {
            name: np.reshape([slope(named, name, place) for place in np.ndindex(named[name].shape)], named[name].shape)
            for name in TRAINED
        }
        count = DATA.x.size
        for name, new in zip(AVERAGES, (mean, variance * count / (count - 1)), strict=True):
            named[name] = 0.9 * named[name] + 0.1 * new
        for name in TRAINED:
            speed[name] = MOMENTUM * speed[name] + gradient[name] + DECAY * named[name]
            named[name] = named[name] - STEP * speed[name]
    for name in named:
        np.testing.assert_allclose(tree[name].values[-1], named[name], rtol=1e-6, atol=1e-8, err_msg=name)
    # what is kept is of the network with its averages
    averages = (_channels(named[name]) for name in AVERAGES)
    assert tree["loss"].values[-1] == pytest.approx(loss(named, *averages), rel=1e-6)


def test_averages_start_as_of_normal_signals_whatever_the_scale():
    problem = flowsim.build(descent(DESCENT, init={"shape": "he", "scale": 0.5}), data=DATA)
    named = dict(zip((leaf.name for leaf in problem.network.leaves), problem.leaves, strict=True))
    assert (named["norm_1_variance"] == 1).all()
    assert not named["norm_1_mean"].any()
    assert (named["norm_1_scale"] == 0.5).all()


def test_a_run_that_is_resumed_has_the_same_averages_to_the_last_bit(tmp_path):
    whole = descent(SGD)
    short = whole.replace({"flow.until.steps": 5})
    assert flowsim.run(short, tmp_path / "run.nc", data=DATA).attrs["status"] == "step_limit"
    resumed = flowsim.run(whole, tmp_path / "run.nc", resume=True, data=DATA)
    xr.testing.assert_equal(resumed.to_dataset(), flowsim.run(whole, data=DATA).to_dataset())


def test_a_flow_leaves_averages_as_descent_has_left_them():
    stages = [{"name": "descent", **SGD}, {"name": "flow", "until": {"time": 0.5}}]
    asked = scenario(**MODEL).to_dict()
    del asked["flow"]
    tree = flowsim.run({**asked, "stage": stages, "observe": {"snapshots": "all"}}, data=DATA)
    for name in AVERAGES:
        values = tree[name].values
        assert not np.array_equal(values[0], values[-1])
        np.testing.assert_array_equal(values[-2], values[-1])
    assert np.abs(tree["conv_1"].values[-1] - tree["conv_1"].values[-2]).max() > 0
