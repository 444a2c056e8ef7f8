"""The KKT point of a two-layer network whose activation is linear on both sides of a kink.

With every gate fixed, the problem  min |theta|^2/2  where  q_i = y_i f(x_i) >= 1  has as its unknowns the multipliers
lambda_i and the strengths beta_j = |v_j||w_j| of the neurons: a neuron's direction is that of g_j = sigma_j sum_i lambda_i
y_i a_ij x_i, projected off the planes that it slides along. Where output weights are trained, |g_j| = 1 if beta_j > 0; where
they are fixed, beta_j = v_j^2 and w_j = |v_j| g_j. Newton's method solves this, and the conditions that it does not see say
what to change: which samples support the margin, which neurons live, and on which side of the planes they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq

from ...problem import Reduced
from ...problem.data.samples import Booleans, Floats

#: Guesses, and Newton steps for each. From the later one on of CAREFUL, only what is most wrong is changed.
ROUNDS, CAREFUL, STEPS = 200, 40, 30
#: Newton steps end at this largest error of a margin or of a neuron's condition.
SOLVED = 1e-13
#: What counts as 0 beside 1.
ROUNDING = 1e-9
#: Columns of the Newton matrix that are dependent up to this part are so exactly: neurons with the same gates.
DEPENDENT = 1e-12
#: A neuron whose |g_j| is below this at first is taken for one that dies.
ALIVE = 0.9


@dataclass
class Guess:
    """support (n',), alive (m,); gate (m, n'): the activation's slope at the pair; sliding (m, n')."""

    support: Booleans
    alive: Booleans
    gate: Floats
    sliding: Booleans


@dataclass(frozen=True)
class Solution:
    """multiplier (n',), strength (m,), pull (m, r): g_j; gate (m, n'): slopes, those of sliding pairs between the two
    sides'. rounds: how many guesses it took; settled: whether the last one needed no change."""

    multiplier: Floats
    strength: Floats
    pull: Floats
    gate: Floats
    sliding: Booleans
    rounds: int
    settled: bool


