"""Frei, Vardi, Bartlett & Srebro 2023, The Double-Edged Sword of Implicit Bias: its robust network and its claims.

Clusters around nearly orthogonal means of norm sqrt(d). Every KKT point of the margin problem classifies fresh samples, and
one perturbation, z = eta sum_j y_j mu_j of norm about sqrt(d/k), flips almost all of them, though a network exists that
nothing shorter than sqrt(d)/8 flips.
"""

from __future__ import annotations

from dataclasses import replace

from ...evaluate.claim import Claim, register_all
from . import data, flow, limit, perturbed, robust
from .flips import Flips, universal_direction
from .robust import certified_radius, robust_network


def _of_every_point(claims: dict[str, Claim]) -> dict[str, Claim]:
    """What is said of every KKT point can be asked of any that is found."""
    return {name: replace(claim, every_point=True) for name, claim in claims.items()}


CLAIMS = {
    **data.CLAIMS,
    **flow.CLAIMS,
    **_of_every_point(limit.CLAIMS),
    **robust.CLAIMS,
    **_of_every_point(perturbed.CLAIMS),
}
register_all("frei_vardi_2023", CLAIMS)

__all__ = ["CLAIMS", "Flips", "certified_radius", "robust_network", "universal_direction"]
