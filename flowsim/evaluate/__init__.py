"""What is computed from a trained network and its trajectory.

``flowsim.evaluate(result)`` computes what [evaluate] asks for: the package is also its function :func:`evaluate`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .phases import phases, target_cosine

if TYPE_CHECKING:
    import xarray as xr

    from .case import Result

#: Told what is being done.
Say = Callable[[str], None]


def evaluate(
    result: Result, asked: Mapping[str, Any] | None = None, *, seed: int | None = None, progress: Say | None = None
) -> xr.DataTree:
    """What [evaluate] gives, computed anew from a result: a group for each of its keys that is asked for.

    asked: keys of ``evaluate``, such as ``{"claims": ["li_2025"], "distance.to": "ideal"}``, beside those of its scenario.
    seed: the member of an ensemble. progress: called with what is begun.
    Raises ScenarioError for wrong keys, UsageError where nothing is asked for or the result lacks what it takes.
    """
    import xarray as xr

    from ..errors import UsageError
    from ..threads import blas_threads
    from .case import reopened
    from .requested import EVALUATIONS, evaluations, wanted

    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        scenario = case.asking({f"evaluate.{key}": value for key, value in (asked or {}).items()})
        say = progress if progress is not None else lambda what: None
        names = wanted(scenario)
        groups = dict(
            zip(names, evaluations(scenario, case.setting, case.trajectory, say, names, case.companion), strict=True)
        )
    if not groups:
        raise UsageError(f"nothing is asked for; the keys of [evaluate] are {', '.join(EVALUATIONS)}")
    return xr.DataTree.from_dict({f"/{name}": group for name, group in groups.items()})


class _Callable(ModuleType):
    """A package of the name of its main function cannot hide that: whoever imports it would."""

    __call__ = staticmethod(evaluate)


sys.modules[__name__].__class__ = _Callable

__all__ = ["evaluate", "phases", "target_cosine"]
