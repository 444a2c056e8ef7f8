"""Each neuron's own history."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from ..arrays import Booleans, Floats, Integers
from ..errors import UsageError
from .member import member
from .phases import ALIGNED, AVERAGED, own_clusters

#: fate of a neuron -> when it is given; the first that is true is the one
FATES = {
    "void region": "no centre pulls it at the start: it has no target",
    "aligned": "it ends aligned with its target centre",
    "other centre": "it ends aligned with another centre of its own",
    "merged": "it ends between several centres of its own, about as close to one as to the others",
    "boundary": "it began at the boundary between the regions of two of its own centres, about as close to both",
    "on its way": "it had not got to its target when the run ended; one that has not grown was left behind by others",
}

NEEDED = ("cosine", "target_cluster", "neuron_sign", "cluster_label")


def neurons(trajectory: xr.Dataset, seed: int | None = None, aligned: float = ALIGNED) -> pd.DataFrame:
    """A row for each neuron; of an ensemble, of the member with this seed.

    sign: of its output weight at time 0. target: its target cluster, -1 in the void region. changes: how often the centre
    that it is nearest to, among its own clusters', changed between kept instants. alignment_time: from when on its cosine
    with the centre it ends at is at least `aligned`, NaN where it is not in the end. final_cluster: whose centre it ends
    nearest to, among all; final_cosine: with that. fate: which of FATES. final_log_norm: where it was kept. "Own" clusters
    are those that pull the neuron towards themselves.
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
    table["fate"] = _fates(cosine[0], cosine[-1], own, table["target"], aligned)
    if "log_norm" in run:
        table["final_log_norm"] = run["log_norm"].transpose("time", "neuron").values[-1]
    return pd.DataFrame(table, index=pd.Index(everyone, name="neuron"))


def fates(trajectory: xr.Dataset) -> dict[str, list[int]]:
    """Which of FATES -> the neurons of a run that have it; none where the file does not
    tell."""
    try:
        told = neurons(trajectory.isel(time=[0, -1]))["fate"]
    except UsageError:
        return {}
    return {fate: [*map(int, told.index[told == fate])] for fate in FATES if (told == fate).any()}


def _fates(start: Floats, end: Floats, own: Booleans, target: Integers, aligned: float) -> list[str]:
    """Which of FATES each neuron has, from its cosines (neuron, cluster) at both ends."""
    everyone = np.arange(len(end))
    own_end = np.where(own, end, -np.inf)
    rules = {
        "void region": target < 0,
        "aligned": end[everyone, target] >= aligned,
        "other centre": own_end.max(axis=1) >= aligned,
        "merged": _between(own_end),
        "boundary": _between(np.where(own, start, -np.inf)),
    }
    return np.select([*rules.values()], [*rules], default="on its way").tolist()


def _between(cosine: Floats) -> Booleans:
    """(neuron,): whether the second largest of the cosines (neuron, cluster) is about as large as the largest."""
    if cosine.shape[1] < 2:
        return np.zeros(len(cosine), dtype=bool)
    second, first = np.moveaxis(np.sort(cosine, axis=1)[:, -2:], 1, 0)
    return np.asarray((first > 0) & (second >= AVERAGED * first))
