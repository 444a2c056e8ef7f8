"""What one neuron's gates let through: its part of the output, the slopes of its pulls, and where a sign misfits its gate.

row (n,): its pre-activations; gate, strength (n,), threshold: as `State` has them; width: a pre-activation within this part
of |x_i|, norm (n,), counts as 0. They are called for every neuron, so they have the arrays, not the tuples that hold them.
"""

from __future__ import annotations

from typing import Any

from ...arrays import Floats, Integers
from .compiled import compiled
from .layout import CANDIDATE, CANDIDATES

#: A pre-activation within this part of |w_j| |x_i| counts as 0.
ON_PLANE = 2e-12


@compiled
def respond(
    j: int,
    look: float,
    row: Floats,
    gate: Any,
    strength: Floats,
    threshold: float,
    norm: Floats,
    width: float,
    factor: float,
    slope: float,
    outputs: Floats,
    candidate: Integers,
    counts: Integers,
) -> None:
    """Add neuron j's part of its output (n,), and note the misfits of its gates among the candidates.

    look: as :func:`flowsim.solve.numba.field.evaluate` says.
    """
    for i in range(len(row)):
        level = width * norm[i]
        kept = strength[i] > threshold
        if look > 0.0 and not kept and abs(row[i]) > level:
            gate[i] = row[i] > 0.0
        active = gate[i] == 1 if kept or abs(row[i]) <= level else row[i] > 0.0
        outputs[i] += factor * row[i] * (1.0 if active else slope)
        if look > 0.0 and kept and (row[i] < -look * level if active else row[i] > look * level):
            found = counts[CANDIDATE]
            if found < CANDIDATES:
                candidate[0, found], candidate[1, found] = j, i
            counts[CANDIDATE] = found + 1


@compiled
def slope_times_pull(
    row: Floats, gate: Any, strength: Floats, threshold: float, norm: Floats, width: float, slope: float, pull: Floats
) -> None:
    """Turn pre-activations into slope times pull (n,), in place."""
    for i in range(len(row)):
        kept = strength[i] > threshold or abs(row[i]) <= width * norm[i]
        active = gate[i] == 1 if kept else row[i] > 0.0
        row[i] = pull[i] * (1.0 if active else slope)
