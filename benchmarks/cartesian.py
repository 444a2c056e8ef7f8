"""The gradient flow as a general ODE solver is handed it: one vector of weights, one right-hand side.

The network is f(x) = sum_j v_j max(<w_j, x>, 0)^3 / |w_j|^2 (pReLU, p = 3) under the square loss. The state (m (d + 1),)
holds the rows w_j one after the other, then the v_j. The formulas run in NumPy, JAX and torch: `xp` is the library.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = Any  # of the library `xp`
Floats = NDArray[np.float64]


class Data(NamedTuple):
    """inputs (n, d); targets, weight (n,): what each sample's loss is multiplied with in the sum."""

    inputs: Array
    targets: Array
    weight: Array


def pack(hidden: Floats, output: Floats) -> Floats:
    """The state of the weights w (m, d) and v (m,)."""
    return np.concatenate([hidden.ravel(), output])


def unpack(state: Array, data: Data) -> tuple[Array, Array]:
    """(w (m, d), v (m,)) of a state."""
    features = data.inputs.shape[1]
    neurons = state.shape[0] // (features + 1)
    return state[: neurons * features].reshape(neurons, features), state[neurons * features :]


def velocity(state: Array, data: Data, xp: ModuleType) -> Array:
    """-∇L at a state, in two matrix products.

    With u = w/|w|, s_i = max(<u, x_i>, 0), h_i = |w| s_i^3:  ∂h_i/∂w = 3 s_i^2 x_i - 2 s_i^3 u.
    """
    hidden, output = unpack(state, data)
    norm = xp.sqrt((hidden * hidden).sum(1))
    direction = hidden / norm[:, None]
    positive = xp.clip(direction @ data.inputs.T, 0.0, None)
    square = positive * positive
    cube = square * positive
    pull = data.weight * (data.targets - (output * norm) @ cube)
    total = cube @ pull
    force = 3 * ((square * pull) @ data.inputs) - 2 * total[:, None] * direction
    return xp.concatenate([(output[:, None] * force).reshape(-1), norm * total])


def loss(state: Floats, data: Data) -> float:
    """The training loss, by the network's definition."""
    hidden, output = unpack(state, data)
    response = np.maximum(data.inputs @ hidden.T, 0) ** 3 / np.linalg.norm(hidden, axis=1) ** 2
    return float(data.weight @ (response @ output - data.targets) ** 2 / 2)


def check_velocity() -> None:
    """Compare `velocity` with central differences of `loss`, entry by entry, on a small problem.

    Raises AssertionError where they differ by more than the differences' own error.
    """
    random = np.random.default_rng(0)
    data = Data(random.standard_normal((9, 4)), random.choice([1.0, -1.0], 9), np.full(9, 1 / 9))
    state = pack(random.standard_normal((5, 4)), random.standard_normal(5))
    step = 1e-5
    differences = [
        (loss(state - shift, data) - loss(state + shift, data)) / (2 * step) for shift in step * np.eye(len(state))
    ]
    np.testing.assert_allclose(velocity(state, data, np), differences, rtol=0, atol=1e-7)
