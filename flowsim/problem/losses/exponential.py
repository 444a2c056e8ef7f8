"""exp(-y f)"""

from ...kinds import kernel
from .loss import Loss

EXPONENTIAL = Loss(
    "exponential",
    value=lambda output, target, xp: xp.exp(-target * output),
    derivative=lambda output, target, xp: -target * xp.exp(-target * output),
    log_value=lambda output, target, xp: -target * output,
    relative_derivative=lambda output, target, xp: -target + 0.0 * output,
    kernel=kernel.EXPONENTIAL,
)
