"""What all attacks may be told."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....kinds.streams import stream


@dataclass(frozen=True)
class Options:
    """steps: of every descent. restarts: random starts beside the clean sample. random: what these are drawn from."""

    steps: int = 100
    restarts: int = 1
    random: np.random.Generator = field(default_factory=lambda: stream(0, "attacks"))
