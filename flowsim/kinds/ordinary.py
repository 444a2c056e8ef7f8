"""Networks that are functions of a tree of arrays, by their names in a scenario."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from math import prod
from typing import Any, ClassVar

import numpy as np
from pydantic import PrivateAttr

from ..arrays import Floats
from ..errors import UsageError
from ..gate import fits, limit, raised
from .activations import NONE
from .drawing import Drawing
from .inits import Shape
from .losses import Loss
from .network import Handed, Network
from .networks import NetworkSection
from .registries import OBSERVABLES
from .samples import Samples
from .streams import stream

#: What results call other things than observables and trained arrays.
RESERVED = frozenset(
    {
        "bias_weight",
        "clean_label",
        "cluster_label",
        "direction",
        "iteration",
        "kernel_sample",
        "label",
        "leaf",
        "log10_time",
        "matrix",
        "neuron_output",
        "neuron_sign",
        "probe_x",
        "quantile",
        "sample_cluster",
        "seed",
        "snapshot",
        "snapshot_log10_time",
        "stage",
        "step",
        "target_cluster",
        "time",
    }
)
#: Keys that may say how large a network is, the most telling first.
SIZES = ("widths", "channels", "width", "depth", "widen")
#: The name of a stream -> its generator.
Streams = Callable[[str], np.random.Generator]


class TreeSection(NetworkSection):
    """[model] of a function of a tree of arrays. A kind adds its keys, `apply`, and `shapes` or `start`.

    UNITS: what its errors are measured relative to, as in :func:`flowsim.flow`. NEURONS: the name of an array whose rows
    are neurons. Where the network is homogeneous, the kind says its `output_degree`, too.
    """

    output_weight: ClassVar[None] = None
    UNITS: ClassVar[str | Mapping[str, str]] = "rows"
    NEURONS: ClassVar[str | None] = None

    @abstractmethod
    def apply(self, params: Any, x: Any) -> Any:
        """In JAX: outputs (n,), or (n, k) of several, for inputs (n, d)."""

    def shapes(self, features: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
        """Name -> shape of each trained array, which [init] draws; of kinds that do not say where they start."""
        raise UsageError(f'the network "{self.kind}" says neither shapes nor start')

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Any:
        """The tree of arrays at time 0, but for init.scale, which multiplies all that are trained. By default arrays of
        `shapes` whose rows, along the last axis, are as [init] draws them."""
        return {
            name: _drawn(init, streams(f"initialisation.{name}"), shape)
            for name, shape in self.shapes(features, outputs).items()
        }

    def constants(self, streams: Streams, features: int) -> Mapping[str, Floats]:
        """Name -> array that is drawn once and not trained; `apply` finds these among params, of a dictionary."""
        return {}

    def state(self, features: int, outputs: int) -> Collection[str]:
        """Names of arrays that no gradient moves, nor init.scale, but that `training` leaves as others."""
        return ()

    def training(self, params: Any, x: Any) -> tuple[Any, Mapping[str, Any]]:
        """As `apply`, for the inputs of a gradient of descent, and the arrays of `state` as these leave them; of kinds that
        have such arrays."""
        raise UsageError(f'the network "{self.kind}" does not say what training makes of its state')

    def signals(self, params: Any, x: Any) -> Mapping[str, Any]:
        """What the layer above sees of each hidden layer, (n, ...) by name, the first one first, for inputs as `apply`
        takes them; none of kinds that name no layers."""
        return {}

    def preactivations(self, params: Any, x: Any) -> Mapping[str, Any]:
        """What the activation of each hidden layer is taken of, (n, units, ...) by name, the first one first; the same."""
        return {}

    def steepness(self, params: Any) -> float | None:
        """As of :class:`flowsim.kinds.network.Network`, in NumPy."""
        return None

    def balances(self, params: Any) -> Sequence[tuple[Floats, Floats]]:
        """The same."""
        return ()

    def misfits(self, features: int, outputs: int) -> Iterator[tuple[str, str]]:
        """Key and message of what does not go with data of so many features and targets of so many entries."""
        yield from ()

    @property
    def _size_key(self) -> str:
        """The key that says how large the network is."""
        return next((key for key in SIZES if key in self.model_fields_set), "kind")

    def network(self, scenario: Drawing, samples: Samples) -> Handed:
        from .trees import arrays_of  # with JAX, which other networks do without

        init, features = scenario.init, samples.features
        sizes = features, _outputs(scenario.loss.formulas, samples)
        if wrong := list(self.misfits(*sizes)):
            raise scenario.error(*wrong)
        try:
            network = _network_of(self, *sizes, scenario.single_seed)
        except ValueError as error:
            raise scenario.error((f"model.{self._size_key}", str(error))) from None

        def start(seed: int) -> tuple[Floats, ...]:
            assert isinstance(init, Shape), "weights of one's own are not drawn"
            arrays: Sequence[Floats] = arrays_of(network, self.start(init, partial(stream, seed), *sizes))
            if self.is_product:
                arrays = init.product(arrays, samples)
            pairs = zip(network.leaves, arrays, strict=True)
            return tuple(init.scale * array if leaf.trained else array for leaf, array in pairs)

        return Handed(network, start, {})


class OrdinarySection(TreeSection):
    """One without neurons."""

    has_neurons: ClassVar[bool] = False
    reducible: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    neurons: ClassVar[int] = 0
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "trained"


class NeuronsSection(TreeSection):
    """One with a first layer of neurons: an array (m, d), or (m, d + 1) with a bias, whose rows see the inputs. The kind
    says how many `neurons` there are, and whether with a `bias`; `apply` then takes x with the constant feature 1 for it.

    reducible: whether `apply` uses x in products with these rows alone. layered: whether the other arrays are the matrices
    of the layers above, in order.
    """

    reducible: ClassVar[bool] = False
    NEURONS: ClassVar[str] = "hidden"


@lru_cache(maxsize=16)
def _network_of(section: TreeSection, features: int, outputs: int, seed: int) -> Network:
    """The same object for equal sections, and seeds where it has constants, as compiled code is shared by those that use
    it."""
    network = _traced(section, features, outputs)
    constants = section.constants(partial(stream, seed), features)
    if not constants:
        return network
    functions = (section.apply, section.signals, section.preactivations)
    apply, signals, preactivations = (_closed(function, constants) for function in functions)
    return replace(network, function=apply, signals=signals, preactivations=preactivations)


@lru_cache(maxsize=64)
def _traced(section: TreeSection, features: int, outputs: int) -> Network:
    """The network with the constants of seed 0."""
    from .trees import network_of

    streams = partial(stream, 0)
    tree, constants = section.start(_Any(), streams, features, outputs), section.constants(streams, features)
    network, _ = network_of(
        _closed(section.apply, constants),
        tree,
        (features,),
        name=section.kind,
        units=section.UNITS,
        degree=section.output_degree,
        neurons=section.NEURONS,
        bias=section.bias,
        taken=RESERVED | OBSERVABLES.keys(),
    )
    if network.neurons is not None:
        neurons = replace(network.neurons, reducible=section.reducible, layered=section.layered)
        # the trace cannot tell cases that formulas need from kinks
        smooth = network.smooth if section.formulas is NONE else section.formulas.smooth
        network = replace(network, neurons=neurons, smooth=smooth)
    if state := set(section.state(features, outputs)):
        leaves = tuple(replace(leaf, trained=leaf.name not in state) for leaf in network.leaves)
        network = replace(network, leaves=leaves, training=section.training)
    signals, preactivations = _closed(section.signals, constants), _closed(section.preactivations, constants)
    network = replace(network, signals=signals, preactivations=preactivations)
    return replace(network, steepness=section.steepness, balances=section.balances)


def _closed(function: Callable[[Any, Any], Any], constants: Mapping[str, Floats]) -> Callable[[Any, Any], Any]:
    """The same function of (params, x), which finds the constants among params."""
    return (lambda params, x: function({**params, **constants}, x)) if constants else function


class _Any(Shape):
    """Rows that tell what a network's arrays are, and no more. Raises ValueError where they are too many or too large."""

    _arrays: int = PrivateAttr(0)
    _entries: float = PrivateAttr(0.0)

    def rows(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        self._arrays, self._entries = self._arrays + 1, self._entries + float(shape[0]) * shape[1]
        if self._arrays > (most := limit("arrays")):
            raise ValueError(f"more than {most:g} trained arrays; {raised('arrays', 10 * most)} allows more")
        fits(8 * self._entries, "the trained arrays")
        return generator.standard_normal(shape)


def _drawn(init: Shape, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return init.rows(generator, (prod(shape[:-1]), shape[-1] if shape else 1)).reshape(shape)


def _outputs(loss: Loss, samples: Samples) -> int:
    """How many outputs the targets ask for."""
    if samples.targets.ndim == 2:
        return samples.targets.shape[1]
    return max(int(samples.targets.max()) + 1, len(samples.centers)) if loss.classes else 1
