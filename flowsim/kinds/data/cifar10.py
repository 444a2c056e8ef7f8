"""CIFAR-10."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ..cifar import Cifar
from ..images import Part
from ..section import refuse
from . import DATA


class Cifar10(Cifar):
    """CIFAR-10 in its binary version: colour images of 32 x 32 pixels in ten classes: airplane, automobile, bird, cat,
    deer, dog, frog, horse, ship, truck."""

    files: ClassVar[dict[Part, tuple[str, ...]]] = {
        "train": tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        "test": ("test_batch.bin",),
    }
    ranges: ClassVar[tuple[int, ...]] = (10,)

    kind: Literal["cifar10"]
    folder: str = Field(
        "cifar-10-batches-bin",
        description="folder of the files, relative to the scenario's or to the one that the environment variable "
        "FLOWSIM_DATA names",
    )

    @model_validator(mode="after")
    def _rules(self) -> Cifar10:
        refuse(self._broken())
        return self

    @property
    def column(self) -> int:
        return 0

    @property
    def expected(self) -> str:
        return (
            "the folder of CIFAR-10 in its binary version, with data_batch_1.bin to data_batch_5.bin and test_batch.bin, "
            "as unpacked from the archive on the set's own page"
        )


DATA.register("cifar10", Cifar10)
