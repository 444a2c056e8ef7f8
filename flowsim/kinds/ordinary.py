"""Ordinary networks as kinds: arrays by their names, and a function of these and of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from ..arrays import Floats
from .drawing import Drawing
from .inits import Shape
from .network import UNITS, Array, Handed, Leaf, Network
from .networks import NetworkSection
from .samples import Samples

#: The trained arrays by their names, of NumPy or of JAX.
Params = Mapping[str, Any]


class OrdinaryNetwork(NetworkSection):
    """A network without neurons. A kind adds `kind`, its keys, `start` and `apply`, and what it knows of itself.

    units: what the units of an array are, a key of UNITS; rows where it is not named.
    """

    ordinary: ClassVar[bool] = True
    neurons: ClassVar[int] = 0
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "trained"
    output_weight: ClassVar[None] = None
    units: ClassVar[Mapping[str, str]] = {}

    def input_shape(self, scenario: Drawing, samples: Samples) -> tuple[int, ...]:
        """Of one x, as `apply` has it. Raises ScenarioError where the data are not for this network."""
        return samples.inputs.shape[1:]

    def start(self, scenario: Drawing, samples: Samples) -> dict[str, Floats]:
        """The arrays at time 0. Raises ScenarioError where they cannot be made for these samples."""
        raise NotImplementedError

    def apply(self, params: Params, x: Array) -> Array:
        """(n,), or (n, k) of several outputs, for x (n, *input_shape)."""
        raise NotImplementedError

    def outputs(self, samples: Samples) -> int:
        """k"""
        return 1

    def shape_of_start(self, scenario: Drawing) -> Shape:
        """What [init] draws. Raises ScenarioError where it draws nothing."""
        init = scenario.init
        if not isinstance(init, Shape):
            raise scenario.error(("init.shape", f'"{init.shape}" is not for model.kind = "{self.kind}"'))
        return init

    def matrices(self, scenario: Drawing) -> tuple[int, int]:
        """The shape of inputs that are matrices. Raises ScenarioError where the data have vectors."""
        shape = scenario.data.input_shape
        if shape is None or len(shape) != 2:
            raise scenario.error(("data.kind", f'model.kind = "{self.kind}" needs data whose inputs are matrices'))
        return shape[0], shape[1]

    def network(self, scenario: Drawing, samples: Samples) -> Handed:
        input_shape = self.input_shape(scenario, samples)
        arrays = self.start(scenario, samples)
        shapes = tuple((name, array.shape) for name, array in arrays.items())
        return Handed(
            _network(self, shapes, input_shape, self.outputs(samples)), lambda seed: tuple(arrays.values()), {}
        )


@cache
def _network(
    kind: OrdinaryNetwork, shapes: tuple[tuple[str, tuple[int, ...]], ...], input_shape: tuple[int, ...], count: int
) -> Network:
    """One object for all that share compiled code."""
    names = tuple(name for name, _ in shapes)
    leaves = tuple(Leaf(name, name, shape, UNITS[kind.units.get(name, "rows")](len(shape))) for name, shape in shapes)
    return Network(
        kind.kind,
        kind.apply,
        leaves,
        lambda arrays: dict(zip(names, arrays, strict=True)),
        input_shape,
        count,
        kind.output_degree,
    )
