"""Pictures of sweeps, and a page about one."""

from .draw import KINDS, DrawnScaling, plot
from .page import write_report
from .table import failed, keys, numbers, range_of

__all__ = ["KINDS", "DrawnScaling", "failed", "keys", "numbers", "plot", "range_of", "write_report"]
