"""Many runs of one scenario on Dask, and one dataset of them: plan, batches, execution, store, collection."""

from ..results import open_point
from .collect import open_sweep
from .run import Result, Watch, sweep

__all__ = ["Result", "Watch", "open_point", "open_sweep", "sweep"]
