"""What networks of images share."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from math import isqrt, prod
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ..arrays import Floats
from .activations import pointwise, with_pointwise
from .inits import Shape
from .ordinary import OrdinarySection, Streams
from .section import Count, Positive, Section, as_tuple

if TYPE_CHECKING:
    from .image_layers import Layers, OverBatch, Source

Image = tuple[Count, Count, Count]
Norm = Annotated[
    Literal["none", "group", "batch"],
    Field(
        description='normalisation of the channels, with a trained scale and shift for each: "group" is that of Wu & He '
        '(2018), "batch" that of Ioffe & Szegedy (2015), by batches in training and by averages over these everywhere else'
    ),
]
#: How the names of averages end, which no gradient trains.
AVERAGES = ("_mean", "_variance")
#: Channels of images whose shape is not said.
GREY, COLOUR = 1, 3
#: What the weights are called that outputs come from, in every network of images.
OUTPUT = "output"


class ConvolutionalSection(OrdinarySection):
    """A network of images, whose features are their pixels: those of one channel after those of another, each row by row.
    A kind adds `kind`, its keys, and `forward`.

    Weights are (channels, channels below, height, width), and a channel is a unit. [init] draws rows of all that a channel
    sees; scales of a normalisation start at 1, shifts and biases at 0, and init.scale multiplies these, too. Averages over
    batches start as if signals were normalised already.
    """

    activation: str = Field("relu", description="of every hidden layer")
    widen: Positive = Field(1.0, description="width factor: what the numbers of channels are multiplied with")
    norm: Norm = "none"
    group: Count = Field(
        16,
        description='with norm = "group", the channels of a group; more of them where these do not divide a layer\'s',
    )
    image: Annotated[Image, as_tuple] | None = Field(
        None, description="channels, height and width of an image; by default a square of 1 or 3 channels"
    )
    if TYPE_CHECKING:
        # a key of a kind, or else a constant of it

        @property
        def biases(self) -> bool:
            """Whether channels that are not normalised have a trained bias."""

    @abstractmethod
    def forward(self, layers: Layers, signal: Any, outputs: int) -> Any:
        """The outputs (n, outputs) for images (n, channels, height, width). `layers` are told the signals of
        hidden layers."""

    @property
    def homogeneous(self) -> bool:
        """Whether every layer is homogeneous of degree 1 in its weights and in its inputs."""
        power = pointwise(self.activation)
        return power.degree == power.homogeneity == 1 and self.norm == "none" and not self.biases

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        return (with_pointwise(cls),)

    def widened(self, channels: int) -> int:
        """So many channels times the width factor."""
        return max(1, round(self.widen * channels))

    def misfits(self, features: int, outputs: int) -> Iterator[tuple[str, str]]:
        image = self._image(features)
        if image is None:
            given = "give image = [channels, height, width]"
            yield "model.image", f"{features} features are not the pixels of a square of 1 or 3 channels; {given}"
        elif prod(image) != features:
            shape = " x ".join(map(str, image))
            yield "model.image", f"images of {shape} pixels have {prod(image)} features, and the data have {features}"
        elif _shapes_of(self, features, outputs) is None:
            yield "model.image", f"images of {image[1]} x {image[2]} pixels are too small for the layers"

    def shapes(self, features: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
        found = _shapes_of(self, features, outputs)
        assert found is not None, "misfits tell of images that are too small"
        return found

    def start(self, init: Shape, streams: Streams, features: int, outputs: int) -> Mapping[str, Floats]:
        """In the order of the layers."""

        def drawn(name: str, shape: tuple[int, ...]) -> Floats:
            if len(shape) == 1:
                return np.ones(shape) if name.endswith(("_scale", "_variance")) else np.zeros(shape)
            return init.rows(streams(f"initialisation.{name}"), (shape[0], prod(shape[1:]))).reshape(shape)

        return OrderedDict((name, drawn(name, shape)) for name, shape in self.shapes(features, outputs).items())

    def state(self, features: int, outputs: int) -> Collection[str]:
        return [name for name in self.shapes(features, outputs) if name.endswith(AVERAGES)]

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        found, _, _ = self._applied(params, x, training=False)
        return found

    def signals(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        _, _, layers = self._applied(params, x, training=False)
        return layers.signals

    def preactivations(self, params: Mapping[str, Any], x: Any) -> Mapping[str, Any]:
        _, _, layers = self._applied(params, x, training=False)
        return layers.preactivations

    def training(self, params: Mapping[str, Any], x: Any) -> tuple[Any, Mapping[str, Any]]:
        found, averages, _ = self._applied(params, x, training=True)
        return found, averages

    def _applied(self, params: Mapping[str, Any], x: Any, *, training: bool) -> tuple[Any, Mapping[str, Any], Layers]:
        """Outputs, averages as training with these inputs leaves them, and the layers with what they have been told."""
        from .image_layers import OverBatch  # with JAX, which other networks do without

        def array(name: str, shape: tuple[int, ...]) -> Any:
            return params[name]

        over_batch = OverBatch(array, training=training)
        layers = self._layers(array, over_batch)
        found = self.forward(layers, self._images(x), len(params[OUTPUT]))
        return found, over_batch.averages, layers

    def _image(self, features: int) -> Image | None:
        """As it is said, or else what so many features make; None where that is not known."""
        if self.image is not None:
            return self.image
        return square(features)

    def _images(self, x: Any) -> Any:
        return x.reshape(len(x), *(self._image(x.shape[1]) or ()))

    def _layers(self, array: Source, over_batch: OverBatch) -> Layers:
        from . import image_layers  # as above

        def by_group(name: str, signal: Any) -> Any:
            del name
            return image_layers.by_group(signal, _groups(signal.shape[1], self.group))

        normalised = {"none": None, "group": by_group, "batch": over_batch}[self.norm]
        return image_layers.Layers(array, pointwise(self.activation), normalised, biases=self.biases)


def square(features: int) -> Image | None:
    """The square image of 1 or 3 channels that so many features make; None where there is none."""
    for channels in (GREY, COLOUR):
        side = isqrt(features // channels)
        if channels * side**2 == features:
            return channels, side, side
    return None


@lru_cache(maxsize=64)
def _shapes_of(section: ConvolutionalSection, features: int, outputs: int) -> Mapping[str, tuple[int, ...]] | None:
    """Name -> shape of the trained arrays, in the order of the layers; None where images are too small for these."""
    from .image_layers import OverBatch, shapes_seen  # as above

    def forward(array: Source, x: Any) -> Any:
        return section.forward(section._layers(array, OverBatch(array, training=False)), section._images(x), outputs)

    return shapes_seen(forward, features)


def _groups(channels: int, size: int) -> int:
    """As many as divide the channels, each of at least so many channels or of all."""
    return next(groups for groups in range(max(1, channels // size), 0, -1) if channels % groups == 0)
