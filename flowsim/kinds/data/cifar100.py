"""CIFAR-100."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from ..cifar import Cifar
from ..images import Part
from ..section import refuse
from . import DATA


class Cifar100(Cifar):
    """CIFAR-100 in its binary version: colour images of 32 x 32 pixels in 100 classes, which are five each of 20
    superclasses."""

    files: ClassVar[dict[Part, tuple[str, ...]]] = {"train": ("train.bin",), "test": ("test.bin",)}
    ranges: ClassVar[tuple[int, ...]] = (20, 100)

    kind: Literal["cifar100"]
    folder: str = Field(
        "cifar-100-binary",
        description="folder of the files, relative to the scenario's or to the one that the environment variable "
        "FLOWSIM_DATA names",
    )
    labels: Literal["fine", "coarse"] = Field("fine", description="whether labels are the classes or the superclasses")

    @model_validator(mode="after")
    def _rules(self) -> Cifar100:
        refuse(self._broken())
        return self

    @property
    def column(self) -> int:
        return 0 if self.labels == "coarse" else 1

    @property
    def expected(self) -> str:
        return (
            "the folder of CIFAR-100 in its binary version, with train.bin and test.bin, as unpacked from the archive on "
            "the set's own page"
        )


DATA.register("cifar100", Cifar100)
