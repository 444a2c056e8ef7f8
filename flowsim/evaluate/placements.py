"""Images made of filters of a first layer, placed at any pixel: the transpose of a convolution as a dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from ..arrays import Floats
from ..kinds.convolutional import square
from ..observe import Setting
from ..scenario import Scenario
from ..solve import Snapshot

#: Steps of Lasso's solver for each penalty, at most, and the relative change of the coefficients that ends it before.
STEPS, SETTLED = 200, 1e-4
#: Rounds of power iteration for the largest singular value, which is then taken as this much larger.
ROUNDS, SPARE = 30, 1.02


@dataclass(frozen=True)
class Placements:
    """filters (p, channels, k, k), each of norm 1, k odd; image: (channels, height, width). What of a
    placed filter lies outside of the image is cut off."""

    filters: Floats
    image: tuple[int, int, int]

    @classmethod
    def of(cls, scenario: Scenario, setting: Setting, snapshot: Snapshot) -> Placements | None:
        """Of the first layer at an instant; None of networks whose first layer has no filters."""
        network, features = setting.problem.network, setting.problem.features
        if network is None or network.neurons is not None or len(network.leaves[0].shape) != 4:
            return None
        _, channels, *kernel = network.leaves[0].shape
        image = getattr(scenario.model, "image", None) or square(features)
        if image is None or image[0] != channels or kernel[0] != kernel[1] or kernel[0] % 2 == 0:
            return None
        filters = snapshot.leaves[0]
        size = np.linalg.norm(filters.reshape(len(filters), -1), axis=1)
        return cls(filters[size > 0] / size[size > 0, None, None, None], image)

    @property
    def count(self) -> int:
        """Of the features: filters times pixels."""
        return len(self.filters) * self.image[1] * self.image[2]

    def measured(self, moves: Floats, penalties: Floats) -> tuple[Floats, Floats]:
        """(density (penalties,), residual (penalties,)) of moves (n, d) of norm 1, in their mean"""
        found = np.empty((2, len(penalties)))
        coefficients = np.zeros((len(moves), len(self.filters), *self.image[1:]))
        for place in np.argsort(-penalties):  # from what is nearly 0, on
            coefficients = self._reconstructed(moves, float(penalties[place]), coefficients)
            left = self.composed(coefficients) - moves
            found[:, place] = (coefficients != 0).sum() / (self.count * len(moves)), (left**2).sum(axis=1).mean()
        return found[0], found[1]

    def made(self, images: Floats, penalty: float) -> Floats:
        """(n, d): what the features make of images (n, d) with as few of them as the penalty has it"""
        nothing = np.zeros((len(images), len(self.filters), *self.image[1:]))
        return self.composed(self._reconstructed(images, penalty, nothing))

    def composed(self, coefficients: Floats) -> Floats:
        """(n, d): the images that coefficients (n, p, height, width) make"""
        channels, height, width = self.image
        parts = np.einsum("pk,nphw->nkhw", self._flat, coefficients, optimize=True)
        parts = parts.reshape(len(parts), channels, self._side, self._side, height, width)
        around = np.zeros((len(parts), channels, height + self._side - 1, width + self._side - 1))
        for down in range(self._side):
            for right in range(self._side):
                around[:, :, down : down + height, right : right + width] += parts[:, :, down, right]
        rim = self._side // 2
        return around[:, :, rim : rim + height, rim : rim + width].reshape(len(parts), -1)

    def products(self, images: Floats) -> Floats:
        """(n, p, height, width): of images (n, d) with each feature, the transpose of `composed`"""
        channels, height, width = self.image
        rim = self._side // 2
        around = np.pad(images.reshape(-1, *self.image), ((0, 0), (0, 0), (rim, rim), (rim, rim)))
        parts = np.empty((len(images), channels, self._side, self._side, height, width))
        for down in range(self._side):
            for right in range(self._side):
                parts[:, :, down, right] = around[:, :, down : down + height, right : right + width]
        return np.einsum("pk,nkhw->nphw", self._flat, parts.reshape(len(images), -1, height, width), optimize=True)

    def _reconstructed(self, moves: Floats, penalty: float, start: Floats) -> Floats:
        """The minimisers of |composed(y) - move|^2 + penalty |y|_1, by the method of Beck & Teboulle (2009)."""
        y, ahead, momentum = start, start, 1.0
        for _ in range(STEPS):
            moved = ahead - 2 * self._step * self.products(self.composed(ahead) - moves)
            new = np.sign(moved) * np.maximum(np.abs(moved) - self._step * penalty, 0)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * (new - y)
            change, y, momentum = np.linalg.norm(new - y), new, following
            if change <= SETTLED * np.linalg.norm(y):
                break
        return y

    @cached_property
    def _step(self) -> float:
        """One over the largest curvature of the squares."""
        image = np.random.default_rng(0).standard_normal((1, prod(self.image)))
        for _ in range(ROUNDS):
            image = self.composed(self.products(image))
            size = np.linalg.norm(image)
            image /= size
        return float(1 / (2 * SPARE * size))

    @cached_property
    def _flat(self) -> Floats:
        """(p, channels k k)"""
        return self.filters.reshape(len(self.filters), -1)

    @property
    def _side(self) -> int:
        return self.filters.shape[-1]
