"""A regression in one dimension as a picture: the network over its input, and the samples that it was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import FlowsimError
from ..run import Run
from .curves import Figure

#: Places at which the network is drawn, and how far beyond the samples, as a share of their range.
PLACES, BEYOND = 401, 0.1


def over_input(run: Run) -> Figure | None:
    """f(x) over x at the start and at the end; None where inputs have several features, targets are labels, or the file
    has no weights."""
    run = run.first
    root = run.source.trajectory
    if not run.has_real_targets or root.sizes.get("feature") != 1 or not root.sizes.get("snapshot"):
        return None
    try:
        case = run.source.case()
        inputs, targets = case.problem.inputs[:, 0], case.problem.targets
        low, high = inputs.min(), inputs.max()
        room = BEYOND * (high - low)
        at = np.linspace(low - room, high + room, PLACES)
        start, end = (case.network_at(place)(at[:, None]) for place in (0, -1))
    except FlowsimError:  # of another version, without its data, or of a network that is not here
        return None
    drawn: list[dict[str, Any]] = [
        {"name": "at the start", "y": start, "tone": -1, "dash": "dot"},
        {"name": "at the end", "y": end, "tone": 0, "dash": "solid"},
        {"name": "samples", "y": targets, "at": inputs, "tone": 1, "mode": "markers"},
    ]
    said = f"The network over x from {at[0]:.4g} to {at[-1]:.4g}, beside {len(targets)} samples."
    return Figure("input", "The network over its input", "x", "f(x)", at, drawn, said)
