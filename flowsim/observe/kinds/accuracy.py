"""Shares of samples that are classified as they are labelled."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ..conditions import HELD_OUT, LABELLED, has_held_out_labels, has_labels
from ..instant import Instant, Setting
from ..observable import observable


def _share_right(margin: Floats, counts: Floats) -> Floats:
    """(…): the share of samples with a positive margin (…, n'); counts (n',): how many a reduced sample stands for."""
    return (margin > 0) @ counts / counts.sum()


def _has_flips(setting: Setting) -> bool:
    return has_labels(setting) and bool(setting.flips.any())


def _has_unflipped_beside_flips(setting: Setting) -> bool:
    return _has_flips(setting) and bool((setting.flips < setting.multiplicity).any())


def _decides(setting: Setting) -> bool:
    return setting.problem.loss.classes and bool((setting.problem.cluster_label != 0).all())


@observable("accuracy", (), "accuracy on the training labels", has_labels, any_network=True)
def accuracy(instant: Instant) -> Floats:
    return _share_right(instant.margin, instant.setting.multiplicity)


@observable(
    "test_accuracy",
    (),
    "accuracy on the held-out samples",
    has_held_out_labels,
    needs=f"{HELD_OUT}, with {LABELLED}",
    any_network=True,
)
def test_accuracy(instant: Instant) -> Floats:
    margin = instant.test_margin
    return _share_right(margin, np.ones(margin.shape[-1]))


@observable(
    "clean_accuracy",
    (),
    "accuracy on the samples whose label was not flipped",
    _has_unflipped_beside_flips,
    any_network=True,
)
def clean_accuracy(instant: Instant) -> Floats:
    return _share_right(instant.margin, instant.setting.multiplicity - instant.setting.flips)


@observable(
    "noisy_accuracy",
    (),
    "share of the samples with a flipped label for which the flipped label is predicted",
    _has_flips,
    any_network=True,
)
def noisy_accuracy(instant: Instant) -> Floats:
    return _share_right(instant.margin, instant.setting.flips)


@observable(
    "binary_accuracy",
    (),
    "accuracy of the sign of the positive clusters' probabilities less the negative ones'",
    _decides,
)
def binary_accuracy(instant: Instant) -> Floats:
    return _share_right(instant.binary_margin(True), instant.setting.multiplicity)


@observable(
    "binary_accuracy_outputs",
    (),
    "accuracy of the sign of the positive clusters' outputs less the negative ones'",
    _decides,
)
def binary_accuracy_outputs(instant: Instant) -> Floats:
    return _share_right(instant.binary_margin(False), instant.setting.multiplicity)
