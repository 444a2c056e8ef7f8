"""Residual networks (He et al. 2016)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..residual import ResidualSection
from . import NETWORKS

#: depth -> blocks of each stage
BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3)}
CHANNELS = (64, 128, 256, 512)


class Resnet(ResidualSection):
    """A residual network for small images, of basic blocks that normalise and activate first (He et al. 2016): four stages
    of 64, 128, 256 and 512 channels."""

    kind: Literal["resnet"]
    depth: Literal[18, 34] = Field(18, description="layers of weights, without shortcuts")

    @property
    def stem(self) -> int:
        return self.widened(CHANNELS[0])

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(map(self.widened, CHANNELS), BLOCKS[self.depth], strict=True))


NETWORKS.register("resnet", Resnet)
