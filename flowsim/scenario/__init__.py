"""What the user asked for: TOML in, one frozen and validated model out."""

from .files import referenced_files
from .load import load, loads, of_values, parse_assignment, with_seeds
from .scenario import Scenario

__all__ = ["Scenario", "load", "loads", "of_values", "parse_assignment", "referenced_files", "with_seeds"]
