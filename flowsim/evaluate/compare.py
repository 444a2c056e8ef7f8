"""How far two trajectories of the same neurons on the same data are from each other, per neuron and over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from pydantic import ValidationError

from ..arrays import Booleans, Floats, Integers
from ..errors import UsageError
from ..kinds.data import DATA
from ..results.layout import leaf_names, snapshot_index
from ..results.stored import keys_of
from ..scenario.scenario import DEFAULT_TAGS
from .case import Case, Result, reopened

#: Two instants this close, relative to the end of what is compared, are the same. (Of logarithms, to 1 where that is less.)
SAME_INSTANT = 1e-9

#: What an answer about two results that are not of the same neurons on the same data begins with.
NOT_COMPARABLE = "these two cannot be compared: "

#: name -> what is compared
MEANINGS = {
    "cosine_difference": "largest difference |cos a - cos b| of a neuron's cosines with the cluster centres",
    "log_norm_difference": "log|w_a| - log|w_b|",
    "output_weight_difference": "|v_a - v_b| / |v_b|",
    "loss_ratio": "loss of a / loss of b",
    "angle": "angle between the weights of a and b, in radians",
    "relative_weight_distance": "|w_a - w_b| / |w_b|",
    "relative_array_distance": "|a - b| / |b| of each trained array, in the Frobenius norm",
}


def compare(a: Result, b: Result, *, seed: int | None = None) -> xr.Dataset:
    """The distance between two results at the instants that `a` has kept within the span of both.

    Along `time`: `cosine_difference`, `log_norm_difference`, `output_weight_difference` (time, neuron) and `loss_ratio`
    (time). Where `b` has kept the same instant its values are taken as they are; elsewhere its cosines, log norms, output
    weights and log loss are interpolated linearly between its neighbouring instants, and the coordinate `interpolated` is
    true. Along `snapshot`, the instants at which both have kept their weights: `angle` and `relative_weight_distance`
    (snapshot, neuron); biases are entries of the weights. Where a time of either is no float any more, instants are found,
    and `b` is interpolated, by `log10_time`, which is then a coordinate. What one of the two has not kept is left out.
    seed: the member, of ensembles. Raises UsageError where the two are not of the same neurons on the same data.
    """
    with reopened(a, seed) as first, reopened(b, seed) as second:
        _check_comparable(first, second)
        one, other = first.trajectory, second.trajectory
        logarithms = not (np.isfinite(one["time"]).all() and np.isfinite(other["time"]).all())
        instants = _common(one, other, "time", logarithms)
        time = one["time"][instants.place]
        found = xr.Dataset(coords={"time": time, "interpolated": ("time", instants.interpolated)})
        if "iteration" in one.coords:
            found = found.assign_coords(iteration=one["iteration"][instants.place])
        if logarithms:
            found = found.assign_coords(log10_time=("time", _log10(one, "time")[instants.place]))
            found["log10_time"].attrs = {"long_name": "log10 of flow time", "units": "1"}
        found = found.assign(_along_time(one, other, instants)).assign(_at_snapshots(one, other, logarithms))
        for name, variable in found.data_vars.items():
            variable.attrs = {"long_name": MEANINGS[str(name)], "units": "1"}
        found["interpolated"].attrs = {"long_name": "whether b is interpolated at this instant", "units": "1"}
        return found.load()


@dataclass(frozen=True)
class Instants:
    """The instants of a within the span of both. place (T,): where a has them; below (T,), share (T,): b there is
    (1 - share) of its instant `below` and `share` of the next one. interpolated (T,): 0 < share < 1."""

    place: Integers
    below: Integers
    share: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats, least: float = 0.0) -> Instants:
        """least: what closeness is relative to where the end is nearer to 0."""
        end = min(first[-1], second[-1])
        near = SAME_INSTANT * max(abs(end), least)
        place = np.flatnonzero(first <= end + near)
        time = first[place]
        below = np.clip(np.searchsorted(second, time, side="right") - 1, 0, max(len(second) - 2, 0))
        above = np.minimum(below + 1, len(second) - 1)
        length = second[above] - second[below]
        share = np.clip((time - second[below]) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        share = np.where(np.abs(time - second[below]) <= near, 0.0, share)
        return cls(place, below, np.where(np.abs(time - second[above]) <= near, 1.0, share))

    @property
    def interpolated(self) -> Booleans:
        return (self.share > 0) & (self.share < 1)

    def of_second(self, values: Floats) -> Floats:
        """(T, …) from b's values (its instants, …)."""
        share = self.share.reshape(-1, *[1] * (values.ndim - 1))
        low, high = values[self.below], values[np.minimum(self.below + 1, len(values) - 1)]
        with np.errstate(invalid="ignore"):  # between two infinite values there is nothing
            return np.where(share == 0, low, np.where(share == 1, high, (1 - share) * low + share * high))


