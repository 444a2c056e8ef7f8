"""Labelled images as their files have them: bytes, until they are used."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..arrays import Integers
from ..gate import fits
from .pixels import Bytes

#: The environment variable that names the folder in which those of data sets are looked for.
VARIABLE = "FLOWSIM_DATA"

#: Training set or test set.
Part = Literal["train", "test"]


class NoTestSet(ValueError):
    """These images come without a test set."""


@dataclass(frozen=True)
class Images:
    """label (n,). shape: (channels, height, width). take: rows (m,) -> (m, channels height width), the pixels of one
    channel after those of another, each row by row; it raises ValueError where they cannot be read."""

    label: Integers
    shape: tuple[int, int, int]
    take: Callable[[Integers], Bytes]

    @property
    def features(self) -> int:
        return self.shape[0] * self.shape[1] * self.shape[2]

    def taken(self, rows: Integers) -> Bytes:
        """(m, features). Raises ValueError where they would not fit into memory, before anything is read."""
        fits(len(rows) * self.features, f"{len(rows)} images of {self.features} bytes")
        return self.take(rows)


def located(name: str, folder: Path, what: str) -> Path:
    """The path of this name, which starts in `folder` or else in the folder that FLOWSIM_DATA names.

    what: is expected there, for the message of the ValueError that is raised where there is nothing.
    """
    root = os.environ.get(VARIABLE)
    starts = [folder, *([Path(root).expanduser()] if root else [])]
    for start in starts:
        if (start / name).exists():
            return start / name
    looked = " nor in ".join(str(start.absolute()) for start in starts)
    unset = "" if root else f", and {VARIABLE} is not set"
    raise ValueError(
        f'there is no "{name}" in {looked}{unset}. Expected: {what}. Give its path here, or set the environment variable '
        f"{VARIABLE} to the folder that it lies in"
    )
