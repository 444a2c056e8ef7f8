"""Gaussian vectors in a space of any dimension, by their coordinates in an orthonormal basis of their span.

A neuron knows samples by its products with them. The products of independent N(0, I_d) vectors, their Gram matrix, have a
Wishart law, and Bartlett's decomposition draws the vectors by their coordinates: vector i, counted from 0, has independent
N(0, 1) coordinates along the vectors before it and, orthogonal to all of these, the length chi with d - i degrees of
freedom. So d is a number, and n vectors take n^2 numbers whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats


@dataclass(frozen=True)
class Span:
    """dimension: d, of the space. vectors: how many span the basis, in order. taken: how many of them are drawn, or have a
    place that is kept for them; others come after.

    A row of coordinates has one for each of these vectors, at most d, and where d is more a last one: of a vector that is
    not one of them, the length of its rest, which is orthogonal to all of them. The rests of two such vectors have
    directions of their own, so their product is not that of their coordinates; `widened` gives rests a direction.
    """

    dimension: int
    vectors: int
    taken: int

    @property
    def rank(self) -> int:
        """Of the span"""
        return min(self.vectors, self.dimension)

    @property
    def features(self) -> int:
        """The length of a row of coordinates"""
        return self.rank + (self.dimension > self.rank)

    def normal(self, generator: np.random.Generator, first: int, count: int) -> Floats:
        """(count, features): independent N(0, I_d) vectors, numbered from `first`; those numbered from `vectors` on are
        beyond."""
        number = np.minimum(np.arange(first, first + count), self.rank)
        along = generator.standard_normal((count, int(number.max(initial=0))))
        along[np.arange(along.shape[1]) >= number[:, None]] = 0.0
        rows = np.zeros((count, self.features))
        rows[:, : along.shape[1]] = along
        free = np.flatnonzero(number < self.dimension)
        rows[free, number[free]] = np.sqrt(generator.chisquare(self.dimension - number[free]))
        return rows

    def next(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """The same of those that come after what is taken. shape: (count, features)"""
        return self.normal(generator, self.taken, shape[0])

    def wider(self, count: int) -> Span:
        """With room for so many more vectors in the basis."""
        return replace(self, vectors=self.vectors + count)

    def widened(self, rows: Floats, wide: Span, generator: np.random.Generator) -> Floats:
        """(n, features of wide): vectors with the coordinates `rows` (n, features) among more of them. What was beyond has
        any direction as soon as another, independently for each vector: the first coordinates of a uniform one."""
        more = wide.rank - self.rank
        found = np.zeros((len(rows), wide.features))
        found[:, : self.rank] = rows[:, : self.rank]
        if more:
            squares = generator.standard_normal((len(rows), wide.features - self.rank))
            if wide.dimension > wide.rank:
                squares[:, -1] = np.sqrt(generator.chisquare(wide.dimension - wide.rank, len(rows)))
            squares /= np.linalg.norm(squares, axis=1, keepdims=True)
            found[:, self.rank :] = rows[:, self.rank :] * squares
        elif wide.features > self.rank:
            found[:, self.rank :] = rows[:, self.rank :]
        return found
