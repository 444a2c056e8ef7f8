"""AlexNet for small images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from ..convolutional import OUTPUT, ConvolutionalSection
from ..section import Count, as_tuple
from . import NETWORKS

if TYPE_CHECKING:
    from ..image_layers import Layers


class Layer(NamedTuple):
    channels: int
    kernel: int
    pools: bool


#: Channels as of Krizhevsky (2014), kernels for images of 32 x 32.
LAYERS = (Layer(64, 5, True), Layer(192, 5, True), Layer(384, 3, False), Layer(256, 3, False), Layer(256, 3, True))


class Alexnet(ConvolutionalSection):
    """AlexNet (Krizhevsky 2014) for images of 32 x 32: five convolutions, of 64, 192, 384, 256 and 256 channels, kernels of
    5 x 5 in the first two and of 3 x 3 in the others, and behind the first two and the last the largest of every 3 x 3
    pixels, 2 pixels apart; then layers of neurons. Without dropout."""

    kind: Literal["alexnet"]
    hidden: Annotated[tuple[Count, ...], as_tuple] = Field(
        (4096, 4096), description="neurons of the layers between the last convolution and the outputs, before `widen`"
    )
    biases: bool = Field(
        False, description="a trained bias for every channel that is not normalised, every neuron and every output"
    )

    @property
    def output_degree(self) -> float | None:
        return len(LAYERS) + len(self.hidden) + 1 if self.homogeneous else None

    def forward(self, layers: Layers, signal: Any, outputs: int) -> Any:
        from ..image_layers import pooled  # with JAX, which other networks do without

        for number, layer in enumerate(LAYERS, start=1):
            signal = layers.convolved(f"conv_{number}", signal, self.widened(layer.channels), layer.kernel)
            signal = layers.activated(f"conv_{number}", layers.normalised(f"norm_{number}", signal))
            if layer.pools:
                signal = pooled(signal, 3, 2, largest=True)
            layers.named(f"conv_{number}", signal)
        signal = signal.reshape(len(signal), -1)
        for number, neurons in enumerate(self.hidden, start=1):
            name = f"dense_{number}"
            signal = layers.activated(name, layers.dense(name, signal, self.widened(neurons), bias=self.biases))
            layers.named(name, signal)
        return layers.dense(OUTPUT, signal, outputs, bias=self.biases)


NETWORKS.register("alexnet", Alexnet)
