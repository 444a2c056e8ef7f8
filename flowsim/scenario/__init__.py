"""What the user asked for: TOML in, one frozen and validated model out."""

from .changes import Changes
from .files import referenced_files
from .load import ScenarioLike, as_scenario, load, load_changed, loads, parse_assignment, read
from .scenario import Scenario

__all__ = [
    "Changes",
    "Scenario",
    "ScenarioLike",
    "as_scenario",
    "load",
    "load_changed",
    "loads",
    "parse_assignment",
    "read",
    "referenced_files",
]
