"""Data with the targets of a teacher."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import Field

from ..arrays import Floats
from .clusters import OwnSeed, entries
from .data import DataSection, Test
from .drawing import Drawing
from .samples import Samples, Supervision
from .section import Count
from .streams import stream


class Regression(DataSection):
    """Inputs from a law, and real targets from a teacher. A kind adds `kind`, its keys, `features` and `taught`."""

    drawn: ClassVar[bool] = True
    counted: ClassVar[bool] = False
    supervision: ClassVar[Supervision] = "class"

    samples: Count = Field(100, description="number of training samples n")
    seed: OwnSeed = None
    test: Test = None

    @property
    def real_targets(self) -> bool:
        return True

    @property
    @abstractmethod
    def features(self) -> int:
        """Numbers in one input."""

    @abstractmethod
    def taught(
        self, teacher: np.random.Generator, generator: np.random.Generator, count: int
    ) -> tuple[Floats, Floats, Floats]:
        """Inputs (count, features), targets (count,) or (count, outputs), and directions (K, features) that the teacher
        looks along and that count as centres. teacher: what the teacher is drawn from; generator: what the inputs
        are."""

    def entries(self, neurons: int) -> Mapping[str, int]:
        return entries(self.samples, self.features, self.test)

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        return self._drawn(scenario, self.samples, scenario.single_seed)

    def fresh(self, scenario: Drawing, samples: Samples, count: int, seed: int) -> Samples:
        return self._drawn(scenario, count, seed)

    def _drawn(self, scenario: Drawing, count: int, seed: int) -> Samples:
        teacher = stream(scenario.distribution_seed, "teacher")
        inputs, targets, centers = self.taught(teacher, stream(seed, "data.inputs"), count)
        return with_targets(inputs, targets, centers)


def with_targets(inputs: Floats, targets: Floats, centers: Floats | None = None) -> Samples:
    """Samples of no cluster, with these targets."""
    if centers is None:
        centers = np.zeros((0, inputs.shape[1]))
    return Samples(
        stored=inputs,
        targets=targets,
        sample_cluster=np.full(len(inputs), -1),
        centers=centers,
        cluster_label=np.ones(len(centers), dtype=np.int64),
        label=targets,
        clean_targets=targets,
    )


def rotation(generator: np.random.Generator, size: int) -> Floats:
    """(size, size): an orthogonal matrix, all of them alike."""
    drawn, upper = np.linalg.qr(generator.standard_normal((size, size)))
    return drawn * np.sign(np.diag(upper))
