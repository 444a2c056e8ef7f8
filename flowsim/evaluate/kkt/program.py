"""The quadratic program of a step of the asymptotic flow.
 Its unknowns are the samples' weights lambda_i, and of pairs that may slide kappa_ij = (mu_ij - slope lambda_i)/(1 -
slope), between 0 and lambda_i. For a guess of which of the latter are at either bound, the others follow from lambda,
each neuron by itself, and what is left is a program in lambda alone. The guess is changed where a kappa_ij leaves its
bounds or would leave a bound that it is at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import Booleans, Floats, Integers
from .quadratic import on_simplex
from .state import State, System, View
from .turning import Held

#: Directions in which a neuron's planes depend on each other up to this part are so but for rounding.
DEPENDENT = 1e-11
#: A sample of a smaller weight, relative to the largest, holds no neuron on its plane.
WEIGHTLESS = 1e-10
#: Margins of samples that have at least this part of the largest weight are to be alike after a step, to this part.
HEAVY, ALIKE = 1e-6, 1e-8
#: What conditions are met to, relative to the forces in them.
MET = 1e-8
#: Guesses, and those after which only the worst pair of a neuron changes.
GUESSES, CAREFUL = 40, 12
#: Of neurons with a larger |w_j|/|v_j| no pair slides: they do not turn.
STILL = 1e9

LOWER, UPPER, INSIDE = 0, 1, 2


class Program:
    """near (m, n): pairs that may slide; rows: the samples whose weights are unknown; length: of the step, in which
    log|theta| grows by about `advance`; held: neurons that turn less than they are pulled."""

    def __init__(
        self,
        system: System,
        state: State,
        view: View,
        near: Booleans,
        rows: Integers,
        length: float,
        held: Held | None = None,
        advance: float = 0.0,
    ):
        self.held = held
        self.system, self.state, self.view, self.rows, self.length = system, state, view, rows, length
        sizes, shift = state.sizes, 0.0 if system.trained else view.log_size
        # |w_j|/|v_j| at |theta| = 1
        self.ratio = np.exp(np.minimum(sizes.log_norm - shift - sizes.output_log, np.log(STILL)))
        self.near = near & (self.ratio < 0.5 * STILL)[:, None]
        self.turning = (view.output * view.norm ** (system.power - 1)) ** 2
        self.growing = view.norm ** (2 * system.power) * system.trained
        self.worth = view.output * view.norm**system.power
        self.gain, self.along = 1.0, self.turning
        if system.trained and system.power == 1:
            # sizes grow exponentially, and a turn is relative to a |w| that grows by 1 + advance
            self.worth = self.worth * (1 - system.homogeneity * advance)
            self.turning = self.turning / (1 + advance)
        elif system.trained:
            self.gain = (1 + system.homogeneity * advance) / (1 + advance)
        self.guess = np.where(view.projection > 0, UPPER, LOWER)
        if state.gate is not None:
            between = (state.gate > system.slope + MET) & (state.gate < 1 - MET)
            self.guess = np.where(between, INSIDE, self.guess)
        self.count = 0
        self.told = self.shift = np.zeros(len(rows))
        self.inside: list[tuple[Integers, Integers, Floats, Floats, Floats]] = []

    def weights(self, least: float) -> Floats | None:
        """(n,): lambda for the guess; None where the program was not solved. least: the smallest margin."""
        system, view, rows = self.system, self.view, self.rows
        gate, value = self._fixed()
        signed = (value * system.label)[:, rows]
        matrix = _turned(system, view, gate, value, self.turning, self.along, rows)
        matrix += (signed * self.growing[:, None]).T @ signed
        if self.held is not None:
            neurons = self.held.neurons
            # what is taken away lies along the spheres, where grad h = k' x
            inside = (gate * system.label)[np.ix_(neurons, rows)] * np.sqrt(self.turning[neurons])[:, None]
            matrix -= self.held.taken(inside[:, :, None] * system.inputs[rows])
        linear = self.worth @ signed
        self.inside = [self._sliding(*group, gate, value) for group in self._groups()]
        for neurons, _, inverse, across, own in self.inside:
            part, scale = across[:, :, rows], self.turning[neurons, None, None]
            held = scale * (inverse @ part)
            matrix -= part.reshape(-1, len(rows)).T @ held.reshape(-1, len(rows))
            linear -= self.length * np.einsum("gks,gk->s", held, own)
        found = on_simplex(self.length / least * matrix, (linear + self.shift) / least)
        if found is None:
            return None
        self.told = linear + self.length * (matrix @ found)
        weight = np.zeros(len(system.label))
        weight[rows] = found
        return weight

    def correct(self, margin: Floats, weight: Floats) -> bool:
        """Have the next weights raise all margins alike to second order, where they have come to these (n,) after the step
        of `weight`; whether that makes a difference."""
        margin, weight = margin[self.rows], weight[self.rows]
        if margin[weight > HEAVY * weight.max()].max() <= margin.min() * (1 + ALIKE):
            return False
        told = weight @ self.told
        self.shift = (margin / (weight @ margin) - 1) * told / self.gain - (self.told - told)
        return True

    def _fixed(self) -> tuple[Floats, Floats]:
        """(gates, responses) of all pairs, of those inside as at the lower bound"""
        view, slope = self.view, self.system.slope
        if not self.near.any():
            return view.slope, view.response
        gate = np.where(self.near, np.where(self.guess == UPPER, 1.0, slope), view.slope)
        return gate, gate * view.projection

    def _groups(self) -> Iterator[tuple[Integers, Integers]]:
        """Neurons that have as many pairs inside, at least one: (neurons (g,), their samples (g, k))."""
        inside = self.near & (self.guess == INSIDE)
        counts = inside.sum(axis=1)
        for count in np.unique(counts[counts > 0]):
            neurons = np.flatnonzero(counts == count)
            yield neurons, np.nonzero(inside[neurons])[1].reshape(len(neurons), count)

    def _sliding(
        self, neurons: Integers, chosen: Integers, gate: Floats, value: Floats
    ) -> tuple[Integers, Integers, Floats, Floats, Floats]:
        """(neurons, chosen, inverse (g, k, k), across (g, k, n), own (g, k)): kappa is -inverse (across lambda +
        own)"""
        system, label = self.system, self.system.label
        signs = (1 - system.slope) * label[chosen]
        along = signs * np.take_along_axis(self.view.projection[neurons], chosen, axis=1)
        ratio = self.ratio[neurons, None]
        growing = (ratio**2 * system.trained)[:, :, None]
        matrix = system.gram[chosen[:, :, None], chosen[:, None, :]] * signs[:, :, None] * signs[:, None, :]
        matrix += growing * along[:, :, None] * along[:, None, :]
        across = system.gram[chosen] * signs[:, :, None] * (gate[neurons] * label)[:, None, :]
        across += growing * along[:, :, None] * (value[neurons] * label)[:, None, :]
        own = np.sign(self.view.output[neurons, None]) * ratio / self.length * along
        inverse = np.asarray(np.linalg.pinv(matrix, rcond=DEPENDENT, hermitian=True), dtype=np.float64)
        return neurons, chosen, inverse, across, own

    def _held(self, weight: Floats) -> Iterator[tuple[tuple[Integers, Integers], Floats]]:
        """(places in (m, n), kappa there) of the pairs inside, each (g, k)"""
        for neurons, chosen, inverse, across, own in self.inside:
            right = across @ weight + own
            yield (neurons[:, None], chosen), -(inverse @ right[:, :, None])[:, :, 0]

    def gates(self, weight: Floats) -> Floats:
        """(m, n): the gates of all pairs, within their bounds"""
        gate, _ = self._fixed()
        gate = gate.copy()
        for places, held in self._held(weight):
            own = weight[places[1]]
            share = np.clip(held / np.maximum(own, 1e-300), 0.0, 1.0)
            gate[places] += (1 - self.system.slope) * np.where(own > 0, share, 0.0)
        return gate

    def improve(self, weight: Floats) -> bool:
        """Change the guess where the conditions of kappa are not met; whether any was changed. After GUESSES of them
        it stays: rounding may turn one of two guesses that are as good into the other and back."""
        if not self.near.any() or self.count == GUESSES:
            return False
        self.count += 1
        system, view, heavy = self.system, self.view, weight > WEIGHTLESS * weight.max()
        gate, _ = self._fixed()
        mean = gate * weight
        outside = np.zeros(gate.shape)
        for places, held in self._held(weight):
            mean[places] += (1 - system.slope) * held
            # negative below 0, positive above lambda
            outside[places] = np.minimum(held, 0.0) + np.maximum(held - weight[places[1]], 0.0)
        force = (mean * system.label) @ system.inputs
        growing = (self.ratio**2 * system.trained)[:, None]
        along = (force * self.state.direction).sum(axis=1, keepdims=True)
        pushed = self.length * (force @ system.inputs.T + growing * along * view.projection)
        pushed += (np.sign(view.output) * self.ratio)[:, None] * view.projection
        # y_i times the response after the step: a lower bound holds what is at least 0, an upper one what is at most 0
        pushed *= system.label
        size = self.length * np.linalg.norm(force, axis=1) + self.ratio
        pushed /= size[:, None]
        inside = self.near & (self.guess == INSIDE)
        wrong = np.where(inside, np.abs(outside) / weight.max(), 0.0)
        leaves = np.where(self.guess == UPPER, pushed, -pushed)
        wrong = np.where(self.near & ~inside, np.maximum(leaves, 0.0), wrong)
        turned = wrong > MET
        if self.count > CAREFUL:
            turned &= wrong == wrong.max(axis=1, keepdims=True)
        if not turned.any():
            return False
        away = np.where(outside > 0, UPPER, LOWER)
        # where a sample has no weight, only the side matters from which it would begin to have some
        other = np.where(heavy, INSIDE, np.where(self.guess == UPPER, LOWER, UPPER))
        self.guess = np.where(turned, np.where(inside, away, other), self.guess)
        return True


def _turned(
    system: System, view: View, gate: Floats, value: Floats, turning: Floats, growing: Floats, rows: Integers
) -> Floats:
    """(s, s): sum_j <grad h_ij, grad h_kj> y_i y_k, weighted by turning_j along the sphere and by growing_j along w_j"""
    gram, label = system.gram[np.ix_(rows, rows)], system.label[rows]
    inside = (gate * system.label)[:, rows]
    total = ((inside * turning[:, None]).T @ inside) * gram
    # grad h = k' (x - s u) + P k u
    slid, along = inside * view.projection[:, rows], system.power * value[:, rows] * label
    return np.asarray(total - (slid * turning[:, None]).T @ slid + (along * growing[:, None]).T @ along)
