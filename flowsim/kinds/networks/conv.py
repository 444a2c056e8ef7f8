"""Small convolutional networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from ..convolutional import OUTPUT, ConvolutionalSection
from ..section import Broken, Count, as_tuple, refuse
from . import NETWORKS

if TYPE_CHECKING:
    from ..image_layers import Layers


class Conv(ConvolutionalSection):
    """A small convolutional network: layers pool(s(norm(conv(x)))), s the activation, pooling over squares of 2 x 2; the
    outputs are linear in what the last one gives."""

    kind: Literal["conv"]
    channels: Annotated[tuple[Count, ...], Field(min_length=1), as_tuple] = Field(
        (16, 32), description="of each layer, the first one first, before `widen`"
    )
    kernel: Count = Field(3, description="side of the kernels, an odd number")
    pool: Literal["max", "mean", "none"] = Field("max", description="what is taken of every 2 x 2 pixels")
    biases: bool = Field(
        False, description="a trained bias for every channel that is not normalised, and for every output"
    )

    @model_validator(mode="after")
    def _rules(self) -> Conv:
        if self.kernel % 2 == 0:
            refuse([Broken("kernel", f"is odd, so that a kernel has a middle, and not {self.kernel}")])
        return self

    @property
    def output_degree(self) -> float | None:
        return len(self.channels) + 1 if self.homogeneous else None

    def forward(self, layers: Layers, signal: Any, outputs: int) -> Any:
        from ..image_layers import pooled  # with JAX, which other networks do without

        for layer, channels in enumerate(self.channels, start=1):
            signal = layers.convolved(f"conv_{layer}", signal, self.widened(channels), self.kernel)
            signal = layers.activated(f"conv_{layer}", layers.normalised(f"norm_{layer}", signal))
            if self.pool != "none":
                signal = pooled(signal, 2, 2, largest=self.pool == "max")
            layers.named(f"conv_{layer}", signal)
        return layers.dense(OUTPUT, signal.reshape(len(signal), -1), outputs, bias=self.biases)


NETWORKS.register("conv", Conv)
