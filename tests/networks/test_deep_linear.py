"""Deep linear networks against the decoupled modes of Saxe, McClelland & Ganguli (2014), and their plateaus."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import hyp2f1

import flowsim


def elapsed(mode, strength, depth):
    """A time, up to a constant, at which a' = depth a^(2 - 2/depth) (strength - a) is at `mode`: the integral of
    1/a'."""
    share = mode / strength
    if depth == 2:
        return np.log(share / (1 - share)) / (2 * strength)
    power = 2 / depth - 1
    return mode**power * hyp2f1(1, power, power + 1, share) / (power * depth * strength)


def closed_form(time, start, strength, depth):
    """The mode at `time` that was `start` at time 0 (Saxe et al. 2014, eqs. 8 and 17)."""
    begun = elapsed(start, strength, depth)

    def missing(logit):
        return elapsed(strength / (1 + np.exp(-logit)), strength, depth) - begun - time

    first, last = np.log(start / (strength - start)) - 1e-9, 25.0
    if missing(last) < 0:
        return strength
    return strength / (1 + np.exp(-brentq(missing, first, last, xtol=1e-13)))


STRENGTHS = np.array([3.0, 1.5, 0.5])


def scenario(depth, size, end, times):
    """A network of this depth whose layers start with singular values `size`."""
    return flowsim.Scenario(
        {
            "data": {
                "kind": "linear_teacher",
                "dimension": 5,
                "outputs": 4,
                "strengths": list(STRENGTHS),
                "samples": 20,
            },
            "model": {"kind": "deep_linear", "depth": depth, "width": 6},
            "init": {"shape": "aligned", "scale": size},
            "loss": {"kind": "square"},
            "flow": {"rtol": 1e-6, "until": {"time": end}},
            "observe": {"times": times, "snapshots": "all"},
        }
    )


def modes(scenario, tree):
    """(times, rank): the network's share of each mode of the teacher."""
    problem = flowsim.build(scenario)
    left, _, right = np.linalg.svd(problem.targets.T @ problem.inputs)
    rank, product = len(STRENGTHS), tree["layers_0"].values
    for layer in range(1, scenario.model.depth):
        product = tree[f"layers_{layer}"].values @ product
    return np.einsum("ok,tof,kf->tk", left[:, :rank], product, right[:rank])


@pytest.mark.parametrize(("depth", "size"), [(2, 1e-6), (3, 1e-2), (4, 0.1), (5, 0.2)])
def test_modes_follow_the_closed_form(depth, size):
    weakest = STRENGTHS[-1]
    end = elapsed(0.95 * weakest, weakest, depth) - elapsed(size**depth, weakest, depth)
    asked = scenario(depth, size, end, 41)
    tree = flowsim.run(asked)
    expected = [
        [closed_form(time, size**depth, strength, depth) for strength in STRENGTHS] for time in tree["time"].values
    ]
    np.testing.assert_allclose(modes(asked, tree), expected, rtol=0, atol=1e-5)


def test_from_a_tiny_start_the_loss_rests_at_a_saddle_between_two_modes():
    # a mode is learned at about ln(1/a(0)) / (2 strength) (Saxe et al. 2014, eq. 10); its share of the loss stays until
    # then
    size = 1e-6
    learned = np.log(size**-2) / (2 * STRENGTHS)
    tree = flowsim.run(scenario(2, size, 2 * learned[-1], 201))
    between = [0, *(learned[:-1] + learned[1:]) / 2, 2 * learned[-1]]
    loss = tree["loss"].sel(time=between, method="nearest")
    saddles = [0.5 * np.sum(STRENGTHS[count:] ** 2) for count in range(len(between))]
    np.testing.assert_allclose(loss, saddles, rtol=5e-3, atol=1e-9)
