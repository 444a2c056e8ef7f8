"""KKT points that were found, each once: as a network of as few neurons as make the same function."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats, Integers
from ...observe import Setting
from ...problem import Problem, Reduced, Weights, reduce
from .certificate import Network, residuals
from .point import FOUND, SUPPORT, Point
from .state import System

#: Neurons of one sign are one past this cosine; a neuron is at a sample's kink below this one.
PARALLEL, AT_KINK = 1 - 1e-12, 1e-9
#: Two KKT points are one where their outputs at so many points differ by less than this part.
POINTS, SAME = 64, 1e-6


@dataclass(frozen=True)
class Found:
    """point: of living neurons, no two of one direction and sign; setting: that of a network of so many. origin: "flow",
    "start", "pattern" or "optimum", whichever was first; width: the narrowest network that it was found with; times: how
    often. outputs (p,): at random points."""

    point: Point
    setting: Setting
    origin: str
    width: int
    outputs: Floats
    times: int = 1

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.point.network.flat(self.setting.problem)))

    @property
    def margin(self) -> float:
        """The normalised margin, 1 / |theta|^L."""
        return float(self.norm**-self.setting.problem.total_degree)

    @property
    def repelled(self) -> int:
        """Pairs of a neuron at its kink and a sample that pulls it off, to either side: no flow stays there."""
        if self.point.gate is None:
            return 0
        reduced, network = self.setting.reduced, self.point.network
        length = np.linalg.norm(network.hidden, axis=1)[:, None] * np.linalg.norm(reduced.inputs, axis=1)
        at_kink = np.abs(network.hidden @ reduced.inputs.T) <= AT_KINK * length
        pulls = self.point.multiplier > SUPPORT * self.point.multiplier.max()
        slope = self.setting.problem.activation.inactive_slope
        return int((at_kink & pulls & (reduced.targets * network.output[:, None] > 0)).sum()) if slope < 1 else 0


class Collection:
    """KKT points of one problem that differ as functions."""

    def __init__(self, reduced: Reduced, generator: np.random.Generator):
        self.reduced = reduced
        self.found: list[Found] = []
        self._settings: dict[int, Setting] = {}
        points = generator.standard_normal((POINTS, len(reduced.inputs))) @ reduced.inputs
        self._points = points / np.linalg.norm(points, axis=1, keepdims=True)

    def setting(self, width: int) -> Setting:
        """The problem for a network of another width."""
        if width not in self._settings:
            problem = self.reduced.problem
            direction, zeros = np.eye(1, problem.features + problem.bias).repeat(width, axis=0), np.zeros(width)
            weights = Weights.exactly(direction, zeros, zeros + 1.0, zeros, bias=problem.bias)
            kept = {"project": self.reduced.projected, "merge": self.reduced.merged > 0}
            self._settings[width] = Setting(reduce(replace(problem, weights=weights), sibling=self.reduced, **kept))
        return self._settings[width]

    def add(self, point: Point, origin: str, width: int) -> bool:
        """Whether it is a KKT point, and another function than those that are there."""
        merged = _merged(point, self.reduced.problem)
        setting = self.setting(len(merged.network.output))
        conditions = residuals(merged.network, setting.reduced, merged.multiplier, merged.gate)
        if max(conditions.values()) > FOUND:
            return False
        merged = replace(merged, conditions=conditions)
        outputs = _outputs(merged.network, System.of(setting.reduced), self._points)
        for place, other in enumerate(self.found):
            if np.linalg.norm(outputs - other.outputs) <= SAME * np.linalg.norm(other.outputs):
                self.found[place] = replace(other, times=other.times + 1, width=min(width, other.width))
                return False
        self.found.append(Found(merged, setting, origin, width, outputs))
        return True


def _merged(point: Point, problem: Problem) -> Point:
    """The same function with one neuron for all of a direction and sign, and none that is dead."""
    norm, output = np.linalg.norm(point.network.hidden, axis=1), point.network.output
    lives = np.flatnonzero((norm > 0) & (output != 0))
    if problem.activation.homogeneity != 1:  # two of one direction have another norm than one
        return _of_neurons(point, lives, Network(point.network.hidden[lives], output[lives]))
    unit, sign = point.network.hidden[lives] / norm[lives, None], np.sign(output[lives])
    alike = (unit @ unit.T > PARALLEL) & (sign[:, None] == sign)
    first = np.unique(alike.argmax(axis=1))
    root = np.sqrt(alike[first] @ (norm * np.abs(output))[lives])
    return _of_neurons(point, lives[first], Network(root[:, None] * unit[first], sign[first] * root))


def _of_neurons(point: Point, chosen: Integers, network: Network) -> Point:
    gate = None if point.gate is None else point.gate[chosen]
    ones = np.ones(len(chosen))
    return replace(point, network=network, gate=gate, alive=ones > 0, exponent=ones)


def _outputs(network: Network, system: System, points: Floats) -> Floats:
    norm = np.linalg.norm(network.hidden, axis=1)
    response, _ = system.response((network.hidden / norm[:, None]) @ points.T)
    return np.asarray((network.output * norm**system.power) @ response)
