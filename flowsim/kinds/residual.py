"""What residual networks share (He et al. 2016)."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from .convolutional import OUTPUT, ConvolutionalSection, Norm

if TYPE_CHECKING:
    from .image_layers import Layers


class ResidualSection(ConvolutionalSection):
    """Stages of basic blocks, each block x + conv(s(norm(conv(s(norm(x)))))), s the activation: two convolutions of 3 x 3
    behind their normalisations. Every stage but the first halves the image. Behind the last one a normalisation, the
    activation, the mean over all pixels, and a layer with biases.

    Where a block changes the shape of x, a convolution of 1 x 1 of s(norm(x)) takes the place of x. A kind adds `kind`, its
    keys, `stem` and `stages`.
    """

    biases: ClassVar[bool] = False
    norm: Norm = "group"

    @property
    @abstractmethod
    def stem(self) -> int:
        """Channels of the first convolution, of 3 x 3."""

    @property
    @abstractmethod
    def stages(self) -> tuple[tuple[int, int], ...]:
        """(channels, blocks) of each stage."""

    def forward(self, layers: Layers, signal: Any, outputs: int) -> Any:
        signal = layers.convolved("stem", signal, self.stem, 3)
        layers.named("stem", signal)
        for stage, (channels, blocks) in enumerate(self.stages, start=1):
            for block in range(1, blocks + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                name = f"stage_{stage}_block_{block}"
                signal = _block(layers, name, signal, channels, stride)
                layers.named(name, signal)
        signal = layers.activated("norm", layers.normalised("norm", signal)).mean(axis=(2, 3))
        layers.named("mean", signal)
        return layers.dense(OUTPUT, signal, outputs, bias=True)


def _block(layers: Layers, name: str, signal: Any, channels: int, stride: int) -> Any:
    seen = layers.activated(f"{name}_norm_1", layers.normalised(f"{name}_norm_1", signal))
    if stride > 1 or signal.shape[1] != channels:
        signal = layers.convolved(f"{name}_shortcut", seen, channels, 1, stride)
    seen = layers.convolved(f"{name}_conv_1", seen, channels, 3, stride)
    seen = layers.activated(f"{name}_norm_2", layers.normalised(f"{name}_norm_2", seen))
    return signal + layers.convolved(f"{name}_conv_2", seen, channels, 3)
