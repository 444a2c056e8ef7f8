"""The neurons at a sequence of instants, small enough to travel within a page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ...arrays import Floats, Integers
from ..run import Run
from ..summary import evenly
from .curves import Absent, cluster_name

#: At most so many instants, so many neurons, so many cosines of a run, and so many of all runs of a page.
FRAMES, NEURONS, COSINES, ALL_COSINES = 100, 400, 1_200_000, 3_000_000
#: Fewer instants than this only where the run kept fewer.
FEWEST_FRAMES = 20
#: Cosines travel as 16-bit integers, this many for 1.
UNIT = 32767


def frames(run: Run, among: int = 1) -> dict[str, Any] | Absent:
    """Cosines (frame, neuron, cluster) and sizes (frame, neuron) of neurons, sorted by the centre that each ends at.

    Of an ensemble these are of its first member. among: of how many runs of the page this is one.
    """
    run = run.first
    if "cosine" not in run.trajectory or not run.trajectory["cosine"].size:
        why = "cosine is not in this file: it was left out of observe.variables, or the data have no centres."
        return Absent("frames", "Neurons through time", why)
    cosine = run.trajectory["cosine"].transpose("time", "neuron", "cluster")
    clusters, most_cosines = cosine.sizes["cluster"], min(COSINES, ALL_COSINES // among)
    chosen = _sorted(cosine.isel(time=-1).values)
    chosen = chosen[evenly(len(chosen), max(min(NEURONS, most_cosines // (FEWEST_FRAMES * clusters)), 1))]
    most = int(np.clip(most_cosines // (len(chosen) * clusters), FEWEST_FRAMES, FRAMES))
    instants = evenly(cosine.sizes["time"], most)
    values = cosine.isel(time=instants).values[:, chosen]
    coordinates = run.trajectory.coords
    return {
        "at": run.clock.values[instants],
        "neurons": chosen.tolist(),
        "of": cosine.sizes["neuron"],
        "names": _names(run, chosen),
        "sign": coordinates["neuron_sign"].values[chosen] if "neuron_sign" in coordinates else None,
        "iteration": coordinates["iteration"].values[instants] if "iteration" in coordinates else None,
        "clusters": [cluster_name(run, k) for k in range(clusters)],
        "cosine": base64.b64encode(np.rint(UNIT * np.nan_to_num(values)).astype("<i2").tobytes()).decode(),
        "unit": UNIT,
        "size": _sizes(run, instants, chosen),
        "centres": _two_centres(values[-1]),
    }


def _sorted(last: Floats) -> Integers:
    """Neurons by the centre that they end closest to, and by how close."""
    last = np.nan_to_num(last)
    return np.lexsort((-last.max(axis=1), last.argmax(axis=1)))


def _names(run: Run, chosen: Integers) -> list[str]:
    """The neurons' indices, with the output of each where there are several."""
    if "neuron_output" not in run.trajectory.coords:
        return [str(neuron) for neuron in chosen]
    output = run.trajectory["neuron_output"].values
    return [f"{neuron} (output {output[neuron]})" for neuron in chosen]


def _two_centres(last: Floats) -> list[int]:
    """The two that most neurons end at."""
    count = np.bincount(last.argmax(axis=1), minlength=last.shape[1])
    return sorted(np.argsort(-count, kind="stable")[:2].tolist())


def _sizes(run: Run, instants: Integers, chosen: Integers) -> Floats:
    """(frame, neuron): norm relative to the largest that is reached, 1 where norms were not kept."""
    if "log_norm" not in run.trajectory:
        return np.ones((len(instants), len(chosen)))
    log_norm = run.trajectory["log_norm"].transpose("time", "neuron").values
    with np.errstate(invalid="ignore"):  # weights that are all zero have no largest norm
        return np.exp(log_norm[np.ix_(instants, chosen)] - np.nanmax(log_norm))
