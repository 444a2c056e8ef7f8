"""Rows that are moved towards the clusters' centres."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...arrays import Floats, Integers
from ..drawing import Drawing
from ..samples import Samples
from ..section import Fraction
from ..streams import stream
from . import INITS, Isotropic


class Nudged(Isotropic):
    """The gaussian shape, each neuron moved towards a centre drawn at random."""

    around_centers: ClassVar[bool] = True

    shape: Literal["nudged"]
    nudge: Fraction = Field(0.05, description="w <- w + nudge (mu - w), the centre mu stretched to the norm of w")
    toward: Literal["any", "own"] = Field(
        "any", description='"any" draws mu from all centres; "own" takes those of the neuron\'s own sign in turn'
    )

    @property
    def by_sign(self) -> bool:
        return self.toward == "own"

    def of_normal(self, rows: Floats, entries: int) -> Floats:
        return rows

    def moved(self, rows: Floats, sign: Floats, samples: Samples, scenario: Drawing) -> Floats:
        """w <- w + nudge (mu - w), mu a centre drawn at random (Min & Vidal 2025, Appendix B.1), at each neuron's scale.

        mu is stretched to the neuron's norm: the paper's non-degeneracy gap of about `nudge` comes about only where both
        have the same norm; against a gaussian row, sqrt(d) times longer, a unit centre would change nothing. With the
        neurons' signs, mu is one of those with the label of the neuron's sign.
        """
        if not len(samples.centers):
            raise scenario.error(("init.shape", '"nudged" needs cluster centres, which this table does not have'))
        length = np.linalg.norm(samples.centers, axis=1, keepdims=True)
        if not length.all():
            raise scenario.error(("init.shape", '"nudged" needs centres to move to; this table has one at the origin'))
        if self.by_sign:
            chosen = _own(sign, samples, scenario)
        else:
            chosen = stream(scenario.single_seed, "initialisation.nudge").integers(len(samples.centers), size=len(rows))
        features = samples.centers.shape[1]
        toward = (samples.centers / length)[chosen]
        moved = (1 - self.nudge) * rows
        moved[:, :features] += self.nudge * np.linalg.norm(rows, axis=1, keepdims=True) * toward
        return moved


def _own(sign: Floats, samples: Samples, scenario: Drawing) -> Integers:
    """(m,): for every neuron a centre with the label of its sign, each centre in turn."""
    chosen = np.zeros(len(sign), dtype=np.int64)
    for label in (1, -1):
        neurons, own = np.flatnonzero(sign == label), np.flatnonzero(samples.cluster_label == label)
        if len(neurons) and not len(own):
            wrong = f'"own" needs a centre labelled {label:+d}, for the neurons of that sign'
            raise scenario.error(("init.toward", wrong))
        chosen[neurons] = np.resize(own, len(neurons))
    return chosen


INITS.register("nudged", Nudged)
