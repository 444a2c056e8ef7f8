"""Images and labels in an NPZ file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..arrays import Integers
from .archives import UNREADABLE, npz_arrays
from .files import first_line
from .images import Images, NoTestSet, Part
from .pixels import Bytes

#: part -> the arrays of images and labels.
ARRAYS: dict[Part, tuple[str, str]] = {"train": ("images", "labels"), "test": ("test_images", "test_labels")}


def read_archive(path: Path, part: Part) -> Images:
    """The images of an NPZ file. Raises NoTestSet where it has none to test on, ValueError where it cannot be read."""
    images, labels = ARRAYS[part]
    try:
        arrays = npz_arrays(path, ARRAYS[part])
    except UNREADABLE as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}") from None
    missing = [name for name in ARRAYS[part] if name not in arrays]
    if missing:
        wrong = f"{path.name} has no array {' and '.join(missing)}"
        raise NoTestSet(f"{wrong}; give fraction, or path") if part == "test" else ValueError(wrong)
    pixels, label = arrays[images], arrays[labels]
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
