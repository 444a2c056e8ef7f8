"""The Dataset of a run: its layout, where it comes from, its file."""

from . import layout
from .addresses import claimed, placed
from .points import open_point
from .provenance import attributes, scenario_attributes, status_attributes, with_status
from .store import in_memory, open, opened, text_encoding, write
from .zarr import check_installed

__all__ = [
    "attributes",
    "check_installed",
    "claimed",
    "in_memory",
    "layout",
    "open",
    "open_point",
    "opened",
    "placed",
    "scenario_attributes",
    "status_attributes",
    "text_encoding",
    "with_status",
    "write",
]
