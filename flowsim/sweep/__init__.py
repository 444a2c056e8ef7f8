"""Many runs of one scenario on Dask, and one dataset of them: plan, batches, execution, store, collection.

``flowsim.sweep(scenario, folder)`` runs one: the package is also its function :func:`sweep`.
"""

import sys
from types import ModuleType

from ..results import open_point
from .collect import open_sweep
from .run import Result, Watch, sweep

__all__ = ["Result", "Watch", "open_point", "open_sweep", "sweep"]


class _Callable(ModuleType):
    """A package of the name of its main function cannot hide that: whoever imports it would."""

    __call__ = staticmethod(sweep)


sys.modules[__name__].__class__ = _Callable
