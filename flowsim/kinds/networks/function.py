"""Functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..drawing import Drawing
from ..network import Handed, Network
from ..samples import Samples
from ..section import Count, Positive, as_tuple
from . import NETWORKS, NetworkSection


class Function(NetworkSection):
    """A function of Python, f(x) = apply(params, x), as :func:`flowsim.flow` takes it; no text can say all of it."""

    has_neurons: ClassVar[bool] = False
    reducible: ClassVar[bool] = False

    kind: Literal["function"]
    name: str = Field(description="what Python calls the function")
    paths: Annotated[tuple[str, ...], as_tuple] = Field(
        description="where the trained arrays are in the tree, in order"
    )
    input_shape: Annotated[tuple[Count, ...], as_tuple] = Field(description="shape of one x")
    homogeneity: Positive | None = Field(None, description="L of f(c params) = c^L f(params), of a homogeneous network")
    neurons: ClassVar[int] = 0
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "trained"
    output_weight: ClassVar[None] = None

    @property
    def output_degree(self) -> float | None:
        return self.homogeneity

    def network(self, scenario: Drawing, samples: Samples) -> Handed:
        if scenario.handed is None:
            needed = (
                f"{self.name} is a function of Python, which has to be handed over: flowsim.flow(apply, params, x, y), or "
                "flowsim.reopen(result, apply=...)"
            )
            raise scenario.error(("model.kind", needed))
        return scenario.handed

    def again(self, apply: Callable[..., Any] | None, params: Any, arrays: Mapping[str, Any]) -> Network:
        from ..trees import network_again  # with JAX, which other networks do without

        places = zip(arrays, self.paths, arrays.values(), strict=True)
        return network_again(apply, params, list(places), self.input_shape, name=self.name, degree=self.homogeneity)


NETWORKS.register("function", Function)
