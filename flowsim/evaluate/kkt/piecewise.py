"""The KKT point of a two-layer network whose activation is linear on both sides of a kink, for known sets.
With every gate fixed, the problem  min |theta|^2/2  where  q_i = y_i f(x_i) >= 1  has as its unknowns the
multipliers lambda_i and the strengths beta_j = |v_j||w_j| of the neurons: a neuron's direction is that of g_j =
sigma_j sum_i lambda_i y_i a_ij x_i, projected off the planes that it slides along. Where output weights are fixed,
beta_j = v_j^2 and w_j = |v_j| g_j; where they are trained, |g_j| = 1 if beta_j > 0, and |g_j| <= 1 is the exponent of
a dead neuron's growth. Which samples support the margin, which neurons live and which gates they have, the asymptotic
flow knows nearly; Newton's method finds multipliers and strengths, and whatever a condition then says is wrong in the
sets is changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lstsq

from ...arrays import Booleans, Floats, Integers
from .asymptotic import Pull
from .state import State, System, View

#: Sets that are tried, from CAREFUL on with one change at a time; and Newton steps for each.
ROUNDS, CAREFUL, STEPS = 60, 8, 15
#: One change mends so many conditions at most, or there is no hope.
WRONG = 10
#: Newton steps end at this largest error of a margin or of a neuron's condition.
SOLVED = 1e-13
#: What counts as 0 beside 1.
ROUNDING = 1e-9
#: Columns of the Newton matrix that are dependent up to this part are so exactly: neurons with the same gates.
DEPENDENT = 1e-12
#: Where the flow is, a sample supports the margin if its weight is at least this part of the largest ...
SUPPORT = 1e-6
#: ... a pair slides if its gate is at least so far from both sides' ...
INSIDE = 1e-6
#: ... and a neuron lives if it grows with an exponent and has a share of at least these.
GROWS, SHARE = 0.99, 1e-6
#: A direction of the equations' freedom that moves the weights by less, moves only what is dead.
MOVES = 1e-6
#: Strengths change in proportion to themselves, those of weak neurons to this part of the largest.
WEAKEST = 1e-6


@dataclass(frozen=True)
class Sets:
    """support (n,), alive (m,); gate (m, n): the activation's slope at the pair; sliding (m, n)."""

    support: Booleans
    alive: Booleans
    gate: Floats
    sliding: Booleans

    def of(self, neurons: Integers) -> Sets:
        """Those of these neurons."""
        return Sets(self.support, self.alive[neurons], self.gate[neurons], self.sliding[neurons])


@dataclass(frozen=True)
class Solution:
    """multiplier (n,), strength (m,); pull (m, r): g_j; gate (m, n): slopes, those of sliding pairs between the two
    sides'. settled: whether all conditions are met. sets: the last ones, of which there were `rounds`. freedom: the
    dimension of the continuum of solutions that this one belongs to, 0 for an isolated one."""

    multiplier: Floats
    strength: Floats
    pull: Floats
    gate: Floats
    sets: Sets
    settled: bool
    rounds: int
    freedom: int


def solve(system: System, state: State, pull: Pull, fixed: Floats | None) -> Solution:
    """From where the asymptotic flow is. fixed (m,): v_j^2 where output weights are fixed, None where they are trained.
    All is in units of the system's inputs."""
    return _Newton(system, state.sizes.output_sign, fixed).solve(*_start(system, state, pull, fixed))


def _start(system: System, state: State, pull: Pull, fixed: Floats | None) -> tuple[Sets, Floats, Floats]:
    """(the sets that the flow shows, its multipliers, its strengths)"""
    view = View.of(system, state)
    free = pull.free & (pull.weight > SUPPORT * pull.weight.max()) & (pull.gate < 1 - INSIDE)
    sliding = free & (pull.gate > system.slope + INSIDE)
    gate = np.where(
        free & ~sliding, np.round((pull.gate - system.slope) / (1 - system.slope or 1)), view.projection > 0
    )
    gate = np.where(gate > 0, 1.0, system.slope)
    support = pull.weight > SUPPORT * pull.weight.max()
    alive = np.ones(len(view.norm), dtype=bool)
    if fixed is not None:
        return Sets(support, alive, gate, sliding), pull.weight, fixed
    alive = (pull.exponent > GROWS) & (view.log_share > np.log(SHARE))
    if not alive.any():
        alive = view.log_share == view.log_share.max()
    size = np.linalg.norm(pull.force[alive], axis=1).mean()
    return Sets(support, alive, gate, sliding), pull.weight / size, view.norm * np.abs(view.output) / view.margin.min()


