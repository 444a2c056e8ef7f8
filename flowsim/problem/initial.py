"""The weights the flow starts from, as directions and logarithms, so that no scale underflows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..scenario import Scenario
from ..scenario.init import Nudged
from ..scenario.model import Linear, Mlp, NtkFeatures, SymmetricRelu
from .data import Samples
from .data.samples import Floats, Integers
from .streams import stream


@dataclass(frozen=True)
class Weights:
    """direction (m, d + 1 with a bias): unit rows, the bias entry last. log_norm (m,): log of the rows' norms.
    output_sign (m,): +1/-1. output_log (m,): log|v_j|.

    upper: of a network of any depth, the matrices of the layers above the first, the bias the last column; its neurons
    have no output weight of their own, which is kept as sign 0 and log -inf.
    """

    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
    upper: tuple[Floats, ...] = ()


def draw(scenario: Scenario, samples: Samples) -> Weights:
    """Initial weights; a neuron's bias is one more entry of its weight vector, drawn and normalised with the others."""
    model, init, seed = scenario.model, scenario.init, scenario.single_seed
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
        return Weights(shape / norm[:, None], log_norm, sign, np.full(neurons, -np.inf), upper)
    if model.output_weight is not None:
        output_log = np.full(neurons, np.log(model.output_weight))
    elif init.balanced:
        output_log = log_norm.copy()
    else:
        size = np.abs(stream(seed, "initialisation.output").standard_normal(neurons))
        output_log = np.log(init.scale) + np.log(size)
    return Weights(shape / norm[:, None], log_norm, sign, output_log)


def _signs(scenario: Scenario, samples: Samples) -> Floats:
    """(m,): sign of each neuron's output weight; 0 in a network of several layers, where it has none of its own"""
    neurons, classes = scenario.model.neurons, scenario.loss.kind == "cross_entropy"
    if isinstance(scenario.model, Mlp):
        return np.zeros(neurons)
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
