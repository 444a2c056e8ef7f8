"""log(1 + exp(-y f))"""

from types import ModuleType

from ...kinds import kernel
from .loss import Array, Loss


def log_value(output: Array, target: Array, xp: ModuleType) -> Array:
    margin = target * output
    # log(log1p(e^-m)) = -m + log(log1p(e^-m) / e^-m); the ratio tends to 1 as m grows
    small = xp.exp(-xp.clip(margin, 0.0, 700.0))
    far = -margin + xp.log(xp.log1p(small) / small)
    return xp.where(margin > 0, far, xp.log(xp.logaddexp(0.0, -xp.minimum(margin, 0.0))))


def relative_derivative(output: Array, target: Array, xp: ModuleType) -> Array:
    margin = target * output
    # e^-m / ((1 + e^-m) log(1 + e^-m)): both factors tend to 1 as m grows
    small = xp.exp(-xp.clip(margin, 0.0, 700.0))
    far = small / ((1 + small) * xp.log1p(small))
    near = 1 / ((1 + xp.exp(xp.minimum(margin, 0.0))) * xp.logaddexp(0.0, -xp.minimum(margin, 0.0)))
    return -target * xp.where(margin > 0, far, near)


LOGISTIC = Loss(
    "logistic",
    value=lambda output, target, xp: xp.logaddexp(0.0, -target * output),
    derivative=lambda output, target, xp: -target * xp.exp(-xp.logaddexp(0.0, target * output)),
    log_value=log_value,
    relative_derivative=relative_derivative,
    kernel=kernel.LOGISTIC,
)
