"""`ds.flow`: what can be asked of a trajectory."""

from __future__ import annotations

import xarray as xr

# phases is imported where it is used: this module is loaded while xarray is, which may be while phases is


@xr.register_dataset_accessor("flow")
class FlowAccessor:
    """Questions to the root Dataset of a result: ``xarray.open_dataset("run.nc").flow``."""

    def __init__(self, dataset: xr.Dataset):
        self._dataset = dataset

    @property
    def phases(self) -> xr.Dataset:
        """Named instants and their definitions; :func:`flowsim.analysis.phases` takes thresholds of one's own."""
        from .phases import phases

        return phases(self._dataset)

    @property
    def best_cosine(self) -> xr.DataArray:
        """(time, neuron): each neuron's largest cosine with any centre, max_k cos(mu_k, w_j)."""
        return self._dataset["cosine"].max("cluster")

    @property
    def target_cosine(self) -> xr.DataArray:
        """(time, neuron): cosine of every targeted neuron with its target centre."""
        from .phases import target_cosine

        return target_cosine(self._dataset)

    def _repr_html_(self) -> str:
        from .notebook import phase_table

        return phase_table(self.phases)
