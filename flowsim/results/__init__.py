"""The Dataset of a run: its layout, where it comes from, its file."""

from . import layout
from .points import open_point
from .provenance import attributes, scenario_attributes, status_attributes
from .store import in_memory, open, opened, text_encoding, write

__all__ = [
    "attributes",
    "in_memory",
    "layout",
    "open",
    "open_point",
    "opened",
    "scenario_attributes",
    "status_attributes",
    "text_encoding",
    "write",
]
