"""Four clusters whose labels no linear classifier tells apart (Frei, Chatterji & Bartlett 2022, Section 2.1)."""

from __future__ import annotations

import numpy as np

from ...kinds.streams import stream
from ...scenario import Scenario
from ...scenario.data import Xor, norm_of
from .clusters import frame, samples_around
from .samples import Samples


def draw(scenario: Scenario, sibling: Samples | None) -> Samples:
    """The training set of an ``xor`` scenario; its centres are mu_1, -mu_1, mu_2, -mu_2."""
    data, seed = scenario.data, scenario.single_seed
    assert isinstance(data, Xor)
    first, second = norm_of(data.radius, data.dimension) * frame(
        2, data.dimension, data.basis, stream(scenario.distribution_seed, "centers")
    )
    centers = np.stack([first, -first, second, -second])
    return samples_around(centers, np.array([1, 1, -1, -1]), data, seed, data.law)
