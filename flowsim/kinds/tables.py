"""Samples from arrays x, y and, where known, cluster and centers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Integers
from ..errors import Issue, ScenarioError
from .drawing import Drawing
from .files import read_table
from .losses import LOSSES
from .pixels import AT_A_TIME, slices
from .samples import Arrays, Samples, Supervision

#: What is to be said of data that take arrays from outside where none are named.
UNNAMED_DATA = (
    "is required: the path of a CSV, NPZ or NetCDF file, of an x.npy or of a Zarr store; only from Python may it be left "
    "out, for data in memory: flowsim.run(scenario, data=flowsim.Data(x, y))"
)
#: What arrays of held-out samples are called beside those of the training set.
HELD_OUT = {"x": "test_x", "y": "test_y", "cluster": "test_cluster"}


def read_arrays(scenario: Drawing, key: str) -> dict[str, Floats]:
    """What the file has that a key of the scenario names. Raises ScenarioError where that is no table."""
    if key not in scenario.files:
        raise scenario.error((key, UNNAMED_DATA))
    try:
        return read_table(scenario.files[key])
    except ValueError as error:
        raise scenario.error((key, str(error))) from None


def read_held_out(scenario: Drawing, samples: Samples, supervision: Supervision) -> Samples:
    """The samples to be held out beside those that are trained on: of arrays that the scenario has with it, or else of
    ``data.test.path``."""
    held = scenario.arrays("data") or {}
    arrays = {name: held[stored] for name, stored in HELD_OUT.items() if stored in held}
    if not arrays:
        arrays = read_arrays(scenario, "data.test.path")
    wrong = list(
        held_out_problems(arrays, samples, supervision, labels_only(scenario, supervision), vectors_too(scenario))
    )
    if wrong:
        raise table_error(scenario, [("data.test.path", text) for text in wrong])
    return held_out_of_arrays(arrays, samples, supervision)


def table_error(scenario: Drawing, wrong: Sequence[tuple[str, str]]) -> ScenarioError:
    """(key, message) of each thing wrong with a table's arrays; those in memory have no place in the scenario."""
    if scenario.data.file != "":
        return scenario.error(*wrong)
    spoken = {"data.path": ("", ""), "data.test.path": ("", "test: ")}
    named = [(*spoken.get(key, (key, "")), text) for key, text in wrong]
    return ScenarioError([Issue(key, f"{of}{text}", "Data") for key, of, text in named])


def labels_only(scenario: Drawing, supervision: Supervision) -> bool:
    """Whether y has to hold labels +1/-1 rather than any targets."""
    loss = scenario.loss
    return supervision == "cluster" or not (
        loss.of_any_target or (loss.formulas.classes and not scenario.model.two_layers)
    )


def vectors_too(scenario: Drawing) -> bool:
    """Whether targets may be vectors."""
    return scenario.loss.of_any_target and not scenario.model.two_layers


def of_arrays(arrays: Arrays, supervision: Supervision) -> Samples:
    """The training set of arrays x, y and, where known, cluster and centers; without centers, these are the means."""
    inputs, label = own(arrays["x"]), own(arrays["y"])
    if "cluster" in arrays:
        sample_cluster = arrays["cluster"].astype(np.int64)
        member = sample_cluster == np.arange(_cluster_count(arrays))[:, None]
        centers = own(arrays["centers"] if "centers" in arrays else means(inputs, sample_cluster))
        cluster_label = np.sign(member @ label).astype(np.int64)
    else:
        sample_cluster = np.full(len(label), -1)
        centers, cluster_label = np.zeros((0, inputs.shape[1])), np.zeros(0, dtype=np.int64)
    return Samples.supervised(
        supervision,
        inputs=inputs,
        label=label,
        sample_cluster=sample_cluster,
        centers=centers,
        cluster_label=cluster_label,
    )


def held_out_of_arrays(arrays: Arrays, samples: Samples, supervision: Supervision) -> Samples:
    """Held-out samples of arrays x, y and, where known, cluster, an index of the centres of the training set `samples`."""
    known = "cluster" in arrays and len(samples.centers) > 0
    return Samples.supervised(
        supervision,
        inputs=own(arrays["x"]),
        label=own(arrays["y"]),
        sample_cluster=arrays["cluster"].astype(np.int64) if known else np.full(len(arrays["y"]), -1),
        centers=samples.centers,
        cluster_label=samples.cluster_label,
    )


def held_out_problems(
    arrays: Arrays, samples: Samples, supervision: Supervision, labels: bool, vectors: bool
) -> Iterator[str]:
    """What is wrong with arrays of held-out samples beside a training set. labels, vectors: as in `problems`."""
    # the centres are those of the training set, whatever else the file has
    arrays = {name: array for name, array in arrays.items() if name != "centers"}
    if supervision == "cluster" and "cluster" not in arrays:
        yield 'supervision = "cluster" needs the array cluster, which this table does not have'
    cluster = arrays.pop("cluster", None)
    found = list(problems(arrays, labels, vectors))
    yield from found
    if found:
        return
    if arrays["y"].shape[1:] != samples.targets.shape[1:]:
        yield f"y has shape {arrays['y'].shape}, the training targets {samples.targets.shape}"
    count, features = len(arrays["x"]), samples.features
    if arrays["x"].shape[1] != features:
        yield f"x has {arrays['x'].shape[1]} features, the training data have {features}"
    if cluster is None or not len(samples.centers):
        return
    if cluster.shape != (count,):
        yield f"cluster has shape {cluster.shape}, but x has {count} samples; expected ({count},)"
    elif not np.isin(cluster, np.arange(len(samples.centers))).all():
        yield f"cluster must hold whole numbers from 0 to {len(samples.centers) - 1}, the clusters of the training data"


