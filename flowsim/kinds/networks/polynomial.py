"""Polynomials of a constant degree (Allen-Zhu & Li 2022, Corollary 5.7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ..ordinary import OrdinarySection
from ..section import Count
from . import NETWORKS


class Polynomial(OrdinarySection):
    """f(x) = <v, x> + sum_j a_j <w_j, x>^p: with enough neurons, any polynomial of a linear form and one of degree p."""

    kind: Literal["polynomial"]
    degree: Annotated[int, Field(ge=2)] = Field(3, description="p")
    width: Count = Field(50, description="terms of degree p")

    def shapes(self, features: int, outputs: int) -> Mapping[str, tuple[int, ...]]:
        return {"linear": (features,), "inner": (self.width, features), "outer": (self.width,)}

    def apply(self, params: Mapping[str, Any], x: Any) -> Any:
        return x @ params["linear"] + (x @ params["inner"].T) ** self.degree @ params["outer"]


NETWORKS.register("polynomial", Polynomial)
