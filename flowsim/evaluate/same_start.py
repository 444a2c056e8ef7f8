"""Whether a problem that was built again is the one that a run started from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from ..observe import OBSERVABLES, Instant, Setting
from ..solve import Snapshot
from ..threads import blas_threads

#: Observables at time 0 that tell problems apart: of the weights, the centres and the samples.
KNOWN_BY = ("log_norm", "cosine", "margin", "log10_loss")
#: What values of the same problem may differ by: engines in float32 round to about 1e-4, other draws differ by far more.
SAME = 1e-3
#: Below this logarithm a norm is no normal float, and what rounds it says little.
NORMAL = -700.0


def differences(setting: Setting, run: xr.Dataset) -> list[str]:
    """What a trajectory holds of its start that the problem does not have. Nothing where the start was cut off."""
    if not run.sizes.get("time") or run["time"].values[0] != 0:
        return []
    return [name for name, kept, own in _pairs(setting, run) if not _same(name, kept, own)]


def _pairs(setting: Setting, run: xr.Dataset) -> Iterator[tuple[str, Any, Any]]:
    """(name, what the trajectory holds, what the problem has)"""
    problem, reduced = setting.problem, setting.reduced
    fixed = {
        "label": problem.label,
        "sample_cluster": problem.sample_cluster,
        "cluster_label": problem.cluster_label,
    }
    if problem.two_layers:
        fixed["neuron_sign"] = problem.weights.output_sign
    yield from ((name, run[name].values, own) for name, own in fixed.items() if name in run.coords)
    if "direction" in run and run["snapshot"].values[0] == 0:
        yield "direction", run["direction"].isel(snapshot=0).values, problem.hidden_direction
    first = run.isel(time=0)
    start = Instant(setting, Snapshot.first(reduced))
    with blas_threads(reduced.operations):
        for name in KNOWN_BY:
            observable = OBSERVABLES[name]
            if name in first and observable.exists(setting):
                own = observable.value(start)
                yield name, first[name].values, own[..., reduced.representative] if "sample" in observable.dims else own


def _same(name: str, kept: Any, own: Any) -> bool:
    kept, own = np.asarray(kept, dtype=float), np.asarray(own, dtype=float)
    if kept.shape != own.shape:
        return False
    if name == "log_norm":
        kept, own = np.maximum(kept, NORMAL), np.maximum(own, NORMAL)
    # margins may be of any size
    size = np.abs(kept[np.isfinite(kept)]).max(initial=0.0) if name == "margin" else 1.0
    return bool(np.allclose(kept, own, rtol=SAME if name == "log10_loss" else 0.0, atol=SAME * size, equal_nan=True))
