"""The errors flowsim raises on purpose, each with the exit code the shell sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path
from typing import Any


class FlowsimError(Exception):
    """Base of all errors that are an answer to the user rather than a defect."""

    exit_code = 2


@dataclass(frozen=True)
class Issue:
    """One thing wrong with a scenario.

    key: dotted path, e.g. ``data.noise.total`` (empty for the file as a whole).
    message: what is wrong and what is allowed.
    place: where it was written: ``file.toml:12``, or what set it, such as ``--set`` or ``Scenario``; empty where unknown.
    """

    key: str
    message: str
    place: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.key, self.message) if part)


class ScenarioError(FlowsimError):
    """A scenario that cannot be run; ``issues`` holds every problem found."""

    def __init__(self, issues: Sequence[Issue]):
        self.issues = tuple(issues)
        super().__init__("\n".join(str(issue) for issue in self.issues))


class UsageError(FlowsimError):
    """A request that cannot be carried out: a file in the way, a missing file, an unwritable folder."""


#: What the system says where a file has no room.
FULL = (ENOSPC, EDQUOT, EFBIG)


class NotWritten(FlowsimError):
    """A file that could not be written, as on a full disk. result: of a run, what was to be written; elsewhere: the file
    that has it instead; both None where there is none."""

    exit_code = 5

    def __init__(self, message: str, result: Any = None, elsewhere: Path | None = None):
        self.result, self.elsewhere = result, elsewhere
        super().__init__(message)
