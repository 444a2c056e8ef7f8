"""Deep linear networks against the decoupled modes of Saxe, McClelland & Ganguli (2014), and their plateaus."""

from __future__ import annotations

from itertools import pairwise

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


def whitened(samples, features):
    """(samples, features): inputs with x^T x / samples = I."""
    drawn = np.random.default_rng(0).standard_normal((samples, features))
    return np.linalg.qr(drawn)[0] * samples**0.5


def rotation(size, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def teacher(outputs, features):
    """Left and right singular vectors of the map that is to be learned, whose singular values are STRENGTHS."""
    rank = len(STRENGTHS)
    return rotation(outputs, 1)[:, :rank], rotation(features, 2)[:, :rank]


def aligned(left, right, widths, size):
    """Weights of all layers, with singular values `size` each, whose modes are those of the teacher from the start."""
    rank = left.shape[1]
    bases = [right, *(rotation(width, 3 + k)[:, :rank] for k, width in enumerate(widths)), left]
    return [size * above @ below.T for below, above in pairwise(bases)]


def deep_linear(weights, x):
    for weight in weights:
        x = x @ weight.T
    return x


def flown(depth, size, end, **wanted):
    """The trajectory, until time `end`, of a network of this depth whose modes start at size^depth. Its variable
    `modes` (time, rank) has them."""
    left, right = teacher(4, 5)
    x = whitened(20, 5)

    def modes(weights):
        product = weights[0]
        for weight in weights[1:]:
            product = weight @ product
        return ((left.T @ product) * right.T).sum(axis=1)

    weights = aligned(left, right, [6] * (depth - 1), size)
    y = x @ right @ np.diag(STRENGTHS) @ left.T
    return flowsim.flow(deep_linear, weights, x, y, until={"time": end}, observe={"modes": modes}, rtol=1e-6, **wanted)


@pytest.mark.parametrize(("depth", "size"), [(2, 1e-3), (3, 0.1), (4, 0.2), (5, 0.3)])
def test_modes_follow_the_closed_form(depth, size):
    weakest = STRENGTHS[-1]
    end = elapsed(0.95 * weakest, weakest, depth) - elapsed(size**depth, weakest, depth)
    tree = flown(depth, size, end, times=41)
    expected = [
        [closed_form(time, size**depth, strength, depth) for strength in STRENGTHS] for time in tree["time"].values
    ]
    np.testing.assert_allclose(tree["modes"] / STRENGTHS, expected / STRENGTHS, rtol=0, atol=1e-5)


def test_from_a_tiny_start_the_loss_rests_at_a_saddle_between_two_modes():
    # a mode is learned at about ln(1/a(0)) / (2 strength) (Saxe et al. 2014, eq. 10); its share of the loss stays until
    # then
    size = 1e-6
    learned = np.log(size**-2) / (2 * STRENGTHS)
    tree = flown(2, size, 2 * learned[-1], times=201)
    between = [0, *(learned[:-1] + learned[1:]) / 2, 2 * learned[-1]]
    loss = tree["loss"].sel(time=between, method="nearest")
    saddles = [0.5 * np.sum(STRENGTHS[count:] ** 2) for count in range(len(between))]
    np.testing.assert_allclose(loss, saddles, rtol=5e-3, atol=1e-9)
