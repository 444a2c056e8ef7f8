"""Networks that are functions of a tree of arrays, by their names in a scenario."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from math import prod
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..errors import UsageError
from .drawing import Drawing
from .inits import Shape
from .losses import Loss
from .network import Handed
from .networks import NetworkSection
from .samples import Samples
from .sorts import OBSERVABLES
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
#: The name of a stream -> its generator.
Streams = Callable[[str], np.random.Generator]


class OrdinarySection(NetworkSection):
    """[model] of a function of a tree of arrays. A kind adds its keys, `apply`, and `shapes` or `start`.

    UNITS: what its errors are measured relative to, as in :func:`flowsim.flow`. Where the network is homogeneous, the kind
    says its `output_degree`, too.
    """

    ordinary: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = False
    UNITS: ClassVar[str | Mapping[str, str]] = "rows"

    neurons: ClassVar[int] = 0
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "trained"
    output_weight: ClassVar[None] = None

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

    def misfits(self, features: int, outputs: int) -> Iterator[tuple[str, str]]:
        """Key and message of what does not go with data of so many features and targets of so many entries."""
        yield from ()

    def network(self, scenario: Drawing, samples: Samples) -> Handed:
        from .trees import arrays_of  # with JAX, which other networks do without

        init = scenario.init
        assert isinstance(init, Shape), "rules refuse other starts"
        sizes = samples.inputs.shape[1], _outputs(scenario.loss.formulas, samples)
        if wrong := list(self.misfits(*sizes)):
            raise scenario.error(*wrong)
        # of whatever scale, the network is the same
        network, _ = _network_of(self, init.model_copy(update={"scale": 1.0}), *sizes)

        def start(seed: int) -> tuple[Floats, ...]:
            arrays: Sequence[Floats] = arrays_of(network, self.start(init, partial(stream, seed), *sizes))
            if self.is_product:
                arrays = init.product(arrays, samples)
            return tuple(init.scale * array for array in arrays)

        return Handed(network, start, {})


@lru_cache(maxsize=64)
def _network_of(section: OrdinarySection, init: Shape, features: int, outputs: int) -> Any:
    """The same object for equal sections, as compiled code is shared by those that use it."""
    from .trees import network_of

    tree = section.start(init, partial(stream, 0), features, outputs)
    degree, units, taken = section.output_degree, section.UNITS, RESERVED | OBSERVABLES.keys()
    return network_of(section.apply, tree, (features,), name=section.kind, units=units, degree=degree, taken=taken)


def _drawn(init: Shape, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return init.rows(generator, (prod(shape[:-1]), shape[-1] if shape else 1)).reshape(shape)


def _outputs(loss: Loss, samples: Samples) -> int:
    """How many outputs the targets ask for."""
    if samples.targets.ndim == 2:
        return samples.targets.shape[1]
    return max(int(samples.targets.max()) + 1, len(samples.centers)) if loss.classes else 1
