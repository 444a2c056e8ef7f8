"""tanh(<w, x>), written as |w| k with k = tanh(|w| s)/|w| so that tiny weights lose nothing."""

from types import ModuleType

from ...kinds.kernel import LINEAR_BELOW, TANH
from ...scenario.model import Tanh
from .activation import Activation, Array


def build(model: Tanh) -> Activation:
    def response(s: Array, log_norm: Array, xp: ModuleType) -> tuple[Array, Array]:
        norm = xp.exp(xp.maximum(log_norm, LINEAR_BELOW))
        value = xp.tanh(norm * s)
        linear = log_norm < LINEAR_BELOW
        return xp.where(linear, s, value / norm), xp.where(linear, 1.0, 1.0 - value * value)

    return Activation("tanh", response, homogeneity=1, degree=None, smooth=True, kernel=TANH)