def _common(one: xr.Dataset, other: xr.Dataset, along: str, logarithms: bool) -> Instants:
    """The instants of one run along `time` or `snapshot` within the span of both."""
    if not logarithms:
        return Instants.of(one[along].values, other[along].values)
    first, second = _log10(one, along), _log10(other, along)
    earliest = min(values[np.isfinite(values)].min(initial=0.0) for values in (first, second)) - 1.0
    return Instants.of(np.maximum(first, earliest), np.maximum(second, earliest), least=1.0)


def _log10(run: xr.Dataset, along: str) -> Floats:
    """log10 of the times along `time` or `snapshot`; -inf at time 0."""
    kept = {"time": "log10_time", "snapshot": "snapshot_log10_time"}[along]
    if kept in run.coords:
        return np.asarray(run[kept].values, dtype=float)
    with np.errstate(divide="ignore"):
        return np.log10(run[along].values)


def _along_time(one: xr.Dataset, other: xr.Dataset, instants: Instants) -> dict[str, xr.Variable]:
    def both(name: str) -> tuple[Floats, Floats]:
        return one[name].values[instants.place], instants.of_second(other[name].values)

    shared = {str(name) for name in one.data_vars.keys() & other.data_vars.keys()}
    found = {}
    if "cosine" in shared and one.sizes["cluster"]:
        first, second = both("cosine")
        found["cosine_difference"] = xr.Variable(("time", "neuron"), np.abs(first - second).max(axis=-1))
    if "log_norm" in shared:
        first, second = both("log_norm")
        found["log_norm_difference"] = xr.Variable(("time", "neuron"), first - second)
    if "output_weight" in shared:
        first, second = both("output_weight")
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.where(first == second, 0.0, np.abs(first - second) / np.abs(second))
        found["output_weight_difference"] = xr.Variable(("time", "neuron"), change)
    if "log10_loss" in shared:
        first, second = both("log10_loss")
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.where(first == second, 1.0, 10 ** (first - second))
        found["loss_ratio"] = xr.Variable(("time",), ratio)
    return found


def _at_snapshots(one: xr.Dataset, other: xr.Dataset, logarithms: bool) -> xr.Dataset:
    """Angles and distances where both have kept their weights."""
    arrays = [name for name in leaf_names(one) if name in other]
    if arrays:
        return _of_arrays(one, other, arrays, logarithms)
    if "direction" not in one or "direction" not in other:
        return xr.Dataset()
    instants = _common(one, other, "snapshot", logarithms)
    common = np.flatnonzero(~instants.interpolated)
    mine, theirs = instants.place[common], instants.below[common] + (instants.share[common] == 1)
    first, second = _directions(one, mine), _directions(other, theirs)
    chord = np.linalg.norm(first - second, axis=-1)
    dims = ("snapshot", "neuron")
    found = xr.Dataset(
        {"angle": (dims, 2 * np.arcsin(np.minimum(chord / 2, 1.0)))}, {"snapshot": one["snapshot"][mine]}
    )
    if logarithms:
        found = found.assign_coords(snapshot_log10_time=("snapshot", _log10(one, "snapshot")[mine]))
    if "log_norm" in one and "log_norm" in other:
        growth = _log_norm(one, mine) - _log_norm(other, theirs)
        with np.errstate(over="ignore"):
            distance = np.linalg.norm(np.exp(growth)[..., None] * first - second, axis=-1)
        found["relative_weight_distance"] = (dims, distance)
    return found


