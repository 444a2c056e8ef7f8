"""From states to named observables."""

from .instant import Instant, Setting
from .observable import OBSERVABLES, Observable
from .quantiles import QUANTILES
from .recorder import GROWN, NUMERICS, QUANTILE_SUFFIX, Recorder, Selection, snapshot_indices
from .trajectory import Trajectory

__all__ = [
    "GROWN",
    "NUMERICS",
    "OBSERVABLES",
    "QUANTILES",
    "QUANTILE_SUFFIX",
    "Instant",
    "Observable",
    "Recorder",
    "Selection",
    "Setting",
    "Trajectory",
    "snapshot_indices",
]
