"""A user's own images: a folder for each class, or arrays in an NPZ file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from ..image_archive import read_archive
from ..image_folder import SUFFIXES, read_folder
from ..image_set import ImageSet
from ..images import Images, NoTestSet, Part
from ..section import refuse
from . import DATA


class OwnImages(ImageSet):
    """Images from a folder with a folder for each class, whose label is its place among their sorted names; `train` and
    `test`, where there are both, have these folders in them. Or from an NPZ file with the uint8 arrays images, (n, height,
    width) or (n, height, width, channels), and labels, whole numbers, and where there are any test_images and test_labels.
    """

    kind: Literal["images"]
    path: str = Field(
        description="folder or NPZ file, relative to the scenario's folder or to the one that the environment variable "
        "FLOWSIM_DATA names"
    )

    @model_validator(mode="after")
    def _rules(self) -> OwnImages:
        refuse(self._broken())
        return self

    @property
    def place(self) -> tuple[str, str]:
        return "path", self.path

    @property
    def expected(self) -> str:
        kinds = ", ".join(SUFFIXES)
        return (
            f"a folder with a folder of images ({kinds}) for each class, or an NPZ file with arrays images and labels"
        )

    def read(self, path: Path, part: Part) -> Images:
        if path.suffix == ".npz":
            return read_archive(path, part)
        if not path.is_dir():
            raise ValueError(f"{path} is neither a folder nor an NPZ file. Expected: {self.expected}")
        parted = (path / "train").is_dir() and (path / "test").is_dir()
        if part == "test" and not parted:
            raise NoTestSet(f"{path} has no folders train and test; give fraction, or path")
        return read_folder(path / part, path / "train") if parted else read_folder(path, path)


DATA.register("images", OwnImages)
