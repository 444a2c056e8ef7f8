"""Tiny sets of images in the formats of the large ones, of random pixels."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

#: (training images, test images) of a tiny set, as many of each class.
COUNTS = (60, 30)
#: Height and width of those like MNIST.
IMAGE = (6, 5)


def idx(array: np.ndarray, magic: int | None = None) -> bytes:
    """The bytes of an IDX file. magic: another number than that of such an array of bytes."""
    dims = array.shape
    return struct.pack(f">{1 + len(dims)}I", magic or 0x800 + len(dims), *dims) + array.astype(np.uint8).tobytes()


def write_mnist(folder: Path, size: tuple[int, int] = IMAGE, prefix: str = "", packed: bool = True) -> Path:
    """Four files like MNIST's."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    for part, count in zip(("train", "t10k"), COUNTS, strict=True):
        pixels, label = rng.integers(256, size=(count, *size)), rng.permutation(count) % 10
        pixels[:, 0, 0] = 7  # one that never changes
        for name, array in (("images-idx3", pixels), ("labels-idx1", label)):
            content = idx(array)
            suffix = ".gz" if packed else ""
            (folder / f"{prefix}{part}-{name}-ubyte{suffix}").write_bytes(gzip.compress(content) if packed else content)
    return folder


def write_cifar(folder: Path, classes: int = 10) -> Path:
    """The files of CIFAR-10, or of CIFAR-100 with `classes` of 100."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(6)
    files = {f"data_batch_{number}.bin": COUNTS[0] // 5 for number in range(1, 6)} | {"test_batch.bin": COUNTS[1]}
    if classes == 100:
        files = {"train.bin": 200, "test.bin": 100}
    drawn = np.concatenate([rng.permutation(COUNTS[0]), rng.permutation(COUNTS[1])]) % classes
    if classes == 100:
        drawn = np.concatenate([rng.permutation(200), rng.permutation(100)]) % classes
    for name, count in files.items():
        label, drawn = drawn[:count], drawn[count:]
        labels = [label // 5, label] if classes == 100 else [label]
        records = np.column_stack([*labels, rng.integers(256, size=(count, 3072))])
        (folder / name).write_bytes(records.astype(np.uint8).tobytes())
    return folder


def write_sets(root: Path) -> Path:
    """A folder for FLOWSIM_DATA: tiny files under the names of MNIST and CIFAR-10."""
    write_mnist(root / "mnist")
    write_cifar(root / "cifar-10-batches-bin")
    return root
