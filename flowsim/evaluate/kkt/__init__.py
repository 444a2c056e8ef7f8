"""The KKT point that a flow goes to, and how far the flow is from it."""

from .group import limit, limit_group, without_limit
from .limit import Limit, angle, find

__all__ = ["Limit", "angle", "find", "limit", "limit_group", "without_limit"]
