"""Handwritten digits, 8 x 8 pixels, that ship with scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats, Integers
from ..clusters import Radius, norm_of
from ..drawing import Drawing
from ..samples import Samples, Supervision
from ..section import refuse
from ..split import check_kept, shares, split, subset
from ..streams import stream
from . import DATA, DataSection, Test, broken_test

DIGITS = 10
DIGIT_IMAGES = 1797


class Digits(DataSection):
    """Handwritten digits of scikit-learn, 8 x 8 pixels. A digit is a cluster; even ones are labelled +1, odd ones -1."""

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
    supervision: Supervision = "class"
    test: Test = None

    @property
    def clusters(self) -> int:
        return DIGITS

    @model_validator(mode="after")
    def _rules(self) -> Digits:
        refuse(broken_test(self))
        return self

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """A digit is a cluster, its mean the centre, its parity the label.

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
        member = digit[rows] == np.arange(DIGITS)[:, None]
        centers = member @ inputs[rows] / member.sum(axis=1, keepdims=True)
        samples = _supervised(self, inputs[rows], digit[rows], centers)
        if not split_off:
            return samples
        return replace(samples, test=_supervised(self, inputs[held_out], digit[held_out], centers))


DATA.register("digits", Digits)


def _supervised(data: Digits, inputs: Floats, digit: Integers, centers: Floats) -> Samples:
    cluster_label = np.where(np.arange(DIGITS) % 2 == 0, 1, -1)
    return Samples.supervised(
        data.supervision,
        inputs=inputs,
        label=cluster_label[digit].astype(float),
        sample_cluster=digit.astype(np.int64),
        centers=centers,
        cluster_label=cluster_label,
    )
