"""The report: one HTML file that shows one run, or several side by side, and needs nothing else."""

from .build import page, write_report

__all__ = ["page", "write_report"]
