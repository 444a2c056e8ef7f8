"""Samples in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import Issue, ScenarioError, UsageError
from .files import numbers
from .tables import means, problems


@dataclass(frozen=True, eq=False)
class Data:
    """Samples for :func:`flowsim.run` and :func:`flowsim.build`, in place of those that a scenario speaks of.

    x (samples, features). y (samples,): labels +1/-1, or any targets of the square loss, which for networks of several
    outputs may be vectors (samples, k). cluster (samples,): the index of
    each sample's cluster, and centers (clusters, features); without centers, these are the clusters' means. test: held-out
    samples, (x, y) or (x, y, cluster). Anything that NumPy makes an array of; it is copied.
    Raises ScenarioError with all that is wrong with the arrays, UsageError for what is no array of numbers.
    """

    x: Any
    y: Any
    cluster: Any = None
    centers: Any = None
    test: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        for name in ("x", "y", "cluster", "centers"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, numbers(f"Data: {name}", value))
        given = {name: getattr(self, name) for name in ("x", "y", "cluster", "centers")}
        wrong = list(problems({name: array for name, array in given.items() if array is not None}, False, True))
        if self.test is not None:
            if not isinstance(self.test, Sequence) or len(self.test) not in (2, 3):
                raise UsageError("Data: test is (x, y) or (x, y, cluster)")
            names = ("x", "y", "cluster")
            held_out = tuple(
                numbers(f"Data: test {name}", value) for name, value in zip(names, self.test, strict=False)
            )
            object.__setattr__(self, "test", held_out)
            wrong += [f"test: {text}" for text in problems(dict(zip(names, held_out, strict=False)), False, True)]
        if wrong:
            raise ScenarioError([Issue("", text, "Data") for text in wrong])

    def __repr__(self) -> str:
        clusters = "" if self.cluster is None else f", {len(np.unique(self.cluster))} clusters"
        held_out = "" if self.test is None else f", {len(self.test[0])} held out"
        return f"Data: {self.x.shape[0]} samples, {self.x.shape[1]} features{clusters}{held_out}"

    def arrays(self) -> dict[str, Floats]:
        """name -> array, as a result's group `data` has them."""
        centers = self.centers
        if centers is None and self.cluster is not None:
            centers = means(self.x, self.cluster)
        found = {"x": self.x, "y": self.y, "cluster": self.cluster, "centers": centers}
        found |= dict(zip(("test_x", "test_y", "test_cluster"), self.test or (), strict=False))
        return {name: array for name, array in found.items() if array is not None}
