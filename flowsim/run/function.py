"""``flowsim.flow``: runs for networks that are JAX functions of a tree of arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError
from ..kinds.network import Handed, Network
from ..observe import OBSERVABLES
from ..problem import Data
from ..results.layout import COORDINATES, WEIGHTS
from ..scenario import Scenario
from ..scenario.flow import OF_OPTIMIZERS

if TYPE_CHECKING:
    import xarray as xr

    from . import Progress, Warn

#: The keys of [flow] and of [observe] that may be given by their names.
OF_FLOW = frozenset(
    (
        "method",
        "step",
        "batch",
        "iterations",
        "solver",
        "clock",
        "rtol",
        "certify",
        "wall_time",
        "merge",
        "rates",
        *OF_OPTIMIZERS,
    )
)
OF_OBSERVE = frozenset(
    ("times", "spacing", "variables", "snapshots", "probes", "grid", "eigenvalues", "kernel_samples")
)


def flow(
    apply: Callable[[Any, Any], Any] | None,
    params: Any,
    x: Any,
    y: Any,
    *,
    loss: str | Mapping[str, Any] = "square",
    until: Mapping[str, float] | None = None,
    observe: Mapping[str, Callable[[Any], Any]] | None = None,
    test: Sequence[Any] | None = None,
    units: str | Mapping[str, str] = "rows",
    degree: float | None = None,
    seed: int | Sequence[int] = 0,
    title: str = "",
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    resume: bool = False,
    checkpoint_every: float | None = None,
    progress: bool | Progress | None = None,
    warn: Warn = warnings.warn,
    **keys: Any,
) -> xr.DataTree:
    """Train a network that is a JAX function, by gradient flow or by descent, and return its result as :func:`flowsim.run`.

    apply: (params, x) -> outputs, (n,) or (n, k), for a batch x (n, …). None where params are a module of Equinox, or
    anything else that gives the output of a single x when it is called. params: any tree of arrays, or a function from a
    seed to such a tree. Its arrays of floating-point numbers are trained, in float64.
    x (n, …), y (n,), or (n, k) of vectors with the square loss, or (n,) classes from 0 with the cross-entropy; test: (x, y)
    that are not trained on. loss: its kind, or the keys of [loss]. until: the keys of flow.until.
    observe: name -> function of params, kept at every instant beside the loss.
    units: what errors of a flow are measured relative to: "rows", "columns" or "entries" of arrays, or each as a "whole";
    or such a word for some of the arrays by name. degree: L of apply(c params) = c^L apply(params), if homogeneous.
    seed: of batches, and what a function `params` is called with; several make an ensemble. keys: of [flow] and [observe],
    such as ``rtol``, ``method``, ``step``, ``times`` and ``snapshots``.
    What follows `title` is as for :func:`flowsim.run`; to resume, the same function is handed over again.
    Raises ScenarioError or UsageError before anything is computed or written.
    """
    from .simulate import simulate

    scenario = asked(
        apply, params, x, y, loss, until, observe or {}, test, units, degree, seed, {"title": title, **keys}
    )
    return simulate(scenario, output, overwrite, resume, progress, warn, checkpoint_every)


def asked(
    apply: Callable[[Any, Any], Any] | None,
    params: Any,
    x: Any,
    y: Any,
    loss: str | Mapping[str, Any],
    until: Mapping[str, float] | None,
    observe: Mapping[str, Callable[[Any], Any]],
    test: Sequence[Any] | None,
    units: str | Mapping[str, str],
    degree: float | None,
    seed: int | Sequence[int],
    keys: Mapping[str, Any],
) -> Scenario:
    """The scenario, with its network, that the arguments of :func:`flow` describe."""
    from ..kinds.trees import arrays_of, network_of, over_samples

    seeds = [seed] if isinstance(seed, int) else [int(one) for one in seed]
    x = np.asarray(x, dtype=float)
    start = params if callable(params) and not _is_module(params) else lambda seed: params
    if apply is None:
        apply, name = over_samples, type(params).__name__
    else:
        name = getattr(apply, "__qualname__", type(apply).__name__)
    taken = {*COORDINATES, *WEIGHTS, *OBSERVABLES, *observe}
    network, first = network_of(apply, start(seeds[0]), x.shape[1:], name=name, units=units, degree=degree, taken=taken)
    arrays = {seeds[0]: first, **{one: arrays_of(network, start(one)) for one in seeds[1:]}}
    data = Data(_flat(x), y, test=None if test is None else (_flat(np.asarray(test[0], dtype=float)), test[1]))
    whole = isinstance(seed, int)
    stored = [array if whole else np.stack(column) for array, *column in _columns(arrays)]
    scenario = Scenario(_sections(network, loss, until, seed if isinstance(seed, int) else seeds, keys))
    scenario = scenario.with_arrays(
        {"data": data.arrays(), "init": dict(zip((leaf.name for leaf in network.leaves), stored, strict=True))}
    )
    return scenario.with_network(Handed(network, arrays.__getitem__, dict(observe)))


def _sections(
    network: Network,
    loss: str | Mapping[str, Any],
    until: Mapping[str, float] | None,
    seed: int | list[int],
    keys: Mapping[str, Any],
) -> dict[str, Any]:
    unknown = keys.keys() - OF_FLOW - OF_OBSERVE - {"title"}
    if unknown:
        known = ", ".join(sorted(OF_FLOW | OF_OBSERVE))
        raise UsageError(f"flow: {', '.join(sorted(unknown))}: no such argument; keys of a scenario may be {known}")
    flow = {key: value for key, value in keys.items() if key in OF_FLOW}
    return {
        "title": keys["title"],
        "seed": seed,
        "data": {"kind": "table"},
        "model": {
            "kind": "function",
            "name": network.name,
            "paths": [leaf.path for leaf in network.leaves],
            "input_shape": list(network.input_shape),
            **({} if network.degree is None else {"homogeneity": network.degree}),
        },
        "init": {"shape": "given"},
        "loss": {"kind": loss} if isinstance(loss, str) else dict(loss),
        "flow": flow if until is None else {**flow, "until": dict(until)},
        "observe": {key: value for key, value in keys.items() if key in OF_OBSERVE},
    }


def _columns(arrays: Mapping[int, Sequence[Any]]) -> list[list[Any]]:
    """For each trained array: its values for the first seed, then for all seeds."""
    return [[column[0], *column] for column in zip(*arrays.values(), strict=True)]


def _flat(x: Any) -> Any:
    return x.reshape(len(x), -1) if x.ndim != 1 else x[:, None]


def _is_module(params: Any) -> bool:
    """Whether this is a module, that is a tree that can be called, rather than a function from seeds to trees."""
    from ..kinds.trees import is_leaf

    return not is_leaf(params)
