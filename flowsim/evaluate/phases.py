"""Named instants of a trajectory, how each was defined, and the parts of the trajectory that they tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..arrays import Floats, Integers
from ..observe import GROWN

#: A neuron is aligned when its cosine with its target centre is at least this.
ALIGNED = 0.95
#: The loss has converged when it is within this factor of its final value.
CONVERGED = 2.0
#: A neuron averages the centres of its sign when its smallest cosine with them is at least this share of its largest.
AVERAGED = 0.9
#: A neuron has been amplified when its cosine with the XOR centre it captures is at least this.
AMPLIFIED = 0.5
#: Cosines with opposite centres add up to no more than this.
ROUNDING = 1e-6

#: Larger logarithms of times are shown themselves.
FAR = 100.0

#: What phases are found from -> its dimensions, beside `seed` in an ensemble.
NEEDED = {
    "cosine": ("time", "neuron", "cluster"),
    "target_cluster": ("neuron",),
    "log_norm": ("time", "neuron"),
    "log10_loss": ("time",),
    "accuracy": ("time",),
    "active_fraction": ("time", "neuron", "cluster"),
    "neuron_sign": ("neuron",),
    "neuron_output": ("neuron",),
    "cluster_label": ("cluster",),
}
#: Phases of particular papers, left out where no run reaches them.
PARTICULAR = ("shared_activation", "averaging", "amplification", "gate_alignment")

Booleans = NDArray[np.bool_]


def phases(trajectory: xr.Dataset, aligned: float = ALIGNED, converged: float = CONVERGED) -> xr.Dataset:
    """The instants of a trajectory that its variables allow, along dimension `phase`; of an ensemble, also along `seed`.

    instant: the first saved time of the phase's condition, NaN where the run does not reach it; those in PARTICULAR are
    left out there. log10_instant: its log10, of a run on the loss clock, whose times may be inf.
    definition: the condition in words, thresholds included.
    """
    definitions = _definitions(aligned, converged)
    ensemble = "seed" in trajectory.dims
    lead = ("seed",) if ensemble else ()
    needed = {
        name: trajectory[name].variable.transpose(*lead, *dims, missing_dims="ignore").values
        for name, dims in NEEDED.items()
        if name in trajectory
    }
    members = range(trajectory.sizes["seed"]) if ensemble else [...]
    found = [
        _places(
            trajectory.sizes["time"],
            {name: values[member] if values.ndim > len(NEEDED[name]) else values for name, values in needed.items()},
            aligned,
            converged,
        )
        for member in members
    ]
    names = [name for name in definitions if _is_there(name, found)]
    places = np.array([[one.get(name, np.nan) for one in found] for name in names]).reshape(-1, len(found))
    clocks = {"instant": ("time", "first time of the phase")}
    if "log10_time" in trajectory.coords:
        clocks["log10_instant"] = ("log10_time", "log10 of the first time of the phase")
    dims = ("phase", "seed") if ensemble else ("phase",)
    coordinates = {"seed": trajectory["seed"]} if ensemble and "seed" in trajectory.coords else {}
    return xr.Dataset(
        {
            **{
                name: (
                    dims,
                    _at(trajectory[clock].values, places if ensemble else places[:, 0]),
                    {"long_name": words, "units": "1"},
                )
                for name, (clock, words) in clocks.items()
            },
            "definition": (
                "phase",
                [definitions[name] for name in names],
                {"long_name": "what defines it", "units": "1"},
            ),
        },
        {"phase": ("phase", names, {"long_name": "phase", "units": "1"}), **coordinates},
    )


def _at(clock: Floats, places: Floats) -> Floats:
    """The clock at these places, NaN where there is none."""
    there = ~np.isnan(places)
    found = np.full(places.shape, np.nan)
    found[there] = clock[places[there].astype(int)]
    return found


def own_clusters(kept: Mapping[str, Any]) -> Booleans:
    """(neuron, cluster): whether the centre pulls the neuron towards itself. kept: `neuron_sign`, `cluster_label` and,
    where every cluster has an output, `neuron_output`, of one run."""
    sign, label = np.asarray(kept["neuron_sign"]), np.asarray(kept["cluster_label"])
    if "neuron_output" not in kept:
        return np.asarray(sign[:, None] == label)
    return (np.asarray(kept["neuron_output"])[:, None] == np.arange(len(label))) == (sign[:, None] > 0)


def _is_there(name: str, found: Sequence[Mapping[str, float]]) -> bool:
    places = [one[name] for one in found if name in one]
    return bool(places) and not (name in PARTICULAR and np.isnan(places).all())


def _definitions(aligned: float, converged: float) -> dict[str, str]:
    return {
        "burn_in": "from here on no targeted neuron changes which of its own clusters' centres it is nearest to",
        "alignment": f"from here on every targeted neuron's cosine with its target centre is at least {aligned:g}",
        "median_alignment": f"from here on the median over the targeted neurons of that cosine is at least {aligned:g}",
        "median_best_alignment": (
            f"from here on the median over all neurons of the largest cosine with any centre is at least {aligned:g}"
        ),
        "growth": f"the total mass, the sum of squared norms, first is {GROWN:g} times its initial value",
        "half_loss": "the loss first is at most half its initial value",
        "separation": "from here on every training sample has a positive margin",
        "convergence": f"from here on the loss, once larger, is within a factor {converged:g} of its final value",
        "shared_activation": (
            "from here on every sample activates every neuron of its own class (Li et al. 2025, Lemma 5.5)"
        ),
        "averaging": (
            f"from here on every targeted neuron's smallest cosine with its own clusters' centres, two or more, is at "
            f"least {AVERAGED:g} times its largest (Li et al. 2025, Theorem 4.5)"
        ),
        "amplification": (
            f"XOR: from here on the median over the targeted neurons of the cosine with their target centre is at least "
            f"{AMPLIFIED:g} (Frei et al. 2022, Lemma 4.10)"
        ),
        "gate_alignment": (
            "XOR: from here on every targeted neuron is active on all samples around its target centre and on none around "
            "the opposite one (Frei et al. 2022, Condition 4.7)"
        ),
    }


def _places(instants: int, kept: dict[str, Floats], aligned: float, converged: float) -> dict[str, float]:
    """The phases of a single run, as indices of kept instants; those left out for which it has no variables, no neurons or
    no instants."""
    found: dict[str, float] = {}
    observed = {name: values for name, values in kept.items() if NEEDED[name][0] == "time"}
    # of a member of an ensemble that stopped early, the instants at the end are NaN
    there = [~np.isnan(values).reshape(instants, -1).all(axis=1) for values in observed.values()]
    reached = np.flatnonzero(np.any(there, axis=0)).max(initial=-1) + 1
    if not reached:
        return found
    observed = {name: values[:reached] for name, values in observed.items()}
    if "cosine" in observed and observed["cosine"].shape[2]:
        # over a short last axis NumPy's own maximum is slow
        best = np.median(reduce(np.maximum, np.moveaxis(observed["cosine"], 2, 0)), axis=1)
        found["median_best_alignment"] = _from_then_on(best >= aligned)
    if "log_norm" in observed:
        doubled = 2 * observed["log_norm"]
        top = doubled.max(axis=1)
        log_mass = top + np.log(np.exp(doubled - top[:, None]).sum(axis=1))
        found["growth"] = _first(log_mass >= log_mass[0] + np.log(GROWN))
    if "log10_loss" in observed:
        log_loss = observed["log10_loss"]
        found["half_loss"] = _first(log_loss <= log_loss[0] - np.log10(2.0))
        found["convergence"] = _reached(log_loss <= log_loss[-1] + np.log10(converged))
    if "accuracy" in observed:
        found["separation"] = _from_then_on(observed["accuracy"] >= 1)
    return found | _of_targets(kept | observed, aligned)


def _of_targets(kept: Mapping[str, Any], aligned: float) -> dict[str, float]:
    """The phases that targeted neurons tell, and those of their own clusters."""
    found: dict[str, float] = {}
    active, label = kept.get("active_fraction"), kept.get("cluster_label")
    own = own_clusters(kept) if label is not None and "neuron_sign" in kept else None
    if active is not None and own is not None and own.any():
        found["shared_activation"] = _from_then_on(((active >= 1) | ~own).all(axis=(1, 2)))
    target = kept.get("target_cluster", np.zeros(0, dtype=int))
    neurons = np.flatnonzero(target >= 0)
    if "cosine" not in kept or not len(neurons):
        return found
    target, cosine = target[neurons], kept["cosine"]
    of_target = cosine[:, neurons, target]
    median = np.median(of_target, axis=1)
    found["alignment"] = _from_then_on(of_target.min(axis=1) >= aligned)
    found["median_alignment"] = _from_then_on(median >= aligned)
    if own is not None:
        found |= _of_own(cosine[:, neurons], own[neurons])
    if label is not None and _is_xor(cosine, label):
        found["amplification"] = _from_then_on(median >= AMPLIFIED)
        if active is not None:
            right = (active[:, neurons, target] >= 1) & (active[:, neurons, target ^ 1] <= 0)
            found["gate_alignment"] = _from_then_on(right.all(axis=1))
    return found


def _of_own(cosine: Floats, own: Booleans) -> dict[str, float]:
    """What the cosines (time, neuron, cluster) of targeted neurons with their own centres tell; own (neuron, cluster)."""
    # over a short last axis NumPy's own maximum is slow
    by_cluster, mask = np.moveaxis(cosine, 2, 0).copy(), own.T[:, None]
    largest = np.where(mask, by_cluster, -np.inf).max(axis=0)
    last = np.where(own, cosine[-1], -np.inf).argmax(axis=1)
    found = {"burn_in": _settled((cosine[:, np.arange(len(own)), last] >= largest).all(axis=1))}
    if (own.sum(axis=1) > 1).all():
        smallest = np.where(mask, by_cluster, np.inf).min(axis=0)
        found["averaging"] = _from_then_on((smallest >= AVERAGED * largest).all(axis=1))
    return found


def _is_xor(cosine: Floats, label: Integers) -> bool:
    """Whether the centres are +mu_1, -mu_1 (label +1), +mu_2, -mu_2 (label -1), as far as cosines with them tell."""
    return label.tolist() == [1, 1, -1, -1] and bool(np.abs(cosine[0, :, ::2] + cosine[0, :, 1::2]).max() <= ROUNDING)


def target_cosine(trajectory: xr.Dataset) -> xr.DataArray:
    """(time, neuron): cosine of every targeted neuron with its target centre; neurons without a target are left out.

    Of an ensemble (seed, time, neuron): its members differ in which neurons have a target, so the others are NaN.
    """
    if "seed" in trajectory.dims:
        target = trajectory["target_cluster"]
        own = trajectory["cosine"].isel(cluster=target.drop_vars(target.coords).clip(0))
        return own.where(target >= 0).transpose("seed", "time", "neuron")
    targeted = trajectory["cosine"].isel(neuron=np.flatnonzero(trajectory["target_cluster"].values >= 0))
    return targeted.isel(cluster=xr.DataArray(targeted["target_cluster"].values, dims="neuron"))


def moment(value: float, logarithm: bool = False, digits: int = 5) -> str:
    """A time, or that of a logarithm, in words: a power of ten where it is too large to be read."""
    if logarithm and value > FAR:
        return f"1e{value:.0f}" if value >= 10**3 else f"1e{value:.{digits}g}"
    return f"{10**value if logarithm else value:.{digits}g}"


# each of these gives the index of an instant, NaN where there is none
def _first(holds: Booleans) -> float:
    return float(holds.argmax()) if holds.any() else np.nan


def _reached(holds: Booleans) -> float:
    """As `_from_then_on`, for a condition that did not hold at the start."""
    return np.nan if holds[0] else _from_then_on(holds)


def _settled(holds: Booleans) -> float:
    """As `_from_then_on`, for a condition that always holds at the last instant: at least one before it has to agree."""
    return _from_then_on(holds) if len(holds) > 1 and holds[-2] else np.nan


def _from_then_on(holds: Booleans) -> float:
    """The first instant from which on the condition holds to the end."""
    if not holds[-1]:
        return np.nan
    broken = np.flatnonzero(~holds)
    return float(broken[-1] + 1 if len(broken) else 0)
