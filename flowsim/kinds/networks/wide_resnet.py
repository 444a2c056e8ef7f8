"""Wide residual networks (Zagoruyko & Komodakis 2016)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ..residual import ResidualSection
from ..section import Broken, Count, Positive, refuse
from . import NETWORKS

STEM, CHANNELS = 16, (16, 32, 64)
#: Layers of weights beside those of the blocks, as the paper counts them, and those of a block in every stage.
OUTSIDE, IN_BLOCKS = 4, 2 * len(CHANNELS)


class WideResnet(ResidualSection):
    """A wide residual network for small images, WRN-depth-widen (Zagoruyko & Komodakis 2016): three stages of basic blocks
    that normalise and activate first, of 16, 32 and 64 channels times `widen`, behind a convolution of 16 channels."""

    kind: Literal["wide_resnet"]
    depth: Count = Field(28, description="layers of weights: 4 more than a multiple of 6")
    widen: Positive = Field(
        10.0, description="widen factor: what the numbers of the stages' channels are multiplied with"
    )

    @model_validator(mode="after")
    def _rules(self) -> WideResnet:
        if self.depth <= OUTSIDE or (self.depth - OUTSIDE) % IN_BLOCKS:
            wrong = f"is 4 more than a multiple of 6, such as 10, 16, 22, 28, and not {self.depth}"
            refuse([Broken("depth", wrong)])
        return self

    @property
    def stem(self) -> int:
        return STEM

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        blocks = (self.depth - OUTSIDE) // IN_BLOCKS
        return tuple((self.widened(channels), blocks) for channels in CHANNELS)


NETWORKS.register("wide_resnet", WideResnet)
