"""Handwritten digits, 8 x 8 pixels, that ship with scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats, Integers
from ..clusters import Radius, norm_of
from ..drawing import Drawing
from ..partition import Fine, Named, broken_fine, broken_names, labels, with_coarse
from ..samples import Samples, Supervision
from ..section import refuse
from ..split import check_kept, shares, split, subset
from ..streams import stream
from ..tables import means
from . import DATA, DataSection, Test, broken_test

DIGITS = 10
DIGIT_IMAGES = 1797
EVEN = (0, 2, 4, 6, 8)


class Digits(DataSection):
    """Handwritten digits of scikit-learn, 8 x 8 pixels. A digit is a cluster."""

    of_images: ClassVar[bool] = True

    kind: Literal["digits"]
    samples: int | None = Field(
        None,
        ge=DIGITS,
        le=DIGIT_IMAGES,
        description=f"number of images, a random subset that keeps every digit's share; all {DIGIT_IMAGES} unless given",
    )
    center: bool = Field(False, description="subtract the mean of the samples")
    radius: Radius = Field("sqrt_dimension", description='mean norm of the samples, or "sqrt_dimension", which is 8')
    positive: Named = Field(EVEN, description="the digits labelled +1, the others are -1; even ones unless given")
    supervision: Supervision = "class"
    fine: Fine = None
    test: Test = None

    @property
    def clusters(self) -> int:
        """Those of coarse labels among them"""
        return DIGITS + (len(set(self.cluster_label.tolist())) if self.fine is not None else 0)

    @property
    def cluster_label(self) -> Integers:
        """(10,): of the digits"""
        return labels(self.positive, DIGITS)

    @model_validator(mode="after")
    def _rules(self) -> Digits:
        refuse(
            chain(broken_test(self), broken_names(self.positive, DIGITS, ()), broken_fine(self.fine, self.supervision))
        )
        return self

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """A digit is a cluster, its mean the centre.

        Centring and scaling are by the images that are trained on; those held out are moved with them.
        """
        try:
            from sklearn.datasets import load_digits
        except ImportError:
            needs = "needs scikit-learn, which is not installed; pip install 'flowsim[learn]'"
            raise scenario.error(("data.kind", needs)) from None
        split_off = self.test is not None and self.test.fraction is not None
        if sibling is not None and self.samples is None and not split_off:
            return sibling
        inputs, digit = load_digits(return_X_y=True)
        if self.samples is not None:
            chosen = subset(digit, shares(digit, self.samples), stream(scenario.single_seed, "data.samples"))
            inputs, digit = inputs[chosen], digit[chosen]
        rows, held_out = split(self.test, scenario, len(inputs))
        check_kept(scenario, digit, digit[rows])
        if self.center:
            inputs = inputs - inputs[rows].mean(axis=0)
        inputs = inputs * (norm_of(self.radius, inputs.shape[1]) / np.linalg.norm(inputs[rows], axis=1).mean())
        cluster, label = digit[rows].astype(np.int64), self.cluster_label
        if self.fine is not None:
            cluster, label = with_coarse(cluster, label, self.fine, stream(scenario.single_seed, "data.fine"))
            if len(label) < self.clusters:
                raise scenario.error(("data.fine", f"{self.fine:g} leaves no sample of one label to the coarse ones"))
        centers = means(inputs[rows], cluster)
        samples = _supervised(self, inputs[rows], cluster, centers, label)
        if not split_off:
            return samples
        return replace(samples, test=_supervised(self, inputs[held_out], digit[held_out], centers, label))


DATA.register("digits", Digits)


def _supervised(data: Digits, inputs: Floats, cluster: Integers, centers: Floats, cluster_label: Integers) -> Samples:
    return Samples.supervised(
        data.supervision,
        inputs=inputs,
        label=cluster_label[cluster].astype(float),
        sample_cluster=cluster.astype(np.int64),
        centers=centers,
        cluster_label=cluster_label,
    )
