"""How much work a problem is, so that what takes too long is known before it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..kinds.network import Network
from ..scenario import Scenario
from .reduction import Reduced

#: Operations that a core is reckoned to do in a second, and the seconds of an evaluation beside them.
SPEED, BESIDE = 3e9, 2e-5
#: Operations for each coordinate of a sample that is moved.
MOVED = 100
#: Operations of a gradient for each of those that are counted of a network's value.
OF_GRADIENT = 3


@dataclass(frozen=True)
class Part:
    """Some of the time that a run takes. name: of the stage, or of what [evaluate] asks for. keys: those whose values
    multiply it, the one to lower being the largest."""

    name: str
    operations: float
    seconds: float
    keys: dict[str, float]

    @property
    def key(self) -> str:
        return max(self.keys, key=self.keys.__getitem__)


@dataclass(frozen=True)
class Work:
    """span: dimensions of the space in which alone a move of a sample moves the network. operations: of a gradient over all
    samples. first: of the products of a single sample with the first layer, that of a network of images placed at every
    pixel. layers: that are hidden. speed: operations in a second."""

    samples: int
    features: int
    span: int
    operations: float
    first: float
    layers: int
    speed: float = SPEED

    @classmethod
    def of(cls, reduced: Reduced) -> Work:
        problem, (samples, features) = reduced.problem, reduced.stored.shape
        neurons, network = len(reduced.direction), problem.network
        operations, first, span = float(reduced.operations), 2.0 * neurons * features, min(neurons, features)
        if network is not None and not problem.has_neurons:
            from ..kinds.trees import operations_of_one  # with JAX, which other networks do without

            operations = max(operations, OF_GRADIENT * samples * operations_of_one(network))
            first, span = _first(network), features
        layers = 1 if network is None else sum(len(leaf.shape) > 1 for leaf in network.leaves) - 1
        return cls(samples, features, span, operations, first, max(layers, 1))

    @classmethod
    def of_drawn(cls, scenario: Scenario) -> Work:
        """Of data that are not there yet, but whose section says how many are to be drawn."""
        neurons = scenario.model.neurons if scenario.model.has_neurons else 1
        samples = int(getattr(scenario.data, "samples", None) or 0)
        features = scenario.data.stored_features(neurons) or 0
        seen = min(features, samples + 1)
        return cls(samples, seen, min(seen, neurons), 4.0 * samples * seen * neurons, 2.0 * neurons * seen, 1)

    @property
    def of_one(self) -> float:
        """Operations of a gradient at a single sample."""
        return self.operations / max(self.samples, 1)

    @property
    def of_move(self) -> float:
        """Operations of a gradient at a single sample that is moved within the span."""
        return self.of_one * self.span / max(self.features, 1) + MOVED * self.span

    def gradients(self, name: str, count: float, samples: float, keys: dict[str, float]) -> Part:
        """So many gradients, one after the other, each over so many samples."""
        return self.part(name, count * samples * self.of_one, count * BESIDE, keys)

    def part(self, name: str, operations: float, beside: float, keys: dict[str, float]) -> Part:
        """beside: seconds that are not those of operations."""
        return Part(name, operations, operations / self.speed + beside, keys)


def _first(network: Network) -> float:
    """Of a single sample: filters of images see every pixel."""
    leaf = network.leaves[0]
    pixels = math.prod(network.input_shape) / leaf.shape[1] if len(leaf.shape) == 4 else 1
    return 2.0 * leaf.size * pixels
