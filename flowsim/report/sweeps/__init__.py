"""Pictures of sweeps, and a page about one."""

from .draw import KINDS, DrawnScaling, plot
from .page import write_report

__all__ = ["KINDS", "DrawnScaling", "plot", "write_report"]