class _Newton:
    def __init__(self, system: System, sign: Floats, fixed: Floats | None):
        self.inputs, self.label, self.gram, self.slope = system.inputs, system.label, system.gram, system.slope
        self.kinked, self.sign, self.fixed = system.kinked, sign, fixed

    def solve(self, sets: Sets, weight: Floats, strength: Floats) -> Solution:
        """From multipliers (n,) and strengths (m,) near the solution."""
        own, member, beta = strength, np.arange(len(strength)), strength
        for count in range(1, ROUNDS + 1):
            sets, beta, group = self._merged(sets, beta)
            member = group[member]
            planes = self._planes(sets)
            multiplier, beta = self._solved(sets, planes, weight, beta)
            if not (beta.max() > 0 and np.abs(multiplier).max() > 0):
                raise np.linalg.LinAlgError("no neuron or no sample is left")
            pulls = self._pulls(sets, planes, multiplier)
            after = self._changed(sets, planes, pulls, multiplier, beta, ROUNDS - count, one=count > CAREFUL)
            if after is None or after is sets:
                break
            sets = after
        settled = after is None and self._holds(sets, pulls, multiplier, beta)
        freedom = self._freedom(sets, planes, pulls, beta) if settled else 0
        if settled and self.fixed is None:
            freedom += int(sets.alive[member].sum() - sets.alive.sum())
        gates, total = self._gates(sets, multiplier), np.bincount(member, own)[member]
        share = np.where(total > 0, own / np.where(total > 0, total, 1.0), 1.0 / np.bincount(member)[member])
        return Solution(
            multiplier,
            np.maximum(beta, 0.0)[member] * share,
            pulls[member],
            gates[member],
            sets.of(member),
            settled,
            count,
            freedom,
        )

    def _merged(self, sets: Sets, strength: Floats) -> tuple[Sets, Floats, Integers]:
        """Neurons whose gates are the same at the samples of the support have the same direction, and are one from here
        on: (sets, strengths, the number that each neuron has now)."""
        gate = np.where(sets.support & ~sets.sliding, sets.gate, 0.5 * (1 + self.slope))
        key = np.column_stack([self.sign, gate, sets.sliding])
        _, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        self.sign = self.sign[first]
        if self.fixed is not None:
            self.fixed = np.bincount(group, self.fixed).astype(np.float64)
        alive = np.bincount(group, sets.alive) > 0
        total = np.bincount(group, strength).astype(np.float64)
        return replace(sets.of(first), alive=alive), total, group.astype(np.int64)

    def _responses(self, sets: Sets, pulls: Floats) -> Floats:
        """(m, n): of the neurons' directions"""
        return np.asarray(np.where(sets.sliding, 0.0, sets.gate) * (pulls @ self.inputs.T))

    def _margins(self, sets: Sets, pulls: Floats, strength: Floats) -> Floats:
        return np.asarray(self.label * ((self.sign * strength) @ self._responses(sets, pulls)))

    def _holds(self, sets: Sets, pulls: Floats, multiplier: Floats, strength: Floats) -> bool:
        """Whether the equations were solved."""
        short = 1.0 - self._margins(sets, pulls, strength)
        apart = np.linalg.norm(pulls[sets.alive], axis=1) - 1.0 if self.fixed is None else np.zeros(1)
        return bool(max(np.abs(short[sets.support]).max(initial=0.0), np.abs(apart).max(initial=0.0)) <= ROUNDING)

    def _planes(self, sets: Sets) -> list[Floats]:
        """Of each neuron, an orthonormal basis (s, r) of the normals of the planes it slides along."""
        bases = []
        for sliding in sets.sliding:
            if not sliding.any():
                bases.append(self.inputs[:0])
                continue
            _, size, rows = np.linalg.svd(self.inputs[sliding], full_matrices=False)
            bases.append(rows[size > ROUNDING * size.max()])
        return bases

    def _pulls(self, sets: Sets, planes: list[Floats], multiplier: Floats) -> Floats:
        """(m, r): g_j"""
        free = np.where(sets.sliding, 0.0, sets.gate) * (multiplier * self.label)
        pulls = self.sign[:, None] * (free @ self.inputs)
        for j, basis in enumerate(planes):
            if len(basis):
                pulls[j] -= (pulls[j] @ basis.T) @ basis
        return np.asarray(pulls)

    def _solved(self, sets: Sets, planes: list[Floats], weight: Floats, strength: Floats) -> tuple[Floats, Floats]:
        """Multipliers and strengths at which the margins of the support are 1, and |g_j| of living neurons where they
        are trained."""
        support, alive, trained = np.flatnonzero(sets.support), np.flatnonzero(sets.alive), self.fixed is None
        multiplier, beta = np.where(sets.support, weight, 0.0), np.where(sets.alive, strength, 0.0)
        scale = np.maximum(beta[alive], WEAKEST * beta.max()) if trained else np.zeros(0)
        count = len(support)
        for _ in range(STEPS if trained else 2):
            pulls = self._pulls(sets, planes, multiplier)
            error = self._margins(sets, pulls, beta)[support] - 1.0
            if trained:
                error = np.concatenate([error, 0.5 * ((pulls[alive] ** 2).sum(axis=1) - 1.0)])
            if np.abs(error).max(initial=0.0) <= SOLVED:
                break
            step = lstsq(
                self._jacobian(sets, planes, pulls, beta, scale), -error, cond=DEPENDENT, lapack_driver="gelsy"
            )[0]
            multiplier[support] += step[:count]
            if trained:
                beta[alive] += scale * step[count:]
        return multiplier, beta

    def _jacobian(self, sets: Sets, planes: list[Floats], pulls: Floats, strength: Floats, scale: Floats) -> Floats:
        """Of the equations in the multipliers of the support and, where they are trained, in strengths relative to
        scale."""
        support, alive = np.flatnonzero(sets.support), np.flatnonzero(sets.alive)
        count, size = len(support), len(support) + len(scale)
        slope = np.where(sets.sliding, 0.0, sets.gate)[:, support]
        matrix = np.zeros((size, size))
        matrix[:count, :count] = self._curvature(slope, support, alive, planes, strength)
        if len(scale):
            responses = self._responses(sets, pulls)[np.ix_(alive, support)]
            responses *= self.label[support] * self.sign[alive, None]
            matrix[:count, count:], matrix[count:, :count] = responses.T * scale, responses
        return matrix

    def _curvature(
        self, slope: Floats, support: Integers, alive: Integers, planes: list[Floats], strength: Floats
    ) -> Floats:
        """(s, s): derivative of the support's margins in its multipliers"""
        inputs, label = self.inputs[support], self.label[support]
        matrix = ((slope[alive] * strength[alive, None]).T @ slope[alive]) * self.gram[np.ix_(support, support)]
        sliding = [j for j in alive if len(planes[j])]
        if sliding:
            shadows = np.hstack([(inputs @ planes[j].T) * slope[j][:, None] for j in sliding])
            sizes = np.repeat(strength[sliding], [len(planes[j]) for j in sliding])
            matrix -= (shadows * sizes) @ shadows.T
        return np.asarray(matrix * np.outer(label, label))

    def _changed(
        self,
        sets: Sets,
        planes: list[Floats],
        pulls: Floats,
        multiplier: Floats,
        strength: Floats,
        left: int,
        *,
        one: bool,
    ) -> Sets | None:
        """The sets with all that is wrong in them changed, or the worst alone; None where nothing is wrong, the same sets
        where more is wrong than the rounds that are left can change."""
        margin = self._margins(sets, pulls, strength)
        support = np.where(sets.support, -multiplier / np.abs(multiplier).max(), 1.0 - margin)
        alive = np.full(len(strength), -1.0)
        size = np.linalg.norm(pulls, axis=1)
        if self.fixed is None:
            # of neurons with the same gates all live, as they share their strength
            alive = np.where(sets.alive, -strength / np.abs(strength).max(), size - 1.0 + 2 * ROUNDING)
        wrong = [support, alive, *self._misplaced(sets, pulls, size, multiplier)]
        bound = max(float(part.max(initial=0.0)) for part in wrong) if one else ROUNDING
        if max(float(part.max(initial=0.0)) for part in wrong) <= ROUNDING:
            return None
        if one and sum(int((part > ROUNDING).sum()) for part in wrong) > WRONG * left:
            return sets
        turned, held = (part >= max(bound, ROUNDING) for part in wrong[2:])
        gate, sliding = sets.gate.copy(), sets.sliding.copy()
        attracts = (self.label * self.sign[:, None] < 0) & (multiplier > 0)
        sliding[turned & attracts] = True
        turned &= ~attracts
        gate[turned] = np.where(gate[turned] == 1.0, self.slope, 1.0)
        gate[held] = np.where(self._gates(sets, multiplier)[held] > 1.0, 1.0, self.slope)
        sliding[held] = False
        limit = max(bound, ROUNDING)
        return replace(
            sets,
            support=sets.support ^ (support >= limit),
            alive=sets.alive ^ (alive >= limit),
            gate=gate,
            sliding=sliding,
        )

    def _misplaced(self, sets: Sets, pulls: Floats, size: Floats, multiplier: Floats) -> tuple[Floats, Floats]:
        """(by how much a neuron is on the wrong side of a plane, by how much the gate of a sliding pair is out of
        bounds)"""
        if not self.kinked:
            return np.zeros(sets.gate.shape), np.zeros(sets.gate.shape)
        cosine = (pulls / np.where(size > ROUNDING, size, np.inf)[:, None]) @ self.inputs.T
        turned = np.where(sets.sliding, 0.0, np.where(sets.gate == 1.0, -cosine, cosine))
        gates = self._gates(sets, multiplier)
        return turned, np.where(sets.sliding, np.maximum(gates - 1.0, self.slope - gates), 0.0)

    def _gates(self, sets: Sets, multiplier: Floats) -> Floats:
        """(m, n): the slopes, those of sliding pairs as the projection needs them, out of bounds where no slope would
        do."""
        gates = sets.gate.copy()
        free = np.where(sets.sliding, 0.0, sets.gate) * (multiplier * self.label)
        for j in np.flatnonzero(sets.sliding.any(axis=1)):
            along = sets.sliding[j]
            needed = -lstsq(self.inputs[along].T, free[j] @ self.inputs)[0] * self.label[along]
            weight = multiplier[along]
            least = ROUNDING * np.abs(multiplier).max()
            gates[j, along] = np.where(weight > least, needed / np.maximum(weight, least), np.sign(needed) * 2.0)
        return gates

    def _freedom(self, sets: Sets, planes: list[Floats], pulls: Floats, strength: Floats) -> int:
        """In how many directions the equations leave the weights free."""
        alive = np.flatnonzero(sets.alive)
        scale = np.maximum(strength[alive], 0.0) if self.fixed is None else np.zeros(0)
        _, size, rows = np.linalg.svd(self._jacobian(sets, planes, pulls, strength, scale))
        null = rows[size <= ROUNDING * size.max()]
        if not len(null):
            return 0
        # what each direction does to the weights of each neuron, and products of these
        count, root = int(sets.support.sum()), np.sqrt(np.maximum(strength, 0.0))
        change = np.zeros((len(null), len(self.label)))
        change[:, sets.support] = null[:, :count]
        grown = null[:, count:] * np.sqrt(scale)
        products = grown @ grown.T
        for j in alive:
            turned = root[j] * ((change * (np.where(sets.sliding[j], 0.0, sets.gate[j]) * self.label)) @ self.inputs)
            turned -= (turned @ planes[j].T) @ planes[j]
            products += turned @ turned.T
        return int((np.linalg.eigvalsh(products) > MOVES**2).sum())
