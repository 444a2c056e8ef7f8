"""The Dataset of a run: its layout, where it comes from, its file."""

from . import checkpoint, layout
from .provenance import attributes, status_attributes
from .store import check_writable, open, write

__all__ = ["attributes", "check_writable", "checkpoint", "layout", "open", "status_attributes", "write"]
