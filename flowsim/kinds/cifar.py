"""CIFAR-10 and CIFAR-100 in their binary version: records of labels and pixels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..arrays import Integers
from .image_set import ImageSet
from .images import Images, Part
from .pixels import Bytes

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


class Cifar(ImageSet):
    """Colour images of 32 x 32 pixels. A kind adds `kind`, `folder`, its files and the labels of a record.

    files: of each part. ranges: how many values each label of a record has.
    """

    files: ClassVar[dict[Part, tuple[str, ...]]]
    ranges: ClassVar[tuple[int, ...]]

    folder: str

    @property
    @abstractmethod
    def column(self) -> int:
        """Which label of a record is the class."""

    @property
    def place(self) -> tuple[str, str]:
        return "folder", self.folder

    @property
    def clusters(self) -> int | None:
        return self.ranges[self.column] if self.classes is None and self.fine is None else super().clusters

    def read(self, path: Path, part: Part) -> Images:
        missing = [name for name in self.files[part] if not (path / name).is_file()]
        if missing:
            raise ValueError(f"{path} has no {', '.join(missing)}. Expected: {self.expected}")
        records = [_records(path / name, self.ranges) for name in self.files[part]]
        label = np.concatenate([record[:, self.column] for record in records]).astype(np.int64)
        _check_whole(label, self.files[part])

        def take(rows: Integers) -> Bytes:
            return _rows(records, rows, len(self.ranges))

        return Images(label, SHAPE, take)


def _records(path: Path, ranges: Sequence[int]) -> Bytes:
    """(n, labels and pixels), left in the file until they are taken. Raises ValueError where the file is none of such
    records."""
    size, width = path.stat().st_size, len(ranges) + PIXELS
    if size == 0 or size % width:
        wrong = f"{path.name} has {size} bytes, no multiple of the {width} of a record"
        raise ValueError(f"{wrong}: it is truncated, or not of the binary version of this set")
    records = np.memmap(path, dtype=np.uint8, mode="r").reshape(-1, width)
    for column, count in enumerate(ranges):
        bad = np.flatnonzero(records[:, column] >= count)
        if len(bad):
            wrong = f"{path.name}: record {bad[0]} has the label {records[bad[0], column]}; allowed: 0 to {count - 1}"
            raise ValueError(wrong)
    return records


def _check_whole(label: Integers, names: Sequence[str]) -> None:
    """Raise ValueError where classes have different numbers of images: these sets have as many of each, so that a file
    which ends behind one of its records is known by it."""
    counts = np.bincount(label)
    if counts.min() != counts.max():
        differ = f"there are {counts.min()} images of one class and {counts.max()} of another in {', '.join(names)}"
        instead = 'unpack them again; images of one\'s own are for data.kind = "images"'
        raise ValueError(f"{differ}, where this set has as many of each: a file is not whole; {instead}")


def _rows(records: Sequence[Bytes], rows: Integers, labels: int) -> Bytes:
    """The pixels of rows that count through all files."""
    begins = np.cumsum([0, *(len(record) for record in records)])
    found = np.empty((len(rows), PIXELS), dtype=np.uint8)
    for begin, record in zip(begins, records, strict=False):
        here = np.flatnonzero((rows >= begin) & (rows < begin + len(record)))
        found[here] = record[rows[here] - begin, labels:]
    return found
