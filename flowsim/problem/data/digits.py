"""Handwritten digits, 8 x 8 pixels, that ship with scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.streams import stream
from ...scenario import Scenario
from ...scenario.data import DIGITS, Digits, norm_of
from .samples import Samples
from .split import check_kept, split


def draw(scenario: Scenario, sibling: Samples | None) -> Samples:
    """The training set of a ``digits`` scenario: a digit is a cluster, its mean the centre, its parity the label.

    Centring and scaling are by the images that are trained on; those held out are moved with them.
    """
    data = scenario.data
    assert isinstance(data, Digits)
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        needs = "needs scikit-learn, which is not installed; pip install 'flowsim[learn]'"
        raise scenario.error(("data.kind", needs)) from None
    split_off = data.test is not None and data.test.fraction is not None
    if sibling is not None and data.samples is None and not split_off:
        return sibling
    inputs, digit = load_digits(return_X_y=True)
    if data.samples is not None:
        chosen = _stratified(digit, data.samples, stream(scenario.single_seed, "data.samples"))
        inputs, digit = inputs[chosen], digit[chosen]
    rows, held_out = split(scenario, len(inputs))
    check_kept(scenario, digit, digit[rows])
    if data.center:
        inputs = inputs - inputs[rows].mean(axis=0)
    inputs = inputs * (norm_of(data.radius, inputs.shape[1]) / np.linalg.norm(inputs[rows], axis=1).mean())
    member = digit[rows] == np.arange(DIGITS)[:, None]
    centers = member @ inputs[rows] / member.sum(axis=1, keepdims=True)
    samples = _supervised(data, inputs[rows], digit[rows], centers)
    if not split_off:
        return samples
    return replace(samples, test=_supervised(data, inputs[held_out], digit[held_out], centers))


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


def _stratified(digit: Integers, samples: int, generator: np.random.Generator) -> Integers:
    """Indices of so many images in their own order, each digit with its share of all images up to less than one image."""
    quota = samples * np.bincount(digit) / len(digit)
    sizes = np.floor(quota).astype(np.int64)
    sizes[np.argsort(sizes - quota, kind="stable")[: samples - sizes.sum()]] += 1
    order = generator.permutation(len(digit))
    chosen = [order[digit[order] == value][:size] for value, size in enumerate(sizes)]
    return np.sort(np.concatenate(chosen))
