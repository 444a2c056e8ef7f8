"""What becomes of samples before a gradient of descent sees them: images change at random, and noise is added."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ...kinds.augmentation import Augmentation
from ...kinds.samples import Samples
from ...kinds.streams import stream
from ...scenario import Scenario
from ...scenario.flow import Stage


class Keys(NamedTuple):
    """What is drawn from, each from a stream of its own."""

    augmentation: jax.Array
    noise: jax.Array

    @classmethod
    def of(cls, scenario: Scenario) -> Keys:
        names = ("flow.augmentation", "flow.noise")
        return cls(*(jax.random.key(stream(scenario.single_seed, name).integers(2**63)) for name in names))

    def of_gradient(self, number: jax.Array) -> Keys:
        """Those of the gradient of this number, counted from the first stage's beginning."""
        return Keys(*(jax.random.fold_in(key, number) for key in self))


class Changes(NamedTuple):
    """noise: standard deviation in each feature; draws: how many noisy copies of each sample a gradient sees."""

    augmentation: Augmentation | None
    noise: float
    draws: int

    @classmethod
    def of(cls, scenario: Scenario, samples: Samples) -> Changes:
        noise = scenario.flow.noise if isinstance(scenario.flow, Stage) else None
        deviation, draws = (0.0, 1) if noise is None else (noise.deviation, noise.draws)
        return cls(samples.augmentation, deviation, draws)

    def augmented(self, inputs: jax.Array, key: jax.Array) -> jax.Array:
        """Images (n, pixels), each moved and mirrored as chance has it."""
        if self.augmentation is None:
            return inputs
        shape, crop, flip = self.augmentation
        for_place, for_side = jax.random.split(key)
        images = inputs.reshape(-1, *shape)
        if crop:
            edges = ((0, 0), (0, 0), (crop, crop), (crop, crop))
            first = jax.random.randint(for_place, (len(images), 2), 0, 2 * crop + 1)
            images = jax.vmap(lambda image, at: jax.lax.dynamic_slice(image, (0, at[0], at[1]), shape))(
                jnp.pad(images, edges), first
            )
        if flip:
            mirrored = jax.random.bernoulli(for_side, shape=(len(images), 1, 1, 1))
            images = jnp.where(mirrored, images[..., ::-1], images)
        return images.reshape(inputs.shape)

    def noises(self, inputs: jax.Array, key: jax.Array) -> jax.Array:
        """(draws, n, r) for samples (n, r); (1, 1, 1) of 0 where there is no noise."""
        if not self.noise:
            return jnp.zeros((1, 1, 1), inputs.dtype)
        drawn = jax.random.normal(key, (self.draws, *inputs.shape))  # the same numbers in either precision
        return self.noise * drawn.astype(inputs.dtype)


def copies(inputs: jax.Array, noises: jax.Array) -> jax.Array:
    """(draws n, r): the samples (n, r) with the first noise, then those with the next."""
    return (inputs + noises).reshape(-1, inputs.shape[-1])
