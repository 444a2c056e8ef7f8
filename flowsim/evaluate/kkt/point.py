"""The KKT point beside where the asymptotic flow is, in the units of the data, and what can be said of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...problem import Reduced
from .asymptotic import TINY, Pull
from .certificate import Network, residuals
from .piecewise import GROWS, solve
from .smooth import polish
from .state import State, System, View
from .turning import curvature, forces

#: A network whose conditions are met to this is a KKT point.
FOUND = 1e-8
#: A KKT point of a smooth activation is looked for once the flow's distance is below this.
NEAR = 0.03
#: There, a sample's weight is to be at least this part of the largest for a start in the support, and a neuron's share of
#: |theta|^2 at least this for weights of its own.
STARTS, WEAKEST = 1e-6, 1e-20
#: Neurons of a smooth activation have the same direction past this cosine.
PARALLEL = 1 - 1e-6
#: Living ones that are so near are one to begin with.
TOGETHER = 1 - 1e-4
#: A KKT point is a saddle if |theta|^2/2 has a curvature below this, negative, where all margins of the support stay.
CURVED = 1e-6
#: Turns of a dead neuron towards what pulls at it, until it moves by no more than this.
TURNS, STILL = 1000, 1e-12
#: A sample is in the support if its multiplier is at least this part of the largest.
SUPPORT = 1e-9


@dataclass(frozen=True)
class Point:
    """network: at smallest margin 1; multiplier (n',); gate (m, n'): slopes, None where the activation has no kink.
    conditions: as :func:`flowsim.evaluate.kkt.certificate.residuals` says. alive (m,): the neurons that do not die;
    exponent (m,): of |theta| in each neuron's growth, 1 for those. freedom: the dimension of the continuum of KKT
    points that it belongs to, 0 of an isolated one. strictness: how far the nearest of all inequalities is from being
    an equation. settled: whether nothing was left to be changed; rounds: guesses of sets that it took. saddle: whether
    there is a shorter network nearby."""

    network: Network
    multiplier: Floats
    gate: Floats | None
    conditions: dict[str, float]
    alive: Booleans
    exponent: Floats
    freedom: int
    strictness: float
    settled: bool
    rounds: int
    saddle: bool = False

    @property
    def residual(self) -> float:
        return max(self.conditions.values())

    @property
    def certified(self) -> bool:
        """Whether all conditions are met."""
        return self.settled and self.residual <= FOUND

    @property
    def attracts(self) -> bool:
        """Whether every dead neuron falls behind, and no network nearby has a larger margin."""
        return not self.saddle and bool((self.exponent[~self.alive] < 1).all())


def beside(reduced: Reduced, system: System, state: State, pull: Pull) -> Point | None:
    """The KKT point that the state's sets belong to, as they are or as the conditions want them; None where they show
    none."""
    try:
        return (_piecewise if system.degree == 1 else _smooth)(reduced, system, state, pull)
    except np.linalg.LinAlgError:
        return None


def _piecewise(reduced: Reduced, system: System, state: State, pull: Pull) -> Point:
    longest = float(np.linalg.norm(reduced.inputs, axis=1).max())
    sign = state.sizes.output_sign
    fixed = None if system.trained else np.exp(2 * state.sizes.output_log)
    found = solve(system, state, pull, fixed)
    size = np.linalg.norm(found.pull, axis=1)
    if fixed is None:
        root = np.sqrt(found.strength / longest)
        network, multiplier = Network(root[:, None] * found.pull, sign * root), found.multiplier / longest
        alive = found.sets.alive
    else:
        root = np.sqrt(fixed)
        network = Network((root / longest)[:, None] * found.pull, sign * root)
        multiplier, alive = found.multiplier / longest**2, size > 0
    slope = system.slope
    # a neuron that is 0 has any gates
    there = np.linalg.norm(network.hidden, axis=1)[:, None] > 0
    gate = np.where(there, np.clip(found.gate, slope, 1.0), slope)
    inside = np.minimum(1 - gate, gate - slope)[found.sets.sliding & there]
    held = ~found.sets.sliding & found.sets.support & (size > 0)[:, None]
    away = (np.abs(found.pull @ system.inputs.T) / np.where(size > 0, size, 1.0)[:, None])[held & system.kinked]
    exponent = np.where(alive, 1.0, size if fixed is None else 0.0)
    sides = min(float(inside.min(initial=np.inf)), float(away.min(initial=np.inf)))
    slack = min(sides, _slack(reduced, network, multiplier, exponent[~alive]))
    conditions = residuals(network, reduced, multiplier, gate)
    return Point(
        network, multiplier, gate, conditions, alive, exponent, found.freedom, slack, found.settled, found.rounds
    )


def _smooth(reduced: Reduced, system: System, state: State, pull: Pull) -> Point | None:
    view = View.of(system, state)
    large = view.log_share > np.log(WEAKEST)
    # where output weights are fixed, a neuron that is small may yet grow
    alive = (pull.exponent > GROWS) & large if system.trained else (pull.exponent > GROWS) | large
    if pull.distance > NEAR or not alive.any():
        return None
    direction, grown = _turned(system, state, view, pull)
    parts = _Parts.of(system, state, view, alive)
    start = parts.network
    margin = float(start.margins(reduced).min())
    if not margin > 0:
        return None
    scale = margin ** (-1 / system.homogeneity)
    start = Network(start.hidden * scale, start.output * scale if system.trained else start.output)
    size = float(np.linalg.norm(start.flat(reduced.problem)))
    weight = pull.weight * size**2 / system.homogeneity
    several = np.bincount(parts.group) > 1
    found = polish(start, reduced, weight, weight > STARTS * weight.max(), several)
    network, multiplier = parts.whole(found.network, system, view), found.multiplier
    # what comes to the direction of a living neuron keeps its share, however small that is
    sign = state.sizes.output_sign
    beside = (direction @ direction[alive].T > PARALLEL) & (sign[:, None] * sign[alive] > 0)
    freedom = found.freedom + (int(alive.sum()) - len(start.output) if system.trained else 0)
    alive = alive | (beside.any(axis=1) & ~large)
    exponent = np.where(alive, 1.0, grown)
    slack = _slack(reduced, network, multiplier, exponent[~alive])
    conditions = residuals(network, reduced, multiplier, None)
    saddle = found.curvature < -CURVED
    return Point(
        network,
        multiplier,
        None,
        conditions,
        alive,
        exponent,
        freedom,
        slack,
        found.settled,
        found.rounds,
        saddle,
    )


@dataclass(frozen=True)
class _Parts:
    """Living neurons of the same direction as one: network (k neurons): these, at |theta| = 1; group (l,): which of them
    each living neuron belongs to; alive (m,); part (l,): of its hidden weights that are its own."""

    network: Network
    group: Integers
    alive: Booleans
    part: Floats

    @classmethod
    def of(cls, system: System, state: State, view: View, alive: Booleans) -> _Parts:
        lives = np.flatnonzero(alive)
        sign = state.sizes.output_sign[lives]
        if system.power != 1:
            own = Network(view.norm[lives, None] * state.direction[lives], view.output[lives])
            return cls(own, np.arange(len(lives)), alive, np.ones(len(lives)))
        unit, group = state.direction[lives], np.full(len(lives), -1)
        count = 0
        while (group < 0).any():
            first = int(np.argmax(group < 0))
            group[(group < 0) & (unit @ unit[first] > TOGETHER) & (sign == sign[first])] = count
            count += 1
        size = np.sqrt(view.norm[lives] * np.abs(view.output[lives])) if system.trained else np.abs(view.output[lives])
        total = np.sqrt(np.bincount(group, size**2))
        named = np.unique(group, return_index=True)[1]
        hidden = total if system.trained else np.bincount(group, size * view.norm[lives]) / total
        whole = Network(hidden[:, None] * unit[named], sign[named] * total)
        return cls(whole, group, alive, size / total[group])

    def whole(self, found: Network, system: System, view: View) -> Network:
        """All neurons, 0 those that are dead, where these are `found`."""
        hidden = np.zeros((len(self.alive), found.hidden.shape[1]))
        output = np.zeros(len(self.alive)) if system.trained else view.output.copy()
        hidden[self.alive] = found.hidden[self.group] * self.part[:, None]
        if system.trained:
            output[self.alive] = found.output[self.group] * self.part
        return Network(hidden, output)


def _turned(system: System, state: State, view: View, pull: Pull) -> tuple[Floats, Floats]:
    """(directions (m, r) that neurons turn to while the samples' weights stay as they are, exponents (m,) of growth)"""
    direction, sign = state.direction, state.sizes.output_sign
    if system.power != 1:
        return direction, pull.exponent
    factor = system.homogeneity * pull.margin
    for _ in range(TURNS):
        projection = direction @ system.inputs.T
        _, slope = system.response(projection)
        force = sign[:, None] * forces(system, direction, projection, pull.weight, slope) / factor
        exponent = (force * direction).sum(axis=1)
        bound = 1 + curvature(system, projection, pull.weight) / factor
        moved = direction + force / bound[:, None]
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        apart = float(np.abs(moved - direction).max())
        direction = moved
        if apart <= STILL:
            break
    if not system.trained:
        exponent = exponent * np.abs(view.output) / np.maximum(view.norm, TINY)
    return direction, exponent


def _slack(reduced: Reduced, network: Network, multiplier: Floats, dead: Floats) -> float:
    """By how much multipliers of the support, margins of the others and exponents of the dead keep from the border."""
    support = multiplier > SUPPORT * multiplier.max()
    return min(
        float((multiplier[support] / multiplier.max()).min()),
        float((network.margins(reduced)[~support] - 1).min(initial=np.inf)),
        float((1 - dead).min(initial=np.inf)),
    )
