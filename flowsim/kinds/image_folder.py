"""Images in a folder for each class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Integers
from .files import first_line
from .images import Images
from .pixels import Bytes

if TYPE_CHECKING:
    from PIL.Image import Image

#: How the files begin to end that are taken for images; others are left alone.
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm")
#: What Pillow may take them for.
FORMATS = ("PNG", "JPEG", "BMP", "PPM")


def read_folder(path: Path, training: Path) -> Images:
    """The images of a folder; each is read when it is taken. The first one says what shape all of them have, and whether
    they are gray. training: the folder whose sorted names are the labels. Raises ValueError where there are no images or
    where Pillow is not installed."""
    classes = _folders(training)
    others = [name for name in _folders(path) if name not in classes]
    if others:
        raise ValueError(f"{path} has a folder {others[0]}, and the training set has none of this name")
    files = [_images_in(path / name) for name in classes]
    every = [file for of_class in files for file in of_class]
    if not every:
        raise ValueError(f"{path} has no folders with images ({', '.join(SUFFIXES)}) in them, one for each class")
    shape = _shape(every[0])
    label = np.repeat(np.arange(len(files)), [len(of_class) for of_class in files])

    def take(rows: Integers) -> Bytes:
        found = np.empty((len(rows), shape[0] * shape[1] * shape[2]), dtype=np.uint8)
        for place, row in enumerate(rows):
            found[place] = _pixels(every[row], shape)
        return found

    return Images(label, shape, take)


def _folders(path: Path) -> list[str]:
    return sorted(folder.name for folder in path.iterdir() if folder.is_dir() and not folder.name.startswith("."))


def _images_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def _opened(file: Path) -> Image:
    """An image of which no more than the header is read."""
    try:
        from PIL import Image as pillow
    except ImportError:
        raise ValueError(
            "images in folders need Pillow, which is not installed; pip install 'flowsim[images]'"
        ) from None
    try:
        return pillow.open(file, formats=FORMATS)
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        raise ValueError(f"{_name(file)} cannot be read: {first_line(error)}") from None


def _shape(file: Path) -> tuple[int, int, int]:
    with _opened(file) as image:
        if image.mode.startswith(("I", "F")):
            raise ValueError(f"{_name(file)} has more than 8 bits a pixel")
        channels = 1 if image.mode in ("1", "L") else 3
        return channels, image.height, image.width


def _pixels(file: Path, shape: tuple[int, int, int]) -> Bytes:
    """Channel after channel."""
    channels, *size = shape
    with _opened(file) as image:
        if [image.height, image.width] != size:
            wrong = f"{_name(file)} has {image.height} x {image.width} pixels, the first image {size[0]} x {size[1]}"
            raise ValueError(f"{wrong}; all have to be of one size")
        if channels < _shape(file)[0]:
            raise ValueError(f"{_name(file)} has colours, the first image is gray")
        try:
            pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"))
        except (OSError, SyntaxError, ValueError) as error:
            raise ValueError(f"{_name(file)} cannot be read: {first_line(error)}") from None
    return pixels.reshape(*size, channels).transpose(2, 0, 1).ravel()


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"
