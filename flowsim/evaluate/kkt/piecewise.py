"""The KKT point of a two-layer network whose activation is linear on both sides of a kink.

With every gate fixed, the problem  min |theta|^2/2  where  q_i = y_i f(x_i) >= 1  has as its unknowns the multipliers
lambda_i and the strengths beta_j = |v_j||w_j| of the neurons: a neuron's direction is that of g_j = sigma_j sum_i
lambda_i y_i a_ij x_i, projected off the planes that it slides along. Where output weights are fixed, beta_j = v_j^2 and
w_j = |v_j| g_j; where they are trained, |g_j| = 1 if beta_j > 0. For given strengths this is a problem of least distance,
which non-negative least squares solve (Lawson & Hanson 1974), and that gives the support; Newton's method then finds
multipliers and strengths together. What remains is to find the gates: a neuron on the wrong side of a plane slides along
it, if the plane's sample has a multiplier, and one whose gate would have to leave its bounds leaves the plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, lstsq
from scipy.optimize import nnls

from ...arrays import Booleans, Floats, Integers
from ...problem import Reduced

#: Guesses of the gates, from CAREFUL on with one change at a time; for each, guesses of the support, and Newton steps.
ROUNDS, CAREFUL, SUPPORTS, STEPS = 200, 60, 8, 12
#: Rounds in which strengths follow |g_j| before anything else: those of dying neurons fall.
WARM = 40
#: Newton steps end at this largest error of a margin or of a neuron's condition.
SOLVED = 1e-13
#: What counts as 0 beside 1.
ROUNDING = 1e-9
#: Columns of the Newton matrix that are dependent up to this part are so exactly: neurons with the same gates.
DEPENDENT = 1e-12
#: A neuron whose |g_j| stays below this is one that dies.
ALIVE = 0.9
#: One of less than this part of the largest strength is dead.
DEAD = 1e-6
#: What makes a matrix positive definite that is so but for rounding.
JITTER = 1e-14


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

    def solve(self, direction: Floats, sliding: Booleans, strength: Floats) -> Solution:
        """From a network near the solution: direction (m, r), sliding (m, n') and strength (m,)."""
        strength = strength * self.strength_unit
        gate = np.where(~sliding & (direction @ self.inputs.T > 0), 1.0, self.slope)
        guess = Guess(np.ones(len(self.label), bool), np.ones(len(strength), bool), gate, sliding.copy())
        planes = self._planes(guess)
        if self.fixed is None:
            strength = self._living(guess, planes, strength)
        rounds, changed = 0, True
        while changed and rounds < ROUNDS:
            rounds += 1
            planes = self._planes(guess)
            multiplier, strength, settled = self._of_gates(guess, planes, strength)
            products = self._pulls(guess, planes, multiplier) @ self.inputs.T
            changed = self._change_gates(guess, planes, products, multiplier, rounds > CAREFUL) or not settled
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

    def _living(self, guess: Guess, planes: list[Floats], strength: Floats) -> Floats:
        """Strengths after those of dying neurons have fallen, and in the guess which neurons live."""
        for _ in range(WARM):
            size = np.linalg.norm(self._pulls(guess, planes, self._multipliers(guess, planes, strength)), axis=1)
            strength = strength * size
        guess.alive = size >= ALIVE
        return np.where(guess.alive, strength, 0.0)

    def _of_gates(self, guess: Guess, planes: list[Floats], strength: Floats) -> tuple[Floats, Floats, bool]:
        """Multipliers and strengths for the guess's gates, and whether they meet all conditions at these; leaves the
        support and the living neurons in the guess.

        Newton's method is tried from where strengths follow |g_j|, which always comes closer.
        """
        for _ in range(SUPPORTS):
            multiplier = self._multipliers(guess, planes, strength)
            guess.support = multiplier > 0
            found, strengths = self._newton(guess, planes, multiplier.copy(), strength.copy())
            if self._holds(guess, planes, found, strengths):
                return found, np.maximum(strengths, 0.0), True
            if self._holds(guess, planes, multiplier, strength):
                return multiplier, strength, True
            if self.fixed is None:
                strength = strength * np.linalg.norm(self._pulls(guess, planes, multiplier), axis=1)
                guess.alive = guess.alive & (strength > DEAD * strength.max())
                strength = np.where(guess.alive, strength, 0.0)
        return multiplier, strength, False

    def _holds(self, guess: Guess, planes: list[Floats], multiplier: Floats, strength: Floats) -> bool:
        """Whether all conditions but those on the gates are met."""
        pulls = self._pulls(guess, planes, multiplier)
        response = np.where(guess.sliding, 0.0, guess.gate) * (pulls @ self.inputs.T)
        short = 1.0 - self.label * ((self.sign * strength) @ response)
        apart = np.abs(np.linalg.norm(pulls[guess.alive], axis=1) - 1.0) if self.fixed is None else np.zeros(1)
        wrong = max(
            short.max(),
            np.abs(short[guess.support]).max(initial=0.0),
            -multiplier.min() / np.abs(multiplier).max(),
            -strength.min() / np.abs(strength).max(),
            apart.max(initial=0.0),
        )
        return bool(wrong <= ROUNDING)

    def _multipliers(self, guess: Guess, planes: list[Floats], strength: Floats) -> Floats:
        """The multipliers of the closest point whose margins are all at least 1, for given strengths."""
        slope = np.where(guess.sliding, 0.0, guess.gate)
        everyone = np.arange(len(self.label))
        matrix = self._curvature(slope, everyone, np.flatnonzero(guess.alive), planes, strength)
        size = float(np.trace(matrix)) / len(matrix)
        root = cholesky(matrix + JITTER * size * len(matrix) * np.eye(len(matrix)))
        # least distance: of all x with root^T x >= 1, the shortest is root u / (1 - sum u)
        found = nnls(np.vstack([root / np.sqrt(size), np.ones(len(root))]), np.append(np.zeros(len(root)), 1.0))[0]
        return np.asarray(found / (1.0 - found.sum()) / size)

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
        self, slope: Floats, support: Integers, alive: Integers, planes: list[Floats], strength: Floats
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

    def _change_gates(
        self, guess: Guess, planes: list[Floats], products: Floats, multiplier: Floats, careful: bool
    ) -> bool:
        """A neuron on the wrong side of a plane slides along it; one whose sliding gate is outside of its bounds leaves.

        A sample without a multiplier holds no neuron on its plane, and its gates pull at nothing: they turn at once.
        """
        if self.slope == 1.0:
            return False
        alive = guess.alive[:, None]
        toward = np.where(guess.gate == 1.0, -products, products) * ~guess.sliding * alive
        idle = (toward > ROUNDING) & (multiplier == 0)
        toward = np.where(idle, 0.0, toward)
        held = self._gates(guess, planes, multiplier)
        outside = np.maximum(held - 1.0, self.slope - held) * guess.sliding * alive
        chosen = _chosen(np.maximum(toward, outside).ravel(), careful)
        pairs = np.unravel_index(chosen, toward.shape)
        guess.gate[pairs] = np.where(guess.sliding[pairs] & (held[pairs] > 1.0), 1.0, self.slope)
        guess.sliding[pairs] = ~guess.sliding[pairs]
        guess.gate[idle] = np.where(guess.gate[idle] == 1.0, self.slope, 1.0)
        return bool(len(chosen)) or bool(idle.any())

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


def _chosen(wrong: Floats, careful: bool) -> Integers:
    """The indices of what is wrong by more than rounding; if careful, of the worst alone."""
    found = np.flatnonzero(wrong > ROUNDING)
    return found[[wrong[found].argmax()]] if careful and len(found) else found
