"""How images are changed at random before a gradient sees them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from .section import Section


class Augment(Section):
    """Every batch of descent sees its images changed at random, and anew each time."""

    crop: Annotated[int, Field(ge=0)] = Field(
        0,
        description="images move by up to so many pixels along either axis; what comes in at the edges is 0, so the mean "
        "where images are centred",
    )
    flip: bool = Field(False, description="half of the images are mirrored, left to right")


class Augmentation(NamedTuple):
    """The same of images of a shape (channels, height, width)."""

    shape: tuple[int, int, int]
    crop: int
    flip: bool
