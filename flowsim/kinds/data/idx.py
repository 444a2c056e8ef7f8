"""MNIST, and other sets of images in its format."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Integers
from ...gate import fits
from ..files import first_line
from ..image_set import ImageSet
from ..images import Images, NoTestSet, Part
from ..pixels import Bytes
from ..section import refuse
from . import DATA

#: Magic number of a file -> (what it holds, its dimensions).
MAGIC = {2051: ("images", 3), 2049: ("labels", 1)}
#: A byte that is compressed by DEFLATE becomes at most so many.
MOST_INFLATED = 1032


class Idx(ImageSet):
    """Gray images in MNIST's format, IDX, gzipped or not: MNIST, Fashion-MNIST, KMNIST, EMNIST. The class of an image is
    its label."""

    kind: Literal["idx"]
    folder: str = Field(
        "mnist",
        description="folder of the four files, relative to the scenario's or to the one that the environment variable "
        "FLOWSIM_DATA names",
    )
    prefix: str = Field("", description='how the names of files begin, as "emnist-letters-"')

    @model_validator(mode="after")
    def _rules(self) -> Idx:
        refuse(self._broken())
        return self

    @property
    def place(self) -> tuple[str, str]:
        return "folder", self.folder

    @property
    def expected(self) -> str:
        return (
            "the folder of MNIST, or of a set in its format, with train-images-idx3-ubyte, train-labels-idx1-ubyte and the "
            "same of t10k, gzipped or not, as the set's own page has them"
        )

    def read(self, path: Path, part: Part) -> Images:
        images, labels = (self._file(path, part, what) for what in ("images-idx3", "labels-idx1"))
        pixels, label = _read(images, 2051), _read(labels, 2049).astype(np.int64)
        if len(pixels) != len(label):
            raise ValueError(f"{images.name} has {len(pixels)} images, and {labels.name} {len(label)} labels")

        def take(rows: Integers) -> Bytes:
            return pixels[rows].reshape(len(rows), -1)

        return Images(label, (1, *pixels.shape[1:]), take)

    def _file(self, folder: Path, part: Part, what: str) -> Path:
        """The file with the images or the labels of a part; they are called in a few ways."""
        names = [
            f"{self.prefix}{called}-{what.replace('-', dash)}-ubyte{packed}"
            for called in (("train",) if part == "train" else ("t10k", "test"))
            for dash in "-."
            for packed in ("", ".gz")
        ]
        for name in names:
            if (folder / name).is_file():
                return folder / name
        whose = "of the training set" if part == "train" else "of the test set"
        wrong = f"{folder} has no {names[0]}, gzipped or not: the {what.partition('-')[0]} {whose}"
        raise NoTestSet(wrong) if part == "test" else ValueError(f"{wrong}. Expected: {self.expected}")


DATA.register("idx", Idx)


def _read(path: Path, magic: int) -> Bytes:
    """The array of an IDX file of bytes. Raises ValueError for a file that is none, before what it claims is allocated."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            shape = _shape(path, file.read(4 * (1 + MAGIC[magic][1])), magic)
            size = int(np.prod(shape, dtype=object))
            _check(path, size, 4 + 4 * len(shape))
            content = file.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}") from None
    if len(content) != size:
        relation = "fewer" if len(content) < size else "more"
        raise ValueError(f"{path.name} has {relation} than the {size} bytes that its header speaks of")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _shape(path: Path, header: bytes, magic: int) -> tuple[int, ...]:
    """The shape that the header of a file claims."""
    what, dimensions = MAGIC[magic]
    numbers = [int.from_bytes(header[begin : begin + 4], "big") for begin in range(0, len(header), 4)]
    found = numbers[0] if numbers else 0
    if found in MAGIC and found != magic:
        swapped = f"holds {MAGIC[found][0]} (magic number {found}), and {what} ({magic}) are expected"
        raise ValueError(f"{path.name} {swapped}; are images and labels swapped?")
    if found != magic:
        raise ValueError(f"{path.name} is no IDX file of {what}: it begins with the number {found}, not with {magic}")
    if len(header) < 4 * (1 + dimensions):
        raise ValueError(f"{path.name} ends within its header")
    if 0 in numbers[1:]:
        raise ValueError(f"{path.name} holds no {what}: its header says {' x '.join(map(str, numbers[1:]))}")
    return tuple(numbers[1:])


def _check(path: Path, size: int, header: int) -> None:
    """Raise ValueError where a file cannot hold so many bytes after its header, or memory cannot."""
    there = path.stat().st_size
    most = there * MOST_INFLATED if path.suffix == ".gz" else there - header
    if size > most:
        raise ValueError(f"{path.name} is truncated: its header speaks of {size} bytes, and it has at most {most}")
    fits(size, f"the contents of {path.name}")
