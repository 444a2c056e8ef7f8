"""Gates that random weights have fixed for good, and networks sum_j <v_j, x> g_j(x), linear in what is trained, v."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats


@dataclass(frozen=True)
class Gates:
    """g_j(x) = P(<w_j, x> + r >= b) + sign P(-<w_j, x> + r >= b) with b the threshold and r ~ N(0, spread^2).

    weights (m, d): w_j.
    """

    weights: Floats
    threshold: float
    spread: float
    sign: float

    def at(self, x: Floats) -> Floats:
        """(n, d) -> (n, m)"""
        return self.with_slope(x)[0]

    def with_slope(self, x: Floats) -> tuple[Floats, Floats]:
        """(n, d) -> (n, m), and the derivative in <w_j, x>, 0 wherever gates are not smoothed"""
        z = x @ self.weights.T
        if self.spread == 0:
            above, below = z >= self.threshold, -z >= self.threshold
            return above + self.sign * below, np.zeros(z.shape)
        from scipy.special import ndtr  # slow to import, and only these ask for it

        up, down = (z - self.threshold) / self.spread, (-z - self.threshold) / self.spread
        scale = 1 / (self.spread * np.sqrt(2 * np.pi))
        slope = scale * (np.exp(-0.5 * up**2) - self.sign * np.exp(-0.5 * down**2))
        return ndtr(up) + self.sign * ndtr(down), slope

    def within(self, basis: Floats) -> Gates:
        """The same of z (r,), x = basis z."""
        return replace(self, weights=self.weights @ basis)


def outputs(trained: Floats, gate: Floats, x: Floats) -> Floats:
    """(n,): f(x) for v (m, d), gates (n, m) and x (n, d)"""
    return np.einsum("nm,nm->n", gate, x @ trained.T)


def input_gradient(trained: Floats, gates: Gates, x: Floats) -> Floats:
    """(n, d): the derivative of f in x, wherever no gate jumps"""
    gate, slope = gates.with_slope(x)
    rise = gate @ trained
    return rise if gates.spread == 0 else rise + (slope * (x @ trained.T)) @ gates.weights
