"""The Dataset of a run: its layout, where it comes from, its file."""

from . import layout
from .points import open_point
from .provenance import attributes, scenario_attributes, status_attributes
from .store import check_writable, open, opened, text_encoding, write, write_text, written_aside

__all__ = [
    "attributes",
    "check_writable",
    "layout",
    "open",
    "open_point",
    "opened",
    "scenario_attributes",
    "status_attributes",
    "text_encoding",
    "write",
    "write_text",
    "written_aside",
]
