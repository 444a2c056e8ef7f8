"""Weights of a network, as directions and logarithms, so that no scale underflows: drawn, one's own, or of a result."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..arrays import Floats, Integers
from ..errors import UsageError
from ..kinds.archives import UNREADABLE, netcdf_arrays, npz_arrays
from ..kinds.files import first_line, numbers
from ..kinds.network import Network
from ..kinds.networks import NetworkSection

#: Of a network of any depth, the layers above the first: layer_2_weight, layer_2_bias and so on.
LAYER_WEIGHT, LAYER_BIAS = "layer_{}_weight", "layer_{}_bias"
#: The key of a layer in a state dict of PyTorch.
STATE = re.compile(r"(?P<layer>.+)\.(?P<part>weight|bias)")
#: Rows the logarithm of whose norm is below this are directions already, and keep all their bits.
UNIT = 1e-9
#: What log|v| may differ by from log|w|, relative to the larger of that and 1, where |v| = |w| was stored as numbers.
ROUNDING = 1e-14
#: Norms outside of this range are computed from scaled entries, whose squares are floats.
SMALLEST, LARGEST = 1e-140, 1e140


@dataclass(frozen=True, init=False, eq=False)
class Weights:
    """Weights that a flow starts from: ``Weights(hidden, output)`` for numbers, ``Weights.of_logs`` for tiny ones.

    direction (m, d), (m, d + 1) with a bias: unit rows, the bias entry last. log_norm (m,): log of the rows' norms.
    output_sign (m,): +1/-1. output_log (m,): log|v_j|. leaves: of an ordinary network, the arrays whose rows are no
    neurons, of one of any depth the matrices of the layers above the first, the bias the last column; its neurons have no
    output weight of their own, which is kept as sign 0 and log -inf. bias: whether there are biases. outputs: how many the
    network has, each of which has as many of its neurons, in order.
    """

    direction: Floats
    log_norm: Floats
    output_sign: Floats
    output_log: Floats
    leaves: tuple[Floats, ...] = ()
    bias: bool = False
    outputs: int = 1

    def __init__(self, hidden: Any, output: Any = None, *, hidden_bias: Any = None, upper: Sequence[Any] = ()):
        """hidden (m, d), output (m,), hidden_bias (m,): w_j, v_j and b_j, as anything that NumPy makes an array of.

        upper: in place of output, of a network of any depth, the matrices (m_l, m_(l-1)) of the layers above the first,
        the output's the last one; with hidden_bias they have one column more, their biases. A network without output
        weights of its own, such as a linear one, takes hidden alone.
        Raises UsageError where shapes do not fit, a value is not finite, or a neuron has no weights but 0.
        """
        rows, bias = _rows("hidden", hidden, "hidden_bias", hidden_bias)
        direction, log_norm = _polar("hidden", rows)
        sign, size = np.zeros(len(rows)), np.full(len(rows), -np.inf)
        if output is not None:
            values = _array("output", output, (len(rows),))
            if not values.all():
                none = f"Weights: output[{int(np.argmin(values != 0))}] is 0 and has no sign; use a tiny one"
                raise UsageError(none)
            sign, size = np.sign(values), np.log(np.abs(values))
        self._set(direction, log_norm, sign, size, _checked_upper(upper, len(rows), bias, output is None), bias)

    @classmethod
    def of_logs(
        cls,
        hidden_direction: Any,
        hidden_log_norm: Any,
        output_sign: Any = None,
        output_log: Any = None,
        *,
        hidden_bias_direction: Any = None,
        upper: Sequence[Any] = (),
    ) -> Self:
        """The same by logarithms: w_j = exp(hidden_log_norm) hidden_direction, v_j = output_sign exp(output_log), of any
        size. A neuron's norm includes its bias, and rows that are not of norm 1 are stretched to it."""
        rows, bias = _rows("hidden_direction", hidden_direction, "hidden_bias_direction", hidden_bias_direction)
        shape = (len(rows),)
        log_norm = _array("hidden_log_norm", hidden_log_norm, shape)
        direction, more = _polar("hidden_direction", rows)
        unit = np.abs(more) <= UNIT  # these keep all their bits
        direction, log_norm = np.where(unit[:, None], rows, direction), np.where(unit, log_norm, log_norm + more)
        if (output_sign is None) != (output_log is None):
            raise UsageError("Weights: output_sign and output_log go together")
        sign, size = np.zeros(shape), np.full(shape, -np.inf)
        if output_sign is not None:
            sign, size = _array("output_sign", output_sign, shape), _array("output_log", output_log, shape)
            if not np.isin(sign, (-1, 1)).all():
                raise UsageError("Weights: output_sign must be +1 or -1")
        checked = _checked_upper(upper, len(rows), bias, output_sign is None)
        return cls.exactly(direction, log_norm, sign, size, checked, bias=bias)

    @classmethod
    def exactly(
        cls,
        direction: Floats,
        log_norm: Floats,
        output_sign: Floats,
        output_log: Floats,
        leaves: tuple[Floats, ...] = (),
        *,
        bias: bool,
    ) -> Self:
        """These fields as they are."""
        weights = cls.__new__(cls)
        weights._set(direction, log_norm, output_sign, output_log, leaves, bias)
        return weights

    @classmethod
    def of_network(cls, network: Network, arrays: Sequence[Floats]) -> Self:
        """Of all trained arrays of an ordinary network."""
        rows, others = network.apart(arrays)
        direction, log_norm = np.zeros((0, math.prod(network.input_shape))), np.zeros(0)
        if rows is not None:
            direction, log_norm = polar_rows(rows)
        none, bias = np.zeros(len(log_norm)), network.neurons is not None and network.neurons.bias
        return cls.exactly(direction, log_norm, none, none - np.inf, others, bias=bias)

    def of_outputs(self, outputs: int) -> Self:
        """The same of a network with so many outputs."""
        layers = (self.direction, self.log_norm, self.output_sign, self.output_log, self.leaves)
        weights = self.exactly(*layers, bias=self.bias)
        object.__setattr__(weights, "outputs", outputs)
        return weights

    def _set(self, *values: Any) -> None:
        names = ("direction", "log_norm", "output_sign", "output_log", "leaves", "bias")
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        neurons, inputs = self.hidden.shape
        layers = "".join(f", layer {layer} of {len(matrix)}" for layer, matrix in enumerate(self.leaves, start=2))
        return f"Weights: {neurons} neurons, {inputs} features{layers}{', with biases' if self.bias else ''}"

    @property
    def hidden(self) -> Floats:
        """(m, d): w_j"""
        rows = self._rows()
        return rows[:, :-1] if self.bias else rows

    @property
    def hidden_bias(self) -> Floats:
        """(m,): b_j; zeros without biases"""
        return self._rows()[:, -1] if self.bias else np.zeros(len(self.log_norm))

    @property
    def output(self) -> Floats:
        """(m,): v_j; zeros where there are layers above the first"""
        return self.output_sign * np.exp(self.output_log)

    def _rows(self) -> Floats:
        return np.exp(self.log_norm)[:, None] * self.direction

    @property
    def has_output(self) -> bool:
        """Whether every neuron has an output weight of its own."""
        return bool((self.output_sign != 0).all())

    def arrays(self) -> dict[str, Floats]:
        """name -> array, from which `of_arrays` makes the same weights to the last bit."""
        found = {"hidden_direction": self.direction[:, :-1] if self.bias else self.direction}
        found["hidden_log_norm"] = self.log_norm
        if self.bias:
            found["hidden_bias_direction"] = self.direction[:, -1]
        if self.has_output:
            found |= {"output_sign": self.output_sign, "output_log": self.output_log}
        for layer, matrix in enumerate(self.leaves, start=2):
            found[LAYER_WEIGHT.format(layer)] = matrix[:, :-1] if self.bias else matrix
            if self.bias:
                found[LAYER_BIAS.format(layer)] = matrix[:, -1]
        return {name: np.ascontiguousarray(array) for name, array in found.items()}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """From arrays by name: `hidden`, `hidden_bias`, `output`, or these by logarithms as `arrays` gives them, with
        `layer_2_weight`, `layer_2_bias` and so on; or from a state dict of PyTorch. Raises UsageError for any others."""
        if "hidden_direction" in arrays:
            names = ("hidden_log_norm", "output_sign", "output_log")
            if "hidden_log_norm" not in arrays:
                raise UsageError("Weights: hidden_direction is given without hidden_log_norm")
            bias = arrays.get("hidden_bias_direction")
            logs = (arrays.get(name) for name in names)
            return cls.of_logs(arrays["hidden_direction"], *logs, hidden_bias_direction=bias, upper=layers_of(arrays))
        if "hidden" in arrays:
            bias = arrays.get("hidden_bias")
            return cls(arrays["hidden"], arrays.get("output"), hidden_bias=bias, upper=layers_of(arrays))
        if any(STATE.fullmatch(name) for name in arrays):
            return cls._of_state(arrays)
        there = ", ".join(sorted(arrays)) or "none"
        raise UsageError(f"Weights: no array hidden, hidden_direction or *.weight; there are {there}")

    @classmethod
    def _of_state(cls, state: Mapping[str, Any]) -> Self:
        """From a state dict of linear layers, in its order."""
        odd = [name for name in state if not STATE.fullmatch(name)]
        if odd:
            raise UsageError(
                f"Weights: {', '.join(odd)}: not a weight or a bias; a state dict of linear layers is needed"
            )
        layers = dict.fromkeys(name.rpartition(".")[0] for name in state)
        matrices = [_array(f"{name}.weight", state.get(f"{name}.weight")) for name in layers]
        if any(matrix.ndim != 2 for matrix in matrices):
            raise UsageError("Weights: every weight of a state dict has to be a matrix (units, inputs)")
        if not any(name.endswith(".bias") for name in state):
            return cls(matrices[0], upper=matrices[1:])
        biases = [
            _array(f"{name}.bias", state.get(f"{name}.bias", np.zeros(len(matrix))), (len(matrix),))
            for name, matrix in zip(layers, matrices, strict=True)
        ]
        upper = [np.column_stack(pair) for pair in zip(matrices[1:], biases[1:], strict=True)]
        return cls(matrices[0], hidden_bias=biases[0], upper=upper)

    @classmethod
    def of_trajectory(cls, run: Mapping[Any, Any], at: int = -1) -> Self:
        """Those of a result's root group, at one of the instants at which they were kept. Raises UsageError where they were
        not."""
        missing = [name for name in ("direction", "log_norm") if name not in run]
        layers = layers_of(run)
        if missing:
            raise UsageError(f"the weights were not kept ({', '.join(missing)} missing; see observe.snapshots)")
        if np.ndim(run["direction"]) != 3:
            raise UsageError("is an ensemble: choose a member, flowsim.weights(result, seed=...)")
        index = kept_at(run)
        if not -len(index) <= at < len(index):
            raise UsageError(f"at: {at}; weights were kept {len(index)} times, so from 0 to {len(index) - 1}")
        direction, log_norm = np.asarray(run["direction"])[at], np.asarray(run["log_norm"])[index[at]]
        bias = "bias_weight" in run
        if bias:
            direction = np.column_stack((direction, np.asarray(run["bias_weight"])[at]))
        if layers or "output_weight" not in run:  # not kept, or none, as with ntk_features
            none = np.zeros(len(log_norm)), np.full(len(log_norm), -np.inf)
            return cls.exactly(direction, log_norm, *none, tuple(matrix[at] for matrix in layers), bias=bias)
        output = np.asarray(run["output_weight"])[index[at]]
        with np.errstate(divide="ignore"):
            size = np.log(np.abs(output))
        if "log_output_weight" in run:
            size = np.asarray(run["log_output_weight"])[index[at]]
        if (np.abs(size - log_norm) <= ROUNDING * np.maximum(1.0, np.abs(log_norm))).all():
            size = log_norm.copy()  # exp and log have rounded; the flow of balanced weights needs them equal
        return cls.exactly(direction, log_norm, np.sign(output), size, bias=bias)

    def save(self, path: str | PathLike[str]) -> None:
        """Write an NPZ file that ``init = { shape = "given", path = "..." }`` reads, to the last bit. Raises UsageError
        where that cannot be done."""
        file = Path(path)
        if file.suffix != ".npz":
            raise UsageError(f"{file}: weights are saved as .npz")
        try:
            np.savez(file, **self.arrays())  # type: ignore[arg-type]
        except OSError as error:
            raise UsageError(f"{file}: cannot be written: {error.strerror}") from None

    def to_torch(self) -> dict[str, Any]:
        """The state dict of ``nn.Sequential(nn.Linear(d, m), activation, nn.Linear(m, k), ...)``, in float64: "0.weight",
        "2.weight" and so on, with biases "0.bias". The output layer of a two-layer network has none: ``bias=False``.
        Raises UsageError where PyTorch is not installed."""
        try:
            torch = import_module("torch")
        except ImportError:
            raise UsageError("to_torch needs PyTorch, which is not installed; pip install torch") from None
        state = {"0.weight": self.hidden} | ({"0.bias": self.hidden_bias} if self.bias else {})
        if self.has_output:
            neurons = len(self.output)
            matrix = np.zeros((self.outputs, neurons))
            matrix[np.arange(neurons) * self.outputs // neurons, np.arange(neurons)] = self.output
            state["2.weight"] = matrix
        for layer, matrix in enumerate(self.leaves, start=1):
            state[f"{2 * layer}.weight"] = matrix[:, :-1] if self.bias else matrix
            if self.bias:
                state[f"{2 * layer}.bias"] = matrix[:, -1]
        return {name: torch.from_numpy(np.array(array)) for name, array in state.items()}

    def fitted(self, model: NetworkSection, network: Network | None, features: int, outputs: int) -> Weights:
        """As a network of this kind has them: the same numbers, the output's where that kind has it. network: where it is
        an ordinary one.

        Raises ValueError with what is wrong, one line for each.
        """
        found = self
        if model.layered and not self.leaves and self.has_output:
            last = self.output[None]
            found = self._with_leaves((np.column_stack((last, np.zeros(1))) if self.bias else last,))
        elif network is None and len(self.leaves) == 1:
            found = self._with_output(outputs)
        if network is None and not model.own_outputs and not found.leaves and not found.has_output:
            assert model.output_weight is not None
            count = len(found.log_norm)
            log = np.full(count, np.log(model.output_weight))
            found = Weights.exactly(found.direction, found.log_norm, np.ones(count), log, bias=found.bias)
        problems = list(found._problems(model, network, features))
        if problems:
            raise ValueError("\n".join(problems))
        # the engine's own: what was handed over is read-only
        sign, size = found.output_sign.copy(), found.output_log.copy()
        leaves = tuple(leaf.copy() for leaf in found.leaves)
        return Weights.exactly(found.direction.copy(), found.log_norm.copy(), sign, size, leaves, bias=found.bias)

    def _with_leaves(self, leaves: tuple[Floats, ...]) -> Weights:
        none = np.zeros(len(self.log_norm)), np.full(len(self.log_norm), -np.inf)
        return Weights.exactly(self.direction, self.log_norm, *none, leaves, bias=self.bias)

    def _with_output(self, outputs: int) -> Weights:
        """The last layer's matrix as one output weight for each neuron; itself where it is none."""
        matrix, neurons = self.leaves[0], len(self.log_norm)
        here = np.arange(neurons) * outputs // neurons
        if len(matrix) != outputs:
            return self
        values = matrix[here, np.arange(neurons)]
        others = matrix.copy()
        others[here, np.arange(neurons)] = 0
        if others.any() or not values.all():
            return self
        sign, size = np.sign(values), np.log(np.abs(values))
        return Weights.exactly(self.direction, self.log_norm, sign, size, bias=self.bias)

    def _problems(self, model: NetworkSection, network: Network | None, features: int) -> Iterator[str]:
        there = self.direction.shape[1] - self.bias
        if there != features:
            yield f"hidden has {there} features, the data have {features}"
        if len(self.log_norm) != model.neurons:
            yield f"there are {len(self.log_norm)} neurons, the model has {model.neurons}; see model.width"
        if self.bias and not model.bias:
            yield "there are biases, the model has none; see model.bias"
        if model.bias and not self.bias:
            yield "there are no biases, the model has them; see model.bias"
        if network is not None:
            wanted, widths = [leaf.shape[0] for leaf in network.others], [len(leaf) for leaf in self.leaves]
            if widths != wanted:
                yield f"the layers above the first have {widths} units; expected {wanted}"
            if self.has_output:
                yield f'the neurons of model.kind = "{model.kind}" have no output weights; leave output out'
            return
        if self.leaves or not self.has_output:
            yield f'model.kind = "{model.kind}" needs output, one weight that is not 0 for each neuron, without a bias'
        elif model.output_weight is not None and not np.allclose(
            self.output_log, np.log(model.output_weight), rtol=0, atol=1e-12
        ):
            yield f"|output| is to be model.output_weight = {model.output_weight:g}, as it is not trained"
        elif not model.own_outputs and (self.output_sign < 0).any():
            yield f'output is 1 with model.kind = "{model.kind}"; leave it out'


def read_weights(path: Path) -> Weights:
    """Those of an NPZ or NetCDF file; the last ones that a result of flowsim has kept. Raises ValueError where the file
    does not hold weights."""
    try:
        return Weights.of_arrays(npz_arrays(path)) if path.suffix == ".npz" else _of_netcdf(path)
    except UsageError as error:
        raise ValueError(f"{path.name}: {str(error).removeprefix('Weights: ')}") from None
    except UNREADABLE as error:
        raise ValueError(f"{path.name} cannot be read: {first_line(error)}") from None


def _of_netcdf(path: Path) -> Weights:
    arrays = netcdf_arrays(path)
    return Weights.of_trajectory(arrays) if "time" in arrays else Weights.of_arrays(arrays)


def kept_at(run: Mapping[Any, Any]) -> Integers:
    """Where along `time` the weights of a trajectory were kept."""
    if "snapshot" not in run:
        return np.zeros(0, dtype=np.int64)
    kept = "log10_time" if "log10_time" in run else "time"
    snapshots = run["snapshot" if kept == "time" else f"snapshot_{kept}"]
    return np.searchsorted(np.asarray(run[kept]), np.asarray(snapshots)).astype(np.int64)


def layers_of(arrays: Mapping[Any, Any]) -> tuple[Floats, ...]:
    """The layers above the first, biases in a last column; of a trajectory with a leading axis."""
    layers: list[Floats] = []
    while (name := LAYER_WEIGHT.format(len(layers) + 2)) in arrays:
        matrix, bias = np.asarray(arrays[name]), LAYER_BIAS.format(len(layers) + 2)
        if bias in arrays:
            matrix = np.concatenate([matrix, np.asarray(arrays[bias])[..., None]], axis=-1)
        layers.append(matrix)
    return tuple(layers)


def _rows(name: str, matrix: Any, bias_name: str, bias: Any) -> tuple[Floats, bool]:
    """(the matrix, with the bias as its last column; whether there is one)"""
    rows = _array(name, matrix)
    if rows.ndim != 2 or 0 in rows.shape:
        raise UsageError(f"Weights: {name} has shape {rows.shape}; expected (neurons, features), neither of them 0")
    if bias is None:
        return rows, False
    return np.column_stack((rows, _array(bias_name, bias, (len(rows),)))), True


def _polar(name: str, rows: Floats) -> tuple[Floats, Floats]:
    """As `polar_rows`. Raises UsageError where a row is 0."""
    if not rows.any(axis=1).all():
        zero = int(np.argmin(rows.any(axis=1)))
        raise UsageError(f"Weights: row {zero} of {name} is 0 and has no direction; use a tiny one")
    return polar_rows(rows)


def polar_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Directions of rows and logarithms of their norms; (0, 0) of a row of zeros. Where squares of the entries would leave
    the range of floats, rows are scaled by powers of two."""
    with np.errstate(all="ignore"):
        norm = np.linalg.norm(rows, axis=1)
    far = (norm < SMALLEST) | (norm > LARGEST)
    exponent = np.where(far, np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1], 0)
    rows = np.ldexp(rows, -exponent[:, None])
    norm = np.linalg.norm(rows, axis=1)
    norm = np.where(norm > 0, norm, 1.0)
    return rows / norm[:, None], np.log(norm) + exponent * np.log(2.0)


def _checked_upper(upper: Sequence[Any], below: int, bias: bool, alone: bool) -> tuple[Floats, ...]:
    """Every layer's matrix has a column for each unit below, and one for the bias. alone: whether there is no output."""
    if len(upper) and not alone:
        raise UsageError("Weights: give either output or upper, whose last matrix is the output's")
    layers = []
    for layer, given in enumerate(upper, start=2):
        matrix = _array(f"layer {layer}", given)
        if matrix.ndim != 2 or not len(matrix) or matrix.shape[1] != below + bias:
            columns = f"{below} + 1 for the biases" if bias else str(below)
            raise UsageError(f"Weights: layer {layer} has shape {matrix.shape}; expected (units, {columns})")
        layers.append(matrix)
        below = len(matrix)
    return tuple(layers)


def _array(name: str, given: Any, shape: tuple[int, ...] | None = None) -> Floats:
    """A finite array. Raises UsageError where it is none, or not of this shape."""
    array = numbers(f"Weights: {name}", given)
    if shape is not None and array.shape != shape:
        raise UsageError(f"Weights: {name} has shape {array.shape}; expected {shape}")
    if not np.isfinite(array).all():
        place = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0]))
        raise UsageError(f"Weights: {name} has values that are not finite, the first at [{place}]")
    return array
