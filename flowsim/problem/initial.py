"""The weights the flow starts from: drawn, or given."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Integers
from ..errors import Issue, ScenarioError
from ..kinds.inits import Isotropic, Shape
from ..kinds.network import Handed, Network
from ..kinds.samples import Samples
from ..kinds.span import Span
from ..kinds.streams import stream
from ..scenario import Scenario, referenced_files
from ..scenario.files import UNNAMED
from .weights import Weights, read_weights


def draw(scenario: Scenario, samples: Samples, handed: Handed | None) -> Weights:
    """Initial weights; a neuron's bias is one more entry of its weight vector, drawn and normalised with the others.

    handed: an ordinary network, which draws its own.
    """
    model, init, seed = scenario.model, scenario.init, scenario.single_seed
    if model.has_neurons and not isinstance(init, Shape):
        return _given(scenario, samples, None if handed is None else handed.network)
    if handed is not None:
        return Weights.of_network(handed.network, handed.start(seed))
    assert isinstance(init, Shape), "rules refuse other starts"
    neurons, generator = model.neurons, stream(seed, "initialisation")
    if samples.span is None:
        shape = init.rows(generator, (neurons, samples.features + model.bias))
    else:
        shape = _in_span(init, samples.span, neurons, model.bias, generator)
    sign = _signs(scenario, init, samples)
    shape = init.moved(shape, sign, samples, scenario)
    twin = _twins(scenario, init, samples)
    shape = shape[twin]
    norm = np.linalg.norm(shape, axis=1)
    log_norm = np.log(init.scale) + np.log(norm)
    if model.output_weight is not None:
        output_log = np.full(neurons, np.log(model.output_weight))
    elif init.balanced:
        output_log = log_norm.copy()
    elif init.ratio is not None:
        output_log = log_norm + np.log(init.ratio)
    else:
        size = np.abs(stream(seed, "initialisation.output").standard_normal(neurons))
        output_log = np.log(init.scale) + np.log(size)[twin]
    return Weights.exactly(shape / norm[:, None], log_norm, sign, output_log, bias=model.bias)


def _in_span(init: Shape, span: Span, neurons: int, bias: bool, generator: np.random.Generator) -> Floats:
    """(m, d), (m, d + 1) with a bias: rows of the shape by their coordinates; they are the last vectors of the basis."""
    assert isinstance(init, Isotropic), "rules refuse other starts"
    rows = span.normal(generator, span.vectors - neurons, neurons)
    if bias:
        rows = np.column_stack([rows, generator.standard_normal(neurons)])
    return init.of_normal(rows, span.dimension + bias)


def _given(scenario: Scenario, samples: Samples, network: Network | None) -> Weights:
    """Those that the scenario has with it, or else of the file that it names."""
    arrays, outputs = scenario.arrays("init"), _outputs(scenario, samples)
    in_memory = arrays is not None and not scenario.init.file
    try:
        if arrays is not None:
            weights = Weights.of_arrays(arrays)
        elif "init.path" in (files := referenced_files(scenario)):
            weights = read_weights(files["init.path"])
        else:
            raise scenario.error(("init.path", UNNAMED["init"]))
        return weights.fitted(scenario.model, network, samples.features, outputs)
    except ValueError as error:
        where = ("", "Weights") if in_memory else ("init.path", scenario.error(("init.path", "")).issues[0].place)
        raise ScenarioError([Issue(where[0], line, where[1]) for line in str(error).splitlines()]) from None


def _outputs(scenario: Scenario, samples: Samples) -> int:
    return len(samples.centers) if scenario.loss.formulas.classes else 1


def _signs(scenario: Scenario, init: Shape, samples: Samples) -> Floats:
    """(m,): sign of each neuron's output weight"""
    model, neurons = scenario.model, scenario.model.neurons
    signs = init.signs or ("positive" if scenario.loss.formulas.classes else "random")
    if signs == "positive" or not model.own_outputs:
        return np.ones(neurons)
    if signs == "half":
        of_output = neurons // _outputs(scenario, samples)
        return np.where(np.arange(neurons) % of_output < (of_output + 1) // 2, 1.0, -1.0)
    drawn = stream(scenario.single_seed, "initialisation.signs").choice([1.0, -1.0], size=neurons)
    twin = _twins(scenario, init, samples)
    return np.where(twin == np.arange(neurons), drawn, -drawn[twin])


def _twins(scenario: Scenario, init: Shape, samples: Samples) -> Integers:
    """(m,): the neuron that each one copies but for its sign; itself where it copies none"""
    neurons = np.arange(scenario.model.neurons)
    if init.signs != "antisymmetric":
        return neurons
    of_output = len(neurons) // _outputs(scenario, samples)
    if of_output % 2:
        wrong = f'"antisymmetric" needs an even number of neurons for each output; there are {of_output}'
        raise scenario.error(("init.signs", wrong))
    return neurons - of_output // 2 * (neurons % of_output >= of_output // 2)
