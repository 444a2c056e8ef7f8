"""pReLU, the normalised power: max(<w, x>, 0)^p / |w|^(p-1)  (Min & Vidal 2025, eq. 5)."""

from ...kinds.kernel import POWER
from ...scenario.model import Prelu
from .activation import Activation, positive_power


def build(model: Prelu) -> Activation:
    degree = model.degree
    return Activation(
        "prelu",
        lambda s, log_norm, xp: positive_power(s, degree, xp),
        homogeneity=1,
        degree=degree,
        smooth=degree > 1,
        kernel=POWER,
    )
