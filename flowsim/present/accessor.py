"""`ds.flow` and `tree.flow`: what can be asked of a trajectory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import xarray as xr

if TYPE_CHECKING:
    import pandas as pd

    from ..evaluate.scaling import Law
    from .sweeps import DrawnScaling

# the rest is imported where it is used: this module is loaded while xarray is, which may be while they are


@xr.register_datatree_accessor("flow")
@xr.register_dataset_accessor("flow")
class FlowAccessor:
    """Questions to a result, or to its root Dataset: ``flowsim.run(…).flow``, ``xarray.open_dataset("run.nc").flow``."""

    def __init__(self, result: xr.Dataset | xr.DataTree):
        self._result = result

    @property
    def _dataset(self) -> xr.Dataset:
        return self._result.to_dataset() if isinstance(self._result, xr.DataTree) else self._result

    @property
    def phases(self) -> xr.Dataset:
        """Named instants and their definitions; :func:`flowsim.evaluate.phases` takes thresholds of one's own."""
        from ..evaluate.phases import phases

        return phases(self._dataset)

    def phase(self, name: str, seed: int | None = None) -> xr.Dataset:
        """The part of the trajectory called "burn_in", "alignment", "growth", "convergence" or "late"; of an ensemble, of
        the member with this seed."""
        from ..evaluate.spans import phase

        return phase(self._dataset, name, seed)

    @property
    def neurons(self) -> pd.DataFrame:
        """Each neuron's own history, a row for each; :func:`flowsim.evaluate.neurons.neurons` says more."""
        from ..evaluate.neurons import neurons

        return neurons(self._dataset)

    @property
    def best_cosine(self) -> xr.DataArray:
        """(time, neuron): each neuron's largest cosine with any centre, max_k cos(mu_k, w_j)."""
        return self._dataset["cosine"].max("cluster")

    @property
    def target_cosine(self) -> xr.DataArray:
        """(time, neuron): cosine of every targeted neuron with its target centre."""
        from ..evaluate.phases import target_cosine

        return target_cosine(self._dataset)

    def scaling(
        self, name: str, over: str, law: Law = "power", confidence: float = 0.95, expected: float | None = None
    ) -> DrawnScaling:
        """The slope of a number of a sweep over a swept key; :func:`flowsim.evaluate.scaling.scaling` says more."""
        from ..evaluate.scaling import scaling
        from .sweeps import DrawnScaling

        return DrawnScaling(**vars(scaling(self._dataset, name, over, law, confidence, expected)))

    def _repr_html_(self) -> str:
        from ..evaluate.notebook import phase_table

        return phase_table(self.phases)

    @property
    def plot(self) -> Plots:
        """``ds.flow.plot.KIND(ax=None, **options)`` draws and returns the axes."""
        return Plots(self._result)


class Plots:
    """The plots of a trajectory, one method for each kind."""

    def __init__(self, result: xr.Dataset | xr.DataTree):
        self._result = result

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        from .kinds import KINDS, drawing

        if kind not in KINDS:
            raise AttributeError(f"no plot is called {kind!r}; there are {', '.join(KINDS)}")
        return drawing(self._result, kind)

    def __dir__(self) -> list[str]:
        from .kinds import KINDS

        return [*KINDS]
