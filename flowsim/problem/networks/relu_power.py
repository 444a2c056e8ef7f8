"""The plain power of ReLU: max(<w, x>, 0)^p  (Min & Vidal 2025, Appendix B.2)."""

from ...kinds.kernel import POWER
from ...scenario.model import ReluPower
from .activation import Activation, positive_power


def build(model: ReluPower) -> Activation:
    degree = model.degree
    return Activation(
        "relu_power",
        lambda s, log_norm, xp: positive_power(s, degree, xp),
        homogeneity=degree,
        degree=degree,
        smooth=degree > 1,
        kernel=POWER,
    )
