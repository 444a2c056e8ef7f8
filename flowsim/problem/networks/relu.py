"""ReLU: max(<w, x>, 0)."""

from ...kinds.kernel import LEAKY
from ...scenario.model import Relu
from .activation import Activation, positive_power


def build(model: Relu) -> Activation:
    return Activation(
        "relu", lambda s, log_norm, xp: positive_power(s, 1, xp), homogeneity=1, degree=1, smooth=False, kernel=LEAKY
    )
