"""Products with the samples where there are no more of these than features.

In the basis of their span that a QR decomposition gives, the samples are a lower triangle: its products take half of the
operations of a full matrix, and neurons stay where they are. A Gram matrix K would save as much (Z = A K for W = A X), but
norms of errors would then take products of their own, and small ones would come from the cancellation of large ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...arrays import Floats

#: Blocks of fewer rows than this cost more than what they leave out; more blocks than this leave out little more.
LEAST, MOST = 120, 4


class Triangle(NamedTuple):
    """A matrix (n, r), n <= r, without most of what is 0. rows: blocks of rows, each with the columns up to the end of its
    diagonal; columns: blocks of columns, each with the rows from the begin of its diagonal."""

    rows: tuple[jax.Array, ...]
    columns: tuple[jax.Array, ...]

    @property
    def dtype(self) -> Any:
        return self.rows[0].dtype

    def project(self, left: jax.Array) -> jax.Array:
        """(m, n): products of rows (m, r) with its rows"""
        return jnp.concatenate([left[:, : block.shape[1]] @ block.T for block in self.rows], axis=1)

    def gather(self, left: jax.Array) -> jax.Array:
        """(m, r): combinations of its rows, by (m, n)"""
        return jnp.concatenate([left[:, left.shape[1] - len(block) :] @ block for block in self.columns], axis=1)


def triangle(inputs: Floats, dtype: Any) -> Triangle | None:
    """The blocks of a matrix that is one; None where it is not, beyond rounding, or is too small for that to pay."""
    count, features = inputs.shape
    parts = min(count // LEAST, MOST)
    if parts < 2 or count > features:
        return None
    size = np.linalg.norm(inputs, axis=1, keepdims=True)
    if (np.abs(np.triu(inputs, 1)) > features * np.finfo(float).eps * size).any():
        return None
    # the last block has the columns beyond the diagonal, too
    bounds = [*(count * part // parts for part in range(parts)), features]
    spans = list(pairwise(bounds))
    return Triangle(
        tuple(jnp.asarray(inputs[begin : min(end, count), :end], dtype) for begin, end in spans),
        tuple(jnp.asarray(inputs[begin:, begin:end], dtype) for begin, end in spans),
    )
