"""Margins, derivatives of the loss, and how far they differ between samples."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ..conditions import LABELLED, has_labels, has_no_vectors
from ..instant import Instant
from ..observable import observable


@observable(
    "margin",
    ("sample",),
    "margin y f(x); of several outputs, that of the sample's class less the largest other",
    has_no_vectors,
    any_network=True,
)
def margin(instant: Instant) -> Floats:
    return instant.margin


@observable(
    "loss_derivative",
    ("sample",),
    "derivative of the sample's loss in f; of several outputs, in that of the sample's class",
    has_no_vectors,
    any_network=True,
)
def loss_derivative(instant: Instant) -> Floats:
    return instant.loss_derivative


@observable(
    "margin_gap",
    (),
    "largest difference between the margins of two samples",
    has_labels,
    on_request=True,
    needs=LABELLED,
    any_network=True,
)
def margin_gap(instant: Instant) -> Floats:
    return np.ptp(instant.margin, axis=-1)


@observable(
    "loss_derivative_ratio",
    (),
    "largest ratio between the loss derivatives of two samples",
    has_labels,
    on_request=True,
    needs=LABELLED,
    any_network=True,
)
def loss_derivative_ratio(instant: Instant) -> Floats:
    size = np.abs(instant.loss_derivative)
    with np.errstate(divide="ignore", invalid="ignore"):  # where derivatives underflow there is no ratio
        return size.max(axis=-1) / size.min(axis=-1)
