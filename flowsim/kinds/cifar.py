"""CIFAR-10 and CIFAR-100 in their binary version: records of labels and pixels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..arrays import Integers
from .image_set import ImageSet
from .images import Bytes, Images, Part

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
        return self.ranges[self.column] if self.classes is None else len(self.classes)

    def read(self, path: Path, part: Part) -> Images:
        missing = [name for name in self.files[part] if not (path / name).is_file()]
        if missing:
            raise ValueError(f"{path} has no {', '.join(missing)}. Expected: {self.expected}")
        records = [_records(path / name, self.ranges) for name in self.files[part]]
        label = np.concatenate([record[:, self.column] for record in records]).astype(np.int64)

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


def _rows(records: Sequence[Bytes], rows: Integers, labels: int) -> Bytes:
    """The pixels of rows that count through all files."""
    begins = np.cumsum([0, *(len(record) for record in records)])
    found = np.empty((len(rows), PIXELS), dtype=np.uint8)
    for begin, record in zip(begins, records, strict=False):
        here = np.flatnonzero((rows >= begin) & (rows < begin + len(record)))
        found[here] = record[rows[here] - begin, labels:]
    return found