def _of_arrays(one: xr.Dataset, other: xr.Dataset, arrays: Sequence[str], logarithms: bool) -> xr.Dataset:
    """Of the trained arrays of ordinary networks."""
    instants = _common(one, other, "snapshot", logarithms)
    common = np.flatnonzero(~instants.interpolated)
    mine, theirs = instants.place[common], instants.below[common] + (instants.share[common] == 1)
    distances = []
    for name in arrays:
        first, second = (
            run[name].values[places].reshape(len(common), -1) for run, places in ((one, mine), (other, theirs))
        )
        size = np.linalg.norm(second, axis=1)
        distances.append(np.linalg.norm(first - second, axis=1) / np.where(size > 0, size, 1.0))
    found = {"relative_array_distance": (("snapshot", "array"), np.array(distances).T)}
    return xr.Dataset(found, {"snapshot": one["snapshot"][mine], "array": arrays})


def _directions(run: xr.Dataset, places: Integers) -> Floats:
    """(snapshot, neuron, feature + bias): unit rows."""
    direction = run["direction"].values[places]
    if "bias_weight" not in run:
        return direction
    return np.concatenate([direction, run["bias_weight"].values[places][..., None]], axis=-1)


def _log_norm(run: xr.Dataset, places: Integers) -> Floats:
    return np.asarray(run["log_norm"].values[snapshot_index(run)[places]])


def _check_comparable(first: Case, second: Case) -> None:
    problems = list(_differences(first, second))
    if problems:
        raise UsageError(NOT_COMPARABLE + "; ".join(problems))


def _differences(first: Case, second: Case) -> Iterator[str]:
    """Why two results are not of the same neurons on the same data, every reason. Their scenarios need not be readable any
    more."""
    one, other = first.trajectory, second.trajectory
    apart = False
    trained = [{name: run[name].shape[1:] for name in leaf_names(run)} for run in (one, other)]
    if trained[0] != trained[1] and all("snapshot" in run.dims for run in (one, other)):
        yield f"the trained arrays of a are {trained[0]}, those of b {trained[1]}"
    for name in ("neuron", "cluster", "feature"):
        sizes = one.sizes.get(name), other.sizes.get(name)
        if None not in sizes and sizes[0] != sizes[1]:
            apart |= name == "neuron"
            yield f"a has {sizes[0]} {name}s and b has {sizes[1]}"
    if first.seed != second.seed:
        yield f"a is of seed {first.seed} and b of seed {second.seed}, so their random draws differ"
    if not _same_data(first.tree, second.tree):
        yield "they have different data"
    if "neuron_sign" in one.coords and "neuron_sign" in other.coords and not apart:
        differ = np.count_nonzero(one["neuron_sign"].values != other["neuron_sign"].values)
        if differ:
            yield f"{differ} of their neurons have output weights of different signs"


def _same_data(first: xr.DataTree, second: xr.DataTree) -> bool:
    """By the scenarios, and by the samples themselves where they came from a file."""
    if _data(first) != _data(second):
        return False
    kept = [tree.children.get("data") for tree in (first, second)]
    if kept[0] is None or kept[1] is None:
        return kept[0] is kept[1]
    return kept[0].to_dataset(inherit=False).equals(kept[1].to_dataset(inherit=False))


def _data(tree: xr.DataTree) -> dict[str, Any]:
    """The section [data], defaults included where this version of flowsim can read it; a table without its path."""
    tag, default = DEFAULT_TAGS["data"]
    given = {tag: default, **keys_of(tree.attrs).get("data", {})}
    kind = DATA.get(given[tag])
    if kind is None:
        return given
    try:
        known = kind.model_validate(given).model_dump()
    except ValidationError:
        known = given
    return {key: value for key, value in known.items() if not (kind.takes_arrays and key == "path")}
