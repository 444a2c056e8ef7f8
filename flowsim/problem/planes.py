"""The planes <w, x_i> = 0 on which activations with a kink bend: parallel samples share one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Integers

#: Samples are parallel when their unit vectors agree, up to the sign, to this; far less than what engines take for 0.
PARALLEL = 1e-13


@dataclass(frozen=True)
class Planes:
    """H planes of n samples.

    plane (n,): the plane of each sample; first (H,): the sample that stands for it, its longest; factor (n,): x_i is
    factor_i times that one. member[member_start[h] : member_start[h + 1]]: the samples of plane h, in order. A sample that
    is 0 has a plane of its own.
    """

    plane: Integers
    factor: Floats
    first: Integers
    member_start: Integers
    member: Integers


def planes(inputs: Floats) -> Planes:
    """The planes of samples (n, r)."""
    norm = np.linalg.norm(inputs, axis=1)
    unit = inputs / np.where(norm > 0, norm, 1.0)[:, None]
    first_of = np.arange(len(inputs))
    # parallel unit vectors have, up to the sign, equal shadows on any line: only neighbours there need a closer look
    shadow = np.abs(unit @ np.random.default_rng(0).standard_normal(inputs.shape[1]))
    order = np.argsort(shadow, kind="stable")
    reach = np.searchsorted(shadow[order], shadow[order] + 100 * PARALLEL, side="right")
    for place in np.flatnonzero(reach > np.arange(len(order)) + 1):
        here, others = order[place], order[place + 1 : reach[place]]
        gap = np.minimum(
            np.linalg.norm(unit[others] - unit[here], axis=1), np.linalg.norm(unit[others] + unit[here], axis=1)
        )
        same = np.append(others[(gap <= PARALLEL) & (norm[others] > 0) & (norm[here] > 0)], here)
        first_of[same] = first_of[same].min()
    while (first_of[first_of] != first_of).any():
        first_of = first_of[first_of]
    _, plane = np.unique(first_of, return_inverse=True)
    # the longest sample of each plane stands for it
    by_plane = np.lexsort((np.arange(len(norm)), -norm, plane))
    first = by_plane[np.searchsorted(plane[by_plane], np.arange(plane.max() + 1))]
    leader = first[plane]
    along = np.einsum("ij,ij->i", inputs, inputs[leader])
    factor = np.where(norm > 0, along / np.where(norm > 0, norm[leader], 1.0) ** 2, 1.0)
    member = np.argsort(plane, kind="stable")
    start = np.searchsorted(plane[member], np.arange(len(first) + 1))
    return Planes(
        plane.astype(np.int64), factor, first.astype(np.int64), start.astype(np.int64), member.astype(np.int64)
    )