def rows_of(arrays: Arrays, rows: Integers) -> dict[str, Floats]:
    """The arrays of these samples, without those held out; centers are of no sample."""
    training = {name: array for name, array in arrays.items() if name not in HELD_OUT.values()}
    if np.array_equal(rows, np.arange(len(arrays["x"]))):  # none is held out, and none has to be copied
        return training
    return {name: array if name == "centers" else array[rows] for name, array in training.items()}


def _cluster_count(arrays: Arrays) -> int:
    return len(arrays["centers"]) if "centers" in arrays else int(arrays["cluster"].max()) + 1


def means(inputs: Floats, cluster: NDArray[Any]) -> Floats:
    """(K, d): those of clusters 0 to K - 1"""
    member = cluster == np.arange(int(cluster.max()) + 1)[:, None]
    return member @ inputs / member.sum(axis=1, keepdims=True)


def own(array: Floats) -> Floats:
    """In the order of C, and to be written to, for compiled code is of one type of array; a copy where need be."""
    return np.require(array, requirements=["C", "W"])


def problems(arrays: Arrays, labels: bool, vectors: bool = False) -> Iterator[str]:
    """What is wrong with a table of these arrays. labels: whether y has to hold +1/-1 rather than any targets. vectors:
    whether it may be (samples, k)."""
    missing = [name for name in ("x", "y") if name not in arrays]
    if missing:
        yield f"array {' and '.join(missing)} missing; a table needs x (samples, features) and y (samples)"
        return
    x, y = arrays["x"], arrays["y"]
    if x.ndim != 2 or 0 in x.shape:
        yield f"x has shape {x.shape}; expected (samples, features), neither of them 0"
        return
    if vectors and y.ndim == 2 and y.shape[1] > 1 and len(y) == len(x):
        if "cluster" in arrays:
            yield "cluster is given with vectors y; clusters have labels +1/-1 or real targets"
    elif y.shape != (len(x),):
        yield f"y has shape {y.shape}, but x has {len(x)} samples; expected ({len(x)},)"
    for name in ("cluster",):
        if name in arrays and arrays[name].shape != (len(x),):
            yield f"{name} has shape {arrays[name].shape}, but x has {len(x)} samples; expected ({len(x)},)"
    for name, array in arrays.items():
        bad, place = _not_finite(array)
        if bad:
            yield f"{name} has {bad} values that are not finite, the first at [{place}]"
    if labels and not np.isin(y[np.isfinite(y)], (-1, 1)).all():
        free = " or ".join(f'"{name}"' for name, loss in LOSSES.items() if loss.of_any_target)
        yield f'y must be +1 or -1; real targets are for loss.kind = {free} with supervision = "class"'
    if "centers" in arrays and "cluster" not in arrays:
        yield "centers are given without cluster, the index of each sample's centre"
    if "centers" in arrays and (arrays["centers"].ndim != 2 or arrays["centers"].shape[1] != x.shape[1]):
        yield f"centers has shape {arrays['centers'].shape}; expected (clusters, {x.shape[1]})"
    elif "cluster" in arrays and np.isfinite(arrays["cluster"]).all():
        yield from _cluster_problems(arrays)


def _not_finite(array: Floats) -> tuple[int, str]:
    """(how many values are not finite, the indices of the first one)"""
    count, place = 0, ""
    for rows in slices(len(array), max(AT_A_TIME // max(array[:1].size, 1), 1)):
        bad = np.argwhere(~np.isfinite(array[rows]))
        if len(bad) and not count:
            place = ", ".join(str(i) for i in bad[0] + [rows.start, *[0] * (array.ndim - 1)])
        count += len(bad)
    return count, place


def _cluster_problems(arrays: Arrays) -> Iterator[str]:
    # without centres, every cluster has a sample, so there are no more of them
    most = len(arrays["cluster"])
    if "centers" not in arrays and not (arrays["cluster"] < most).all():
        largest = arrays["cluster"].max()
        yield f"cluster has the index {largest:g}; without centers, that of {most} samples is at most {most - 1}"
        return
    count = _cluster_count(arrays)
    found = np.unique(arrays["cluster"])
    if not np.isin(found, np.arange(count)).all():
        yield f"cluster must hold whole numbers from 0 to {count - 1}"
    elif len(found) < count and "centers" not in arrays:
        empty = sorted(set(range(count)) - set(found.astype(int)))
        yield f"clusters {empty} have no samples, so their centres are unknown; give centers or renumber"
