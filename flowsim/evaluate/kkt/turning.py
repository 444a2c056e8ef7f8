"""How neurons of a smooth activation turn in a step of the asymptotic flow.

They come to rest quickly where the pull of the samples is largest, the more so where pulls of both signs nearly cancel.
So a step is implicit in what holds them there, too: a direction u that moves by turn H has (1 + turn <H, u>) I + N in
the place of 1 + turn <H, u>, where N is the part of the forces' derivative along the sphere that pulls it back. Rest
points are the same. Neurons that are too light for that, which turn at once, turn at given weights of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Integers
from .state import State, System, View

#: A neuron may turn so fast in a step without more ado: a bound of the change of its force, times the step.
FAST = 0.5
#: One that turns faster than this is light: what it does to the margins is nothing beside where it comes to rest.
LIGHT = 1e4
#: Neurons are not held where that takes more numbers.
NUMBERS = 2e7
#: A light neuron turns in parts, in which it may turn so fast, so many at most; what is left after them lets it grow, or
#: shrink to this.
CALM, PARTS, LEFT = 1.0, 100, 0.5
#: A response of a degree below 2 is not taken for more bent than here.
FLAT = 1e-3


@dataclass(frozen=True)
class Held:
    """neurons (g,): those that are held where they are; basis (g, r, r): of the spaces along their spheres, as columns;
    share (g, r): how much of their motion along each is taken away, from 0 to 1."""

    neurons: Integers
    basis: Floats
    share: Floats

    @classmethod
    def of(cls, system: System, state: State, view: View, turn: Floats) -> Held | None:
        """turn (m,): what a step multiplies the forces by; None where no neuron turns fast, or where
        that is too large a problem."""
        if system.degree == 1 or state.weight is None:
            return None
        fast = np.abs(turn) * curvature(system, view.projection, state.weight)
        neurons = np.flatnonzero((fast > FAST) & (fast < LIGHT))
        if not 0 < len(neurons) * state.direction.shape[1] ** 2 <= NUMBERS:
            return None
        direction, projection, turn = state.direction[neurons], view.projection[neurons], turn[neurons]
        pull = state.weight * system.label
        along = system.power * (view.response[neurons] @ pull)
        bent = _bend(system, projection) * pull
        force = np.einsum("gi,ia,ib->gab", bent, system.inputs, system.inputs, optimize=True)
        sphere = np.eye(direction.shape[1]) - direction[:, :, None] * direction[:, None, :]
        slid = (view.slope[neurons] * projection) @ pull - along
        back = turn[:, None, None] * (slid[:, None, None] * sphere - sphere @ force @ sphere)
        size, basis = np.linalg.eigh(back)
        size = np.maximum(size, 0.0)
        return cls(neurons, basis, size / (1 + np.maximum(turn * along, 0.0)[:, None] + size))

    def moved(self, force: Floats) -> Floats:
        """(m, r): the forces, of these neurons without what they are held back by"""
        force, chosen = force.copy(), force[self.neurons]
        parts = np.einsum("gab,ga->gb", self.basis, chosen) * self.share
        force[self.neurons] = chosen - np.einsum("gab,gb->ga", self.basis, parts)
        return force

    def taken(self, gradients: Floats) -> Floats:
        """(s, s): products of the gradients (g, s, r) of samples in these neurons, of what is taken away"""
        parts = (gradients @ self.basis) * np.sqrt(self.share)[:, None, :]
        flat = parts.transpose(1, 0, 2).reshape(parts.shape[1], -1)
        return np.asarray(flat @ flat.T)


def forces(system: System, direction: Floats, projection: Floats, weight: Floats, gate: Floats) -> Floats:
    """(m, r): H_j = sum_i lambda_i y_i grad h(w_j, x_i) at |w_j| = 1"""
    pull = weight * system.label
    force = (gate * pull) @ system.inputs
    if system.degree == 1:
        return np.asarray(force)
    response, _ = system.response(projection)
    along = (system.power * response - gate * projection) @ pull
    return np.asarray(force + along[:, None] * direction)


def curvature(system: System, projection: Floats, weight: Floats) -> Floats:
    """(m,): a bound of how fast the force on a neuron changes with its direction"""
    _, slope = system.response(projection)
    return np.asarray((_bend(system, projection) + slope) @ weight)


def _bend(system: System, projection: Floats) -> Floats:
    """k''(s)"""
    positive = np.where(projection > 0, np.maximum(projection, FLAT), 0.0)
    power = np.power(positive, system.degree - 2, where=positive > 0, out=np.zeros_like(positive))
    return np.asarray(system.degree * (system.degree - 1) * power)


def turned(
    system: System, start: Floats, projection: Floats, weight: Floats, force: Floats, turn: Floats, held: Held | None
) -> tuple[Floats, Floats, Floats]:
    """(directions (m, r), by how much log|w_j| has grown, means of <H_j, u_j>) where w_j' = turn_j H_j for a time of 1
    with |w_j| = 1 at its start, and the samples' weights stay as they are."""
    moved = start + turn[:, None] * (force if held is None else held.moved(force))
    norm = np.linalg.norm(moved, axis=1)
    direction, grown = moved / norm[:, None], np.log(norm)
    along = (force * start).sum(axis=1)
    if system.degree != 1 and system.power == 1:
        light = np.abs(turn) * curvature(system, projection, weight) >= LIGHT
        if light.any():
            direction[light], grown[light], along[light] = _in_parts(system, start[light], weight, turn[light])
    return direction, grown, along


def _in_parts(system: System, start: Floats, weight: Floats, turn: Floats) -> tuple[Floats, Floats, Floats]:
    """The same for light neurons: they come to rest, or grow until they turn slowly."""
    direction, grown, total = start.copy(), np.zeros(len(turn)), np.zeros(len(turn))
    left = np.ones(len(turn))
    for _ in range(PARTS):
        projection = direction @ system.inputs.T
        _, slope = system.response(projection)
        force = forces(system, direction, projection, weight, slope)
        along = (force * direction).sum(axis=1)
        speed = turn * np.exp(-grown)
        part = np.minimum(left, CALM / np.maximum(np.abs(speed) * curvature(system, projection, weight), CALM))
        moved = direction + (part * speed)[:, None] * force
        norm = np.linalg.norm(moved, axis=1)
        direction, grown, total, left = moved / norm[:, None], grown + np.log(norm), total + part * along, left - part
        if not left.any():
            break
    return direction, grown + np.log(np.maximum(1 + left * speed * along, LEFT)), total + left * along
