"""The samples of a run as a hidden layer of its trained network sees them, to train on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..arrays import Floats
from ..durable import written_aside
from ..errors import UsageError
from ..kinds.in_memory import Data
from ..kinds.names import nearest
from ..kinds.network import Layer
from ..kinds.samples import Samples
from ..kinds.tables import means, problems
from ..observe.parameters import HIDDEN
from ..threads import blas_threads
from .case import Case, Result, reopened
from .robustness.trained import network_of, ordinary_of

#: Inputs (n, d) -> their features (n, p).
Features = Callable[[Floats], Floats]
#: Samples whose numbers between inputs and features are in memory at a time.
AT_A_TIME = 1024
#: Attributes of a result that a table of its features keeps.
ORIGIN = ("scenario", "scenario_sha256", "flowsim_version")


def embed(result: Result, *, layer: str | Layer, at: int = -1, seed: int | None = None) -> Data:
    """Features of a trained network as data: ``flowsim.run(scenario, data=flowsim.embed("run.nc", layer="conv_2"))``.

    layer: the name of a hidden layer, which stands for what the layer above sees of it; of a network that is a function of
    a tree of arrays also a function of JAX, (params, x) -> (n, ...). at: which of the instants at which weights were kept,
    0 the start; an index below 0 counts from the last one. seed: of an ensemble, the member.

    Labels and clusters are those of the run, held-out samples its own, and centres the means of the clusters' features.
    Raises UsageError where there is no such layer, and where no weights were kept.
    """
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        features, samples = _features(case, layer, at), case.problem.samples
        test = None if samples.test is None else tuple(_table(features, samples.test).values())
        return Data(**_table(features, samples), test=test)


def write_embedding(
    result: Result,
    file: Path,
    *,
    layer: str,
    samples: Literal["train", "test"] = "train",
    at: int = -1,
    seed: int | None = None,
) -> tuple[int, int]:
    """Write the same as an NPZ file that ``data.path``, or of test samples ``data.test.path``, takes, beside the scenario
    that the features come from. Returns how many samples and features it has.

    Raises UsageError as `embed`, and where no samples were held out or some clusters have none.
    """
    with reopened(result, seed) as case, blas_threads(case.reduced.operations):
        features, chosen = _features(case, layer, at), case.problem.samples if samples == "train" else case.problem.test
        if chosen is None:
            raise UsageError(f"{case.name}: the run held no samples out; see data.test")
        found = _table(features, chosen)
        if samples == "train":
            if wrong := "; ".join(problems(found, labels=False, vectors=True)):
                raise UsageError(f"{case.name}: {wrong}")
            if "cluster" in found:
                found["centers"] = means(found["x"], found["cluster"])
        origin = {name: str(case.tree.attrs[name]) for name in ORIGIN if name in case.tree.attrs}
    arrays: dict[str, Any] = {**found, "layer": layer, "samples": samples, **origin}
    with written_aside(file) as aside, aside.open("wb") as opened:
        np.savez(opened, **arrays)
    rows, columns = found["x"].shape
    return rows, columns


def _features(case: Case, layer: str | Layer, at: int) -> Features:
    """Of the network at an instant."""
    snapshot = case.weights_at(at, "at")
    if case.problem.network is None:
        _check(case, layer, (HIDDEN,))
        return network_of(case.setting, snapshot).signal
    from ..kinds.trees import layers_of  # with JAX, which other networks do without

    network = ordinary_of(case.setting, snapshot)
    if not callable(layer):
        _check(case, layer, layers_of(network.network))
    return lambda x: network.signal(x, layer)


def _check(case: Case, layer: str | Layer, known: tuple[str, ...]) -> None:
    kind = case.scenario.model.kind
    if not known:
        instead = "from Python, layer may be a function (params, x)"
        raise UsageError(f"{case.name}: a network of kind {kind} names no hidden layers; {instead}")
    if callable(layer):
        raise UsageError(f'{case.name}: a network of kind {kind} has no tree of params; its layer is "{known[0]}"')
    if layer not in known:
        raise UsageError(
            f'{case.name}: no hidden layer is called "{layer}"; {nearest(layer, known)}there are {", ".join(known)}'
        )


def _table(features: Features, samples: Samples) -> dict[str, Floats]:
    """x, y and, where known, cluster."""
    x = samples.stored
    first = features(x[:AT_A_TIME])
    found = np.empty((len(x), first.shape[1]))
    found[:AT_A_TIME] = first
    for begin in range(AT_A_TIME, len(x), AT_A_TIME):
        found[begin : begin + AT_A_TIME] = features(x[begin : begin + AT_A_TIME])
    table = {"x": found, "y": samples.label}
    return table | ({"cluster": samples.sample_cluster.astype(float)} if (samples.sample_cluster >= 0).all() else {})
