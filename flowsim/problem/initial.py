"""The weights the flow starts from: drawn, or given."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..arrays import Floats, Integers
from ..errors import Issue, ScenarioError
from ..kinds.streams import stream
from ..scenario import Scenario, referenced_files
from ..scenario.files import UNNAMED
from ..scenario.init import Given, Nudged, Shape
from ..scenario.model import Function, Linear, Mlp, NtkFeatures, SymmetricRelu
from .data import Samples
from .weights import Weights, read_weights


def draw(scenario: Scenario, samples: Samples) -> Weights:
    """Initial weights; a neuron's bias is one more entry of its weight vector, drawn and normalised with the others."""
    model, init, seed = scenario.model, scenario.init, scenario.single_seed
    if scenario.handed is not None and isinstance(model, Function):
        return Weights.of_tree(samples.inputs.shape[1], scenario.handed.start(seed))
    if isinstance(init, Given):
        return _given(scenario, samples)
    neurons = model.neurons
    shape = stream(seed, "initialisation").standard_normal((neurons, samples.inputs.shape[1] + model.bias))
    if init.shape == "sphere":
        shape /= np.linalg.norm(shape, axis=1, keepdims=True)
    sign = _signs(scenario, samples)
    if isinstance(init, Nudged):
        _nudge(shape, sign if init.toward == "own" else None, init.nudge, samples, scenario)
    norm = np.linalg.norm(shape, axis=1)
    log_norm = np.log(init.scale) + np.log(norm)
    if isinstance(model, Mlp):
        upper = _upper(scenario, model, samples)
        return Weights.exactly(shape / norm[:, None], log_norm, sign, np.full(neurons, -np.inf), upper, bias=model.bias)
    if model.output_weight is not None:
        output_log = np.full(neurons, np.log(model.output_weight))
    elif init.balanced:
        output_log = log_norm.copy()
    else:
        size = np.abs(stream(seed, "initialisation.output").standard_normal(neurons))
        output_log = np.log(init.scale) + np.log(size)
    return Weights.exactly(shape / norm[:, None], log_norm, sign, output_log, bias=model.bias)


def _given(scenario: Scenario, samples: Samples) -> Weights:
    """Those that the scenario has with it, or else of the file that it names."""
    arrays, outputs = scenario.arrays("init"), len(samples.centers) if scenario.loss.kind == "cross_entropy" else 1
    in_memory = arrays is not None and scenario.init == Given(shape="given")
    try:
        if arrays is not None:
            weights = Weights.of_arrays(arrays)
        elif "init.path" in (files := referenced_files(scenario)):
            weights = read_weights(files["init.path"])
        else:
            raise scenario.error(("init.path", UNNAMED["init"]))
        return weights.fitted(scenario.model, samples.inputs.shape[1], outputs)
    except ValueError as error:
        where = ("", "Weights") if in_memory else ("init.path", scenario.error(("init.path", "")).issues[0].place)
        raise ScenarioError([Issue(where[0], line, where[1]) for line in str(error).splitlines()]) from None


def _signs(scenario: Scenario, samples: Samples) -> Floats:
    """(m,): sign of each neuron's output weight; 0 in a network of several layers, where it has none of its own"""
    neurons, classes = scenario.model.neurons, scenario.loss.kind == "cross_entropy"
    if isinstance(scenario.model, Mlp):
        return np.zeros(neurons)
    assert isinstance(scenario.init, Shape)
    signs = scenario.init.signs or ("positive" if classes else "random")
    if signs == "positive" or isinstance(scenario.model, Linear | SymmetricRelu | NtkFeatures):
        return np.ones(neurons)
    if signs == "half":
        of_output = neurons // (len(samples.centers) if classes else 1)
        return np.where(np.arange(neurons) % of_output < (of_output + 1) // 2, 1.0, -1.0)
    return stream(scenario.single_seed, "initialisation.signs").choice([1.0, -1.0], size=neurons)


def _upper(scenario: Scenario, model: Mlp, samples: Samples) -> tuple[Floats, ...]:
    """The layers above the first, of the same shape and scale as that."""
    outputs = len(samples.centers) if scenario.loss.kind == "cross_entropy" else 1
    widths = (*model.hidden_widths, outputs)
    assert isinstance(scenario.init, Shape)
    layers = []
    for layer, (below, here) in enumerate(pairwise(widths), start=2):
        drawn = stream(scenario.single_seed, f"initialisation.layer_{layer}").standard_normal(
            (here, below + model.bias)
        )
        if scenario.init.shape == "sphere":
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        layers.append(scenario.init.scale * drawn)
    return tuple(layers)


def _nudge(shape: Floats, sign: Floats | None, nudge: float, samples: Samples, scenario: Scenario) -> None:
    """w <- w + nudge (mu - w), mu a centre drawn at random (Min & Vidal 2025, Appendix B.1), at each neuron's own scale.

    mu is stretched to the neuron's norm: the paper's non-degeneracy gap of about `nudge` comes about only where both have
    the same norm; against a gaussian row, sqrt(d) times longer, a unit centre would change nothing. With the neurons'
    signs, mu is one of those with the label of the neuron's sign.
    """
    if not len(samples.centers):
        raise scenario.error(("init.shape", '"nudged" needs cluster centres, which this table does not have'))
    length = np.linalg.norm(samples.centers, axis=1, keepdims=True)
    if not length.all():
        raise scenario.error(("init.shape", '"nudged" needs centres to move to; this table has one at the origin'))
    if sign is None:
        chosen = stream(scenario.single_seed, "initialisation.nudge").integers(len(samples.centers), size=len(shape))
    else:
        chosen = _own(sign, samples, scenario)
    features = samples.centers.shape[1]
    toward = (samples.centers / length)[chosen]
    norm = np.linalg.norm(shape, axis=1, keepdims=True)
    shape *= 1 - nudge
    shape[:, :features] += nudge * norm * toward


def _own(sign: Floats, samples: Samples, scenario: Scenario) -> Integers:
    """(m,): for every neuron a centre with the label of its sign, each centre in turn."""
    chosen = np.zeros(len(sign), dtype=np.int64)
    for label in (1, -1):
        neurons, own = np.flatnonzero(sign == label), np.flatnonzero(samples.cluster_label == label)
        if len(neurons) and not len(own):
            wrong = f'"own" needs a centre labelled {label:+d}, for the neurons of that sign'
            raise scenario.error(("init.toward", wrong))
        chosen[neurons] = np.resize(own, len(neurons))
    return chosen
