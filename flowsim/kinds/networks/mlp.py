"""Networks of any depth."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...arrays import Floats
from ..activations import Activation, pointwise, with_pointwise
from ..inits import Shape
from ..ordinary import NeuronsSection, Streams
from ..section import Broken, Count, Section, as_tuple, refuse
from . import NETWORKS

#: What the layers above the first are called.
LAYER = "layer_{}"


class Mlp(NeuronsSection):
    """A network of any depth, all of its layers trained: f(x) = W_L s(... s(W_2 s(W_1 x))), s the activation."""

    kind: Literal["mlp"]
    activation: str = Field("relu", description="of every hidden layer")
    depth: Annotated[int, Field(ge=2)] | None = Field(
        None, description="layers of weights, the output layer included: 2 by default; not with widths"
    )
    width: Count | None = Field(None, description="neurons of each hidden layer: 50 by default; not with widths")
    widths: Annotated[tuple[Count, ...], Field(min_length=1), as_tuple] | None = Field(
        None, description="neurons of the hidden layers, the first one first, in place of depth and width"
    )
    bias: bool = Field(False, description="a trained bias entry for every neuron of every layer, the output's included")
    output: ClassVar[str] = "trained"
    reducible: ClassVar[bool] = True
    layered: ClassVar[bool] = True

    @model_validator(mode="after")
    def _rules(self) -> Mlp:
        refuse(
            Broken(key, "give either widths, or depth and width", ("widths",))
            for key in ("depth", "width")
            if self.widths is not None and getattr(self, key) is not None
        )
        return self

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Neurons of the hidden layers."""
        return self.widths or (self.width or 50,) * ((self.depth or 2) - 1)

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.hidden_widths[0]

    @property
    def formulas(self) -> Activation:
        return pointwise(self.activation)

    @property
    def factors(self) -> int:
        return len(self.hidden_widths) + 1

    @property
    def output_degree(self) -> float | None:
        homogeneous = self.formulas.degree == self.formulas.homogeneity == 1 and not self.bias
        return len(self.hidden_widths) + 1 if homogeneous else None

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        return (with_pointwise(cls),)

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats]:
        """In the order of the layers, each a matrix with biases in a last column."""
        widths = (features, *self.hidden_widths, outputs)
        layers: OrderedDict[str, Floats] = OrderedDict()
        for layer, (below, here) in enumerate(pairwise(widths), start=1):
            name, source = (LAYER.format(layer), f".layer_{layer}") if layer > 1 else (self.NEURONS, "")
            layers[name] = init.rows(streams(f"initialisation{source}"), (here, below + self.bias))
        return layers

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        *_, signal = self.signals(params, x).values()
        *_, output = params.values()
        return self._with_constant(signal) @ output.T

    def signals(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        from ..in_jax import pointwise as respond  # with JAX, which other networks do without

        found: dict[str, Any] = {}
        *hidden, _ = params
        for name in hidden:
            found[name] = respond(self.formulas, x @ params[name].T)
            x = self._with_constant(found[name])
        return found

    def preactivations(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        below = [x, *map(self._with_constant, self.signals(params, x).values())]
        *hidden, _ = params
        return {name: seen @ params[name].T for name, seen in zip(hidden, below, strict=False)}

    def _with_constant(self, signal: Any) -> Any:
        """With the constant feature of biases, as the layer above takes it."""
        if not self.bias:
            return signal
        xp = signal.__array_namespace__()
        return xp.concatenate([signal, xp.ones_like(signal[:, :1])], axis=1)

    def steepness(self, params: Mapping[str, Floats]) -> float | None:
        """The product of the layers' spectral norms; None where the activation's Lipschitz constant is not known."""
        stretch = self.formulas.lipschitz
        if stretch is None:
            return None
        # a bias is a last column, which no perturbation passes through
        norms = [np.linalg.norm(matrix[:, : matrix.shape[1] - self.bias], ord=2) for matrix in params.values()]
        return float(stretch ** (len(norms) - 1) * np.prod(norms))

    def balances(self, params: Mapping[str, Floats]) -> Sequence[tuple[Floats, Floats]]:
        """Of the neurons of each hidden layer, where these are positively homogeneous."""
        if self.formulas.degree != 1:
            return ()
        return [
            ((into**2).sum(axis=-1), (out[..., : out.shape[-1] - self.bias] ** 2).sum(axis=-2))
            for into, out in pairwise(params.values())
        ]


NETWORKS.register("mlp", Mlp)
