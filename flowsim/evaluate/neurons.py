"""Each neuron's own history."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from ..errors import UsageError
from .member import member
from .phases import ALIGNED, own_clusters

NEEDED = ("cosine", "target_cluster", "neuron_sign", "cluster_label")


def neurons(trajectory: xr.Dataset, seed: int | None = None, aligned: float = ALIGNED) -> pd.DataFrame:
    """A row for each neuron; of an ensemble, of the member with this seed.

    sign: of its output weight at time 0. target: its target cluster, -1 in the void region. changes: how often the centre
    that it is nearest to, among its own clusters', changed between kept instants. alignment_time: from when on its cosine
    with the centre it ends at is at least `aligned`, NaN where it is not in the end. final_cluster: whose centre it ends
    nearest to, among all; final_cosine: with that. final_log_norm: where it was kept. "Own" clusters are those that pull
    the neuron towards themselves.
    Raises UsageError where the result has not kept its cosines.
    """
    run = member(trajectory, seed)
    missing = [name for name in NEEDED if name not in run]
    if missing or not run.sizes["cluster"]:
        raise UsageError(
            f"histories of neurons need {', '.join(missing) or 'clusters'}, which this result does not have"
        )
    cosine = run["cosine"].transpose("time", "neuron", "cluster").values
    kept = {str(name): run[name].values for name in run.coords}
    own = own_clusters(kept)
    nearest = np.where(own, cosine, -np.inf).argmax(axis=-1)
    everyone = np.arange(cosine.shape[1])
    final = cosine[-1].argmax(axis=-1)
    there = cosine[:, everyone, final] >= aligned
    # the instant after the last one at which the neuron was not there
    since = len(there) - there[::-1].argmin(axis=0)
    since = np.where(there.all(axis=0), 0, since)
    table = {
        "sign": kept["neuron_sign"].astype(int),
        "target": kept["target_cluster"].astype(int),
        "changes": (np.diff(nearest, axis=0) != 0).sum(axis=0) * own.any(axis=1),
        "alignment_time": np.where(there[-1], run["time"].values[np.minimum(since, len(there) - 1)], np.nan),
        "final_cluster": final,
        "final_cosine": cosine[-1, everyone, final],
    }
    if "log_norm" in run:
        table["final_log_norm"] = run["log_norm"].transpose("time", "neuron").values[-1]
    return pd.DataFrame(table, index=pd.Index(everyone, name="neuron"))
