"""The loss, on the training samples and on those held out."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ..conditions import HELD_OUT, has_held_out
from ..instant import Instant, representable
from ..observable import observable


@observable("loss", (), "training loss", any_network=True)
def loss(instant: Instant) -> Floats:
    return representable(1.0, instant.log_loss)


@observable("log10_loss", (), "log10 of the training loss", any_network=True)
def log10_loss(instant: Instant) -> Floats:
    return instant.log_loss / np.log(10)


@observable(
    "test_loss",
    (),
    "mean loss over the held-out samples, whatever the reduction in training",
    has_held_out,
    needs=HELD_OUT,
    any_network=True,
)
def test_loss(instant: Instant) -> Floats:
    return representable(1.0, instant.log_test_loss)


@observable("log10_test_loss", (), "log10 of test_loss", has_held_out, needs=HELD_OUT, any_network=True)
def log10_test_loss(instant: Instant) -> Floats:
    return instant.log_test_loss / np.log(10)
