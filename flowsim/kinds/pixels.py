"""Images that stay bytes until some of them are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Integers

Bytes = NDArray[np.uint8]
#: Numbers that are made of bytes at a time where all images are gone through.
AT_A_TIME = 2**22


@dataclass(frozen=True)
class Moves:
    """How pixels from 0 to 1 become features: mean (d,) is subtracted, then divided by deviation (d,) and, where `by_norm`,
    by the norm of each image, and in the end multiplied by factor."""

    mean: Floats
    deviation: Floats
    by_norm: bool
    factor: float

    def apply(self, pixels: Floats) -> None:
        """Move these images (n, d) in place."""
        pixels -= self.mean
        pixels /= self.deviation
        if self.by_norm:
            norms = _norms(pixels)
            norms[norms == 0] = 1.0
            pixels /= norms[:, None]
        pixels *= self.factor


@dataclass(frozen=True, eq=False)
class Pixels:
    """Inputs (n, d) that are made of bytes (n, d) when they are asked for: ``pixels[rows]``, for a slice or for indices, is
    an array of float64, the same for a row whichever others are asked for with it."""

    bytes: Bytes
    moves: Moves

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)"""
        return len(self.bytes), self.bytes.shape[1]

    @property
    def nbytes(self) -> int:
        """What they take in memory."""
        return self.bytes.nbytes

    def __len__(self) -> int:
        return len(self.bytes)

    def __getitem__(self, rows: slice | Integers) -> Floats:
        found = self.bytes[rows].astype(float)
        found /= 255
        self.moves.apply(found)
        return found

    def only(self, rows: Integers) -> Pixels:
        """Some of them, as bytes."""
        return Pixels(self.bytes[rows], self.moves)

    def means(self, cluster: Integers) -> Floats:
        """(K, d): those of clusters 0 to K - 1, which all have images."""
        counts = np.bincount(cluster)
        sums = np.zeros((len(counts), self.shape[1]))
        for rows in parts(self):
            sums += (cluster[rows] == np.arange(len(counts))[:, None]) @ self[rows]
        return sums / counts[:, None]


#: Inputs (n, d) as they are kept. Rows of either are arrays.
Stored = Floats | Pixels


def parts(stored: Stored) -> Iterator[slice]:
    """Rows that are gone through one part after another."""
    return slices(len(stored), max(AT_A_TIME // max(stored.shape[1], 1), 1))


def slices(count: int, most: int) -> Iterator[slice]:
    """So many rows, at most `most` at a time."""
    return (slice(begin, begin + most) for begin in range(0, count, most))


def moments(pixels: Bytes) -> tuple[Floats, Floats]:
    """(d,) each: the means of pixels from 0 to 1, and of their squares; sums of bytes are exact."""
    first, second = np.zeros((2, pixels.shape[1]), dtype=np.uint64)
    for rows in parts(Pixels(pixels, UNMOVED)):
        some = pixels[rows].astype(np.uint64)
        first += some.sum(axis=0)
        second += np.einsum("id,id->d", some, some)
    return first / (255 * len(pixels)), second / (255**2 * len(pixels))


def mean_norm(stored: Stored) -> float:
    """That of all inputs."""
    return float(np.concatenate([_norms(stored[rows]) for rows in parts(stored)]).mean())


def _norms(inputs: Floats) -> Floats:
    norms: Floats = np.sqrt(np.einsum("id,id->i", inputs, inputs))
    return norms


#: Nothing is changed.
UNMOVED = Moves(np.zeros(1), np.ones(1), False, 1.0)
