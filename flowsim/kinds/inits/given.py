"""Weights of one's own."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from ..section import suffix_in
from . import INITS, InitSection

WEIGHT_SUFFIXES = (".npz", ".nc")


class Given(InitSection):
    """Weights read from a file, or handed over from Python."""

    takes_arrays: ClassVar[bool] = True

    shape: Literal["given"]
    path: Annotated[str, AfterValidator(suffix_in(WEIGHT_SUFFIXES))] | None = Field(
        None,
        description="NPZ or NetCDF file, relative to the scenario's folder: weights that flowsim saved, a state dict of "
        "PyTorch, or a result, whose last weights are taken; only from Python may it be left out",
    )

    @property
    def file(self) -> str:
        """The path, or "" for weights in memory."""
        return self.path or ""


INITS.register("given", Given)
