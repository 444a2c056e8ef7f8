"""Images and labels in an NPZ file."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..arrays import Integers
from .files import first_line
from .images import Bytes, Images, NoTestSet, Part, fits

#: part -> the arrays of images and labels.
ARRAYS: dict[Part, tuple[str, str]] = {"train": ("images", "labels"), "test": ("test_images", "test_labels")}
#: What reads the headers of each version of NumPy's format that has arrays of numbers.
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_archive(path: Path, part: Part) -> Images:
    """The images of an NPZ file. Raises NoTestSet where it has none to test on, ValueError where it cannot be read."""
    try:
        with ZipFile(path) as archive:
            missing = [name for name in ARRAYS[part] if f"{name}.npy" not in archive.namelist()]
            if missing:
                wrong = f"{path.name} has no array {' and '.join(missing)}"
                raise NoTestSet(f"{wrong}; give fraction, or path") if part == "test" else ValueError(wrong)
            pixels, label = (_array(archive, name, path.name) for name in ARRAYS[part])
    except (OSError, EOFError, BadZipFile, NotImplementedError, RuntimeError, zlib.error) as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}") from None
    images, labels = ARRAYS[part]
    if pixels.dtype != np.uint8 or pixels.ndim not in (3, 4) or 0 in pixels.shape:
        told = f"{images} is {pixels.dtype} of shape {pixels.shape}"
        raise ValueError(f"{path.name}: {told}; expected uint8 (n, height, width) or (n, height, width, channels)")
    if label.dtype.kind not in "iu" or label.ndim != 1 or label.min(initial=0) < 0:
        told = f"{labels} is {label.dtype} of shape {label.shape}"
        raise ValueError(f"{path.name}: {told}; expected whole numbers from 0 on, (n,)")
    if len(pixels) != len(label):
        raise ValueError(f"{path.name} has {len(pixels)} images and {len(label)} labels")
    colours = pixels if pixels.ndim == 4 else pixels[..., None]
    height, width, channels = colours.shape[1:]

    def take(rows: Integers) -> Bytes:
        return colours[rows].transpose(0, 3, 1, 2).reshape(len(rows), -1)

    return Images(label.astype(np.int64), (channels, height, width), take)


def _array(archive: ZipFile, name: str, of: str) -> NDArray[Any]:
    """One array, never an object's. Raises ValueError before what the headers claim is allocated."""
    claimed = archive.getinfo(f"{name}.npy").file_size
    with archive.open(f"{name}.npy") as file:
        version = npy.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"{of}: {name} is of version {version} of NumPy's format, which holds no plain numbers")
        shape, by_columns, dtype = HEADERS[version](file)
        if dtype.kind not in "biuf":
            raise ValueError(f"{of}: {name} is {dtype}; expected whole numbers")
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if size != claimed - file.tell():
            raise ValueError(
                f"{of}: the header of {name} speaks of {size} bytes, and {claimed - file.tell()} are there"
            )
        fits(size, f"{of}: {name}")
        content = file.read(size)
    if len(content) != size:
        raise ValueError(f"{of}: {name} is truncated: {len(content)} of {size} bytes are there")
    return np.frombuffer(content, dtype=dtype).reshape(shape, order="F" if by_columns else "C")
