"""A linear neuron: <w, x>."""

from ...kinds.kernel import LEAKY
from ...scenario.model import Linear
from .activation import Activation


def build(model: Linear) -> Activation:
    return Activation(
        "linear",
        lambda s, log_norm, xp: (s, xp.ones_like(s)),
        homogeneity=1,
        degree=1,
        smooth=True,
        inactive_slope=1.0,
        kernel=LEAKY,
    )
