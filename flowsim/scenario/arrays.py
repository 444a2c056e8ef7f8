"""Arrays that a scenario has with it, in place of the files that it would read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

#: The sections that may take arrays from outside.
SECTIONS = ("data", "init")


def outside(section: Any) -> tuple[Any, ...] | None:
    """What a section takes from outside: its kind and the paths of files, "" where none is named. None for all others."""
    files = (section.file, getattr(getattr(section, "test", None), "path", None))
    return None if files == (None, None) else (getattr(section, section.TAG), *files)


@dataclass(frozen=True, eq=False)
class Attached:
    """values: name -> array of floats. stands_for: what the section took from outside when they were attached; a copy that
    names another file reads that."""

    stands_for: tuple[Any, ...] | None
    values: Mapping[str, Any]

    @cached_property
    def sha256(self) -> str:
        """Of names, shapes and contents."""
        digest = hashlib.sha256()
        for name, array in sorted(self.values.items()):
            digest.update(f"{name} {array.shape}\n".encode())
            digest.update(array.tobytes())
        return digest.hexdigest()
