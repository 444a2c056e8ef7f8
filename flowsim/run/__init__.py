"""From a scenario to its result: plan, drive, checkpoint, resume.

``flowsim.run(scenario)`` runs one: the package is also its function :func:`run`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

    from ..problem import Data, Weights
    from ..scenario import ScenarioLike
    from .progress import Standing

Progress = Callable[["Standing"], None]
Warn = Callable[[str], None]


def run(
    scenario: ScenarioLike,
    output: str | PathLike[str] | None = None,
    *,
    data: Data | None = None,
    init: Weights | None = None,
    overwrite: bool = False,
    resume: bool = False,
    checkpoint_every: float | None = None,
    progress: bool | Progress | None = None,
    warn: Warn = warnings.warn,
) -> xr.DataTree:
    """Integrate a scenario, or the one in a file or a mapping, and return its result; with `output`, write it there too: to
    a NetCDF file, a Zarr store where the name ends in .zarr, or an address such as ``s3://bucket/run.nc``.

    data, init: samples and initial weights in memory, instead of the scenario's; the result holds them.
    overwrite: replace the file `output`. resume: go on from it, where an unfinished run of the same scenario has left it.
    checkpoint_every: wall seconds between two checkpoints; by default as often as costs no more than 2 % of the time.
    progress: True for a bar on standard error, if that is a terminal (in a notebook the default); or a function, called now
    and then with a :class:`flowsim.run.progress.Standing`. warn: called with each warning.

    However the run ends, the result holds what was reached, and its attributes `status`, `status_cause` and
    `status_remedy` say how it ended. An ensemble has a dimension `seed`.
    Raises ScenarioError or UsageError before anything is computed or written; NotWritten where the result cannot be
    written, with the result as an attribute of the exception.
    """
    from ..problem import with_given
    from ..scenario import as_scenario
    from .simulate import simulate

    given = with_given(as_scenario(scenario), data, init)
    return simulate(given, output, overwrite, resume, progress, warn, checkpoint_every)


def run_ensemble(
    scenario: ScenarioLike,
    seeds: Iterable[int],
    output: str | PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    checkpoint_every: float | None = None,
    progress: bool | Progress | None = None,
    warn: Warn = warnings.warn,
) -> xr.DataTree:
    """Run a scenario once for each of the seeds. The other arguments are those of :func:`flowsim.run`."""
    from ..scenario import as_scenario

    ensemble = as_scenario(scenario).replace({"seed": list(seeds)})
    return run(
        ensemble,
        output,
        overwrite=overwrite,
        resume=resume,
        checkpoint_every=checkpoint_every,
        progress=progress,
        warn=warn,
    )


class _Callable(ModuleType):
    """Makes the package callable: importing it would otherwise replace the function of the same name."""

    __call__ = staticmethod(run)


sys.modules[__name__].__class__ = _Callable
