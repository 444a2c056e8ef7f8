"""The weights the flow starts from, as directions and logarithms, so that no scale underflows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..scenario import Scenario
from ..scenario.init import Nudged
from .data import Samples
from .data.samples import Floats, Integers
from .streams import stream


@dataclass(frozen=True)
class Weights:
    """direction (m, d + 1 with a bias): unit rows, the bias entry last. log_norm (m,): log of the rows' norms.
    output_sign (m,): +1/-1. output_log (m,): log|v_j|."""

    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats


def draw(scenario: Scenario, samples: Samples) -> Weights:
    """Initial weights; a neuron's bias is one more entry of its weight vector, drawn and normalised with the others."""
    model, init, seed = scenario.model, scenario.init, scenario.single_seed
    shape = stream(seed, "initialisation").standard_normal((model.width, samples.inputs.shape[1] + model.bias))
    if init.shape == "sphere":
        shape /= np.linalg.norm(shape, axis=1, keepdims=True)
    classes = scenario.loss.kind == "cross_entropy"
    signs = init.signs or ("positive" if classes else "random")
    if signs == "positive":
        sign = np.ones(model.width)
    elif signs == "half":
        of_output = model.width // (len(samples.centers) if classes else 1)
        sign = np.where(np.arange(model.width) % of_output < (of_output + 1) // 2, 1.0, -1.0)
    else:
        sign = stream(seed, "initialisation.signs").choice([1.0, -1.0], size=model.width)
    if isinstance(init, Nudged):
        _nudge(shape, sign if init.toward == "own" else None, init.nudge, samples, scenario)
    norm = np.linalg.norm(shape, axis=1)
    log_norm = np.log(init.scale) + np.log(norm)
    if model.output_weight is not None:
        output_log = np.full(model.width, np.log(model.output_weight))
    elif init.balanced:
        output_log = log_norm.copy()
    else:
        size = np.abs(stream(seed, "initialisation.output").standard_normal(model.width))
        output_log = np.log(init.scale) + np.log(size)
    return Weights(shape / norm[:, None], log_norm, sign, output_log)


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
