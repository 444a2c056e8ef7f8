"""What hidden layers of an ordinary network have learned: how many of their units are active, and inputs that excite them
(Allen-Zhu & Li 2022, Sections 4.1 and 8.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import UsageError
from ..kinds.names import nearest
from ..kinds.pixels import mean_norm
from ..kinds.streams import stream
from ..observe import Setting
from ..problem import Problem
from ..scenario import Scenario
from ..solve import Snapshot
from .robustness.trained import ordinary_of
from .stage_ends import ends

NO_LAYERS = "needs a network whose hidden layers say what their activation is taken of, such as one of images"


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where the features of layers are asked for that the network does not have."""
    wanted = scenario.evaluate.features
    if wanted is None:
        return
    known = _layers(problem)
    if not known:
        raise scenario.error(("evaluate.features", NO_LAYERS))
    for index, name in enumerate(wanted.layers):
        if name not in known:
            told = f'no hidden layer is called "{name}"; {nearest(name, known)}there are {", ".join(known)}'
            raise scenario.error((f"evaluate.features.layers[{index}]", told))


def features_group(scenario: Scenario, setting: Setting, weights: Snapshot, run: xr.Dataset) -> xr.Dataset:
    """The group `features` of a result. weights: all that were kept; run: the root group. The scenario asks for one that
    its problem has."""
    wanted = scenario.evaluate.features
    assert wanted is not None, "nobody asks for features"
    if not len(weights.time):
        raise UsageError("features are those of weights that were kept; see observe.snapshots")
    random, problem = stream(scenario.single_seed, "features"), setting.problem
    known, at = _layers(problem), ends(run)
    layers = wanted.layers or known
    stored = problem.samples.stored
    seen = stored[np.sort(random.permutation(len(stored))[: wanted.samples])]
    size = mean_norm(stored)
    starts = random.standard_normal((wanted.starts, problem.features))
    starts *= size / np.linalg.norm(starts, axis=1, keepdims=True)
    shape = (len(at), len(layers), wanted.units, wanted.starts)
    inputs, response = np.full((*shape, starts.shape[1]), np.nan), np.full(shape, np.nan)
    active = np.array([_active(setting, weights[index], seen) for index in range(len(weights.time))])
    for place, index in enumerate(at.values()):
        for layer, name in enumerate(layers):
            found, value = _excited(setting, weights[index], name, wanted.units, starts, size, wanted.steps)
            inputs[place, layer, : len(found)], response[place, layer, : len(found)] = found, value
    return _layout(active, inputs, response, known, layers, list(at))


def _layers(problem: Problem) -> Sequence[str]:
    if problem.network is None:
        return ()
    from ..kinds.trees import activated_of  # with JAX, which other networks do without

    return activated_of(problem.network)


def _active(setting: Setting, snapshot: Snapshot, seen: Floats) -> Floats:
    """(layers,): of the samples (n, d), the share of units that are active"""
    from ..kinds.trees import active_shares  # as above

    network = ordinary_of(setting, snapshot)
    return active_shares(network.network, network.arrays, network.network.seen(seen))


def _excited(
    setting: Setting, snapshot: Snapshot, layer: str, most: int, starts: Floats, size: float, steps: int
) -> tuple[Floats, Floats]:
    """Of the first units of a layer, so many at most: (inputs (units, starts, d), responses (units, starts))"""
    from ..kinds.trees import exciting, units_of  # as above

    network = ordinary_of(setting, snapshot)
    count = min(most, units_of(network.network, layer))
    unit = np.repeat(np.arange(count), len(starts))
    found, value = exciting(network.network, network.arrays, layer, unit, np.tile(starts, (count, 1)), size, steps)
    return found.reshape(count, len(starts), -1), value.reshape(count, len(starts))


def _layout(
    active: Floats, inputs: Floats, response: Floats, known: Sequence[str], layers: Sequence[str], at: list[str]
) -> xr.Dataset:
    excited = ("kept_end", "excited_layer", "unit", "excited_start")
    variables = {
        "active_units": (
            ("snapshot", "layer"),
            active,
            "share of the pairs of sample and unit, of images at every pixel, whose activation is taken of what is above 0",
        ),
        "exciting_input": (
            (*excited, "input_feature"),
            inputs.astype(np.float32),
            "input that gradient ascent finds to excite the unit, of images the channel at the pixel in the middle",
        ),
        "excitation": (excited, response, "what the unit's activation is taken of there"),
    }
    coordinates = {
        "kept_end": (("kept_end",), np.array(at), "instant: the start, the end of a stage, or that of the run"),
        "layer": (("layer",), np.array(known), "hidden layer"),
        "excited_layer": (("excited_layer",), np.array(layers), "hidden layer"),
    }
    parts = (
        {name: (dims, array, {"long_name": text, "units": "1"}) for name, (dims, array, text) in each.items()}
        for each in (variables, coordinates)
    )
    return xr.Dataset(*parts)
