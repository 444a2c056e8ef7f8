"""[init]: where the flow starts. w_j(0) = scale * shape_j, or weights of one's own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ..kinds.section import Fraction, Positive, Section, suffix_in

WEIGHT_SUFFIXES = (".npz", ".nc")


class Shape(Section):
    scale: Positive = Field(1e-3, description="any positive number, 1e-300 included")
    balanced: bool = Field(True, description="|v_j(0)| = |w_j(0)|; false draws v_j(0) = scale * N(0, 1) independently")
    signs: Literal["random", "half", "positive"] | None = Field(
        None,
        description='sign of v_j: "random", "half" (of each output\'s neurons the first half +, the second -) or '
        '"positive"; by default "random", and "positive" where every cluster has an output of its own',
    )


class Gaussian(Shape):
    """Entries of the shape are independent N(0, 1)."""

    shape: Literal["gaussian"] = "gaussian"


class Sphere(Shape):
    """Rows of the shape are uniform on the unit sphere."""

    shape: Literal["sphere"]


class Nudged(Shape):
    """The gaussian shape, each neuron moved towards a centre drawn at random."""

    shape: Literal["nudged"]
    nudge: Fraction = Field(0.05, description="w <- w + nudge (mu - w), the centre mu stretched to the norm of w")
    toward: Literal["any", "own"] = Field(
        "any", description='"any" draws mu from all centres; "own" takes those of the neuron\'s own sign in turn'
    )


class Given(Section):
    """Weights read from a file, or handed over from Python."""

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


Init = Annotated[Gaussian | Sphere | Nudged | Given, Field(discriminator="shape")]