class Piecewise:
    """fixed_strength (m,): v_j^2 where output weights are fixed, None where they are trained."""

    def __init__(self, reduced: Reduced, sign: Floats, fixed_strength: Floats | None):
        longest = float(np.linalg.norm(reduced.inputs, axis=1).max())
        self.inputs, self.label, self.sign = reduced.inputs / longest, reduced.targets, sign
        self.slope = reduced.problem.activation.inactive_slope
        self.fixed = fixed_strength
        # multipliers and strengths are of order 1 where samples are
        self.unit = longest if fixed_strength is None else longest**2
        self.strength_unit = longest if fixed_strength is None else 1.0
        self.gram = self.inputs @ self.inputs.T

    def solve(self, direction: Floats, sliding: Booleans, multiplier: Floats, strength: Floats) -> Solution:
        """From a network near the solution: direction (m, r), sliding (m, n'), multiplier (n',) and strength (m,)."""
        multiplier, strength = multiplier * self.unit, strength * self.strength_unit
        gate = np.where(~sliding & (direction @ self.inputs.T > 0), 1.0, self.slope)
        guess = Guess(np.ones(len(self.label), bool), np.ones(len(strength), bool), gate, sliding.copy())
        if self.fixed is None:
            pulls = self._pulls(guess, self._planes(guess), multiplier)
            guess.alive = np.linalg.norm(pulls, axis=1) >= ALIVE
            strength = strength * guess.alive
        rounds, changed = 0, True
        while changed and rounds < ROUNDS:
            rounds += 1
            planes = self._planes(guess)
            multiplier, strength = self._newton(guess, planes, multiplier * guess.support, strength)
            changed = self._improve(guess, planes, multiplier, strength, rounds > CAREFUL)
        gates = self._gates(guess, planes, multiplier)
        pull = self._pulls(guess, planes, multiplier)
        return Solution(
            multiplier / self.unit,
            strength / self.strength_unit,
            pull if self.fixed is None else pull / np.sqrt(self.unit),
            gates,
            guess.sliding,
            rounds,
            not changed,
        )

    def _planes(self, guess: Guess) -> list[Floats]:
        """Of each neuron that lives, an orthonormal basis (s, r) of the normals of the planes it slides along."""
        bases = []
        for sliding, alive in zip(guess.sliding, guess.alive, strict=True):
            normals = self.inputs[sliding] if alive else self.inputs[:0]
            _, size, rows = np.linalg.svd(normals, full_matrices=False)
            bases.append(rows[size > ROUNDING * size[:1].max(initial=0.0)])
        return bases

    def _pulls(self, guess: Guess, planes: list[Floats], multiplier: Floats) -> Floats:
        """(m, r): g_j"""
        free = np.where(guess.sliding, 0.0, guess.gate) * (multiplier * self.label)
        pulls = self.sign[:, None] * (free @ self.inputs)
        for j, basis in enumerate(planes):
            pulls[j] -= (pulls[j] @ basis.T) @ basis
        return np.asarray(pulls)

    def _newton(
        self, guess: Guess, planes: list[Floats], multiplier: Floats, strength: Floats
    ) -> tuple[Floats, Floats]:
        """Multipliers and strengths at which the margins of the support are 1, and |g_j| of living neurons where they are
        trained."""
        support, alive = np.flatnonzero(guess.support), np.flatnonzero(guess.alive)
        count, trained = len(support), self.fixed is None
        slope = np.where(guess.sliding, 0.0, guess.gate)[:, support]
        size = count + (len(alive) if trained else 0)
        for _ in range(STEPS if trained else 2):
            pulls = self._pulls(guess, planes, multiplier)[alive]
            responses = slope[alive] * (self.label[support] * self.sign[alive, None] * (pulls @ self.inputs[support].T))
            error = responses.T @ strength[alive] - 1.0
            if trained:
                error = np.concatenate([error, 0.5 * ((pulls**2).sum(axis=1) - 1.0)])
            if np.abs(error).max(initial=0.0) <= SOLVED:
                break
            matrix = np.zeros((size, size))
            matrix[:count, :count] = self._curvature(slope, support, alive, planes, strength)
            if trained:
                matrix[:count, count:], matrix[count:, :count] = responses.T, responses
            step = lstsq(matrix, -error, cond=DEPENDENT, lapack_driver="gelsy")[0]
            multiplier[support] += step[:count]
            if trained:
                strength[alive] += step[count:]
        return multiplier, strength

    def _curvature(
        self, slope: Floats, support: Booleans, alive: Booleans, planes: list[Floats], strength: Floats
    ) -> Floats:
        """(s, s): derivative of the support's margins in its multipliers"""
        inputs, label = self.inputs[support], self.label[support]
        together = (slope[alive] * strength[alive, None]).T @ slope[alive]
        matrix = together * self.gram[np.ix_(support, support)]
        for j in alive:
            if len(planes[j]):
                shadow = (inputs @ planes[j].T) * slope[j][:, None]
                matrix -= strength[j] * (shadow @ shadow.T)
        return np.asarray(matrix * np.outer(label, label))

    def _improve(self, guess: Guess, planes: list[Floats], multiplier: Floats, strength: Floats, careful: bool) -> bool:
        """Change what the conditions say is wrong; whether anything was."""
        pulls = self._pulls(guess, planes, multiplier)
        products = pulls @ self.inputs.T
        if self.fixed is None and self._change_living(guess, pulls, products, strength, careful):
            return True
        if self._change_support(guess, products, multiplier, strength, careful):
            return True
        return self._change_gates(guess, planes, products, multiplier, careful)

    def _change_living(self, guess: Guess, pulls: Floats, products: Floats, strength: Floats, careful: bool) -> bool:
        """Neurons of negative strength die; one that does not live but would grow, at the gates it then has, lives."""
        wrong = np.where(guess.alive, -strength / np.abs(strength).max(initial=1e-300), 0.0)
        fitting = ((products > 0) == (guess.gate == 1.0)) | (np.abs(products) <= ROUNDING)
        growing = np.linalg.norm(pulls, axis=1) - 1.0
        wrong = np.where(~guess.alive & fitting.all(axis=1), growing, wrong)
        chosen = _chosen(wrong, careful)
        guess.alive[chosen] = ~guess.alive[chosen]
        strength[~guess.alive] = 0.0
        return bool(len(chosen))

    def _change_support(
        self, guess: Guess, products: Floats, multiplier: Floats, strength: Floats, careful: bool
    ) -> bool:
        response = np.where(guess.sliding, 0.0, guess.gate) * products
        short = 1.0 - self.label * ((self.sign * strength) @ response)
        wrong = np.where(guess.support, -multiplier / np.abs(multiplier).max(initial=1e-300), short)
        chosen = _chosen(wrong, careful)
        guess.support[chosen] = ~guess.support[chosen]
        multiplier[~guess.support] = 0.0
        return bool(len(chosen))

    def _change_gates(
        self, guess: Guess, planes: list[Floats], products: Floats, multiplier: Floats, careful: bool
    ) -> bool:
        """A neuron on the wrong side of a plane slides along it; one whose sliding gate is outside of its bounds leaves."""
        if self.slope == 1.0:
            return False
        alive = guess.alive[:, None]
        toward = np.where(guess.gate == 1.0, -products, products) * ~guess.sliding * alive
        held = self._gates(guess, planes, multiplier)
        outside = np.maximum(held - 1.0, self.slope - held) * guess.sliding * alive
        chosen = _chosen(np.maximum(toward, outside).ravel(), careful)
        pairs = np.unravel_index(chosen, toward.shape)
        guess.gate[pairs] = np.where(guess.sliding[pairs] & (held[pairs] > 1.0), 1.0, self.slope)
        guess.sliding[pairs] = ~guess.sliding[pairs]
        return bool(len(chosen))

    def _gates(self, guess: Guess, planes: list[Floats], multiplier: Floats) -> Floats:
        """(m, n'): the slopes, those of sliding pairs as the projection needs them, +-inf where no slope would do."""
        gates = guess.gate.copy()
        free = np.where(guess.sliding, 0.0, guess.gate) * (multiplier * self.label)
        for j in np.flatnonzero(guess.sliding.any(axis=1) & guess.alive):
            along = guess.sliding[j]
            needed = -lstsq(self.inputs[along].T, free[j] @ self.inputs)[0] * self.label[along]
            with np.errstate(divide="ignore", invalid="ignore"):
                gates[j, along] = np.where(np.abs(needed) > 0, needed / multiplier[along], 0.0)
        return gates


def _chosen(wrong: Floats, careful: bool) -> Floats:
    """The indices of what is wrong by more than rounding; if careful, of the worst alone."""
    found = np.flatnonzero(wrong > ROUNDING)
    return found[[wrong[found].argmax()]] if careful and len(found) else found
