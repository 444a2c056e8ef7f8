"""Four clusters whose labels no linear classifier tells apart (Frei, Chatterji & Bartlett 2022, Section 2.1)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats, Integers
from ..clusters import LAWS, Basis, Drawn, frame, norm_of, samples_around
from ..drawing import Drawing
from ..samples import Samples
from ..section import refuse
from ..streams import stream
from . import DATA


class Xor(Drawn):
    """Clusters around mu_1, -mu_1 (label +1), mu_2, -mu_2 (label -1), in this order, with orthogonal mu_1 and mu_2."""

    kind: Literal["xor"]
    dimension: int = Field(2, ge=2, description="number of features D")
    basis: Basis = Field("random", description='directions of mu_1 and mu_2: "random" or the first two "axes"')
    law: Literal["gaussian", "laplace", "uniform"] = Field(
        "gaussian",
        description="law of each coordinate of the noise, independent and with the variance that noise gives",
    )
    flips: Literal["random", "boundary", "cluster"] = Field(
        "random",
        description='whose labels label_noise flips: those of any samples, of the samples nearest to the "boundary" '
        '|<mu_1, x>| = |<mu_2, x>|, or of the first "cluster" before others',
    )

    @property
    def clusters(self) -> int:
        return 4

    @model_validator(mode="after")
    def _rules(self) -> Xor:
        refuse(self._broken_draw(self.clusters, ()))
        return self

    def noise_deviation(self) -> float:
        if self.law != "gaussian":
            raise ValueError(f'is for Gaussian noise, not data.law = "{self.law}"')
        return super().noise_deviation()

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """Its centres are mu_1, -mu_1, mu_2, -mu_2."""
        first, second = norm_of(self.radius, self.dimension) * frame(
            2, self.dimension, self.basis, stream(scenario.distribution_seed, "centers")
        )
        centers = np.stack([first, -first, second, -second])
        return self.around(centers, np.array([1, 1, -1, -1]), scenario.single_seed)

    def around(self, centers: Floats, cluster_label: Integers, seed: int) -> Samples:
        def to_boundary(inputs: Floats, cluster: Integers) -> Floats:
            along = np.abs(inputs @ centers[::2].T)
            return np.abs(along[:, 0] - along[:, 1])

        def cluster_by_cluster(inputs: Floats, cluster: Integers) -> Floats:
            return cluster.astype(float)

        first = {"random": None, "boundary": to_boundary, "cluster": cluster_by_cluster}[self.flips]
        return samples_around(centers, cluster_label, self, seed, LAWS[self.law], first)


DATA.register("xor", Xor)
