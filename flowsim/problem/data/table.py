"""A user's own samples, from a file or from arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...scenario import Scenario, referenced_files
from ...scenario.data import Table
from .arrays import read_table
from .samples import Arrays, Samples


def read(scenario: Scenario, sibling: Samples | None, arrays: Arrays | None = None) -> Samples:
    """The training set of a ``table`` scenario, from the arrays, or else from the file that it names."""
    if sibling is not None:
        return sibling
    if arrays is None:
        try:
            arrays = read_table(referenced_files(scenario)["data.path"])
        except ValueError as error:
            raise scenario.error(("data.path", str(error))) from None
    return samples_of(scenario, arrays)


def samples_of(scenario: Scenario, arrays: Arrays) -> Samples:
    """The training set that a table of these arrays is. Raises ScenarioError with all that is wrong with them."""
    data = scenario.data
    assert isinstance(data, Table)
    by_cluster = data.supervision == "cluster"
    problems = [("data.path", text) for text in _problems(arrays, by_cluster or scenario.loss.kind != "square")]
    if by_cluster and "cluster" not in arrays:
        problems.append(("data.supervision", '"cluster" needs the array cluster, which this table does not have'))
    if problems:
        raise scenario.error(*problems)
    inputs, label = np.ascontiguousarray(arrays["x"]), np.ascontiguousarray(arrays["y"])
    if "cluster" in arrays:
        sample_cluster = arrays["cluster"].astype(np.int64)
        member = sample_cluster == np.arange(_cluster_count(arrays))[:, None]
        means = member @ inputs / member.sum(axis=1, keepdims=True) if "centers" not in arrays else arrays["centers"]
        centers = np.ascontiguousarray(means)
        cluster_label = np.sign(member @ label).astype(np.int64)
    else:
        sample_cluster = np.full(len(label), -1)
        centers, cluster_label = np.zeros((0, inputs.shape[1])), np.zeros(0, dtype=np.int64)
    return Samples.supervised(
        data.supervision,
        inputs=inputs,
        label=label,
        sample_cluster=sample_cluster,
        centers=centers,
        cluster_label=cluster_label,
    )


def _cluster_count(arrays: Arrays) -> int:
    return len(arrays["centers"]) if "centers" in arrays else int(arrays["cluster"].max()) + 1


def _problems(arrays: Arrays, labels: bool) -> Iterator[str]:
    missing = [name for name in ("x", "y") if name not in arrays]
    if missing:
        yield f"array {' and '.join(missing)} missing; a table needs x (samples, features) and y (samples)"
        return
    x, y = arrays["x"], arrays["y"]
    if x.ndim != 2 or 0 in x.shape:
        yield f"x has shape {x.shape}; expected (samples, features), neither of them 0"
        return
    for name in ("y", "cluster"):
        if name in arrays and arrays[name].shape != (len(x),):
            yield f"{name} has shape {arrays[name].shape}, but x has {len(x)} samples; expected ({len(x)},)"
    for name, array in arrays.items():
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            place = ", ".join(str(i) for i in bad[0])
            yield f"{name} has {len(bad)} values that are not finite, the first at [{place}]"
    if labels and not np.isin(y[np.isfinite(y)], (-1, 1)).all():
        yield 'y must be +1 or -1; real targets are for loss.kind = "square" with supervision = "class"'
    if "centers" in arrays and "cluster" not in arrays:
        yield "centers are given without cluster, the index of each sample's centre"
    if "centers" in arrays and (arrays["centers"].ndim != 2 or arrays["centers"].shape[1] != x.shape[1]):
        yield f"centers has shape {arrays['centers'].shape}; expected (clusters, {x.shape[1]})"
    elif "cluster" in arrays and np.isfinite(arrays["cluster"]).all():
        yield from _cluster_problems(arrays)


def _cluster_problems(arrays: Arrays) -> Iterator[str]:
    count = _cluster_count(arrays)
    found = np.unique(arrays["cluster"])
    if not np.isin(found, np.arange(count)).all():
        yield f"cluster must hold whole numbers from 0 to {count - 1}"
    elif len(found) < count and "centers" not in arrays:
        empty = sorted(set(range(count)) - set(found.astype(int)))
        yield f"clusters {empty} have no samples, so their centres are unknown; give centers or renumber"
