"""Allen-Zhu & Li 2022, Feature Purification: its claims.

Sparse coding data, on which clean and then adversarial training purify what neurons have learnt.
"""

from __future__ import annotations

from ...evaluate.claim import register_all
from . import linf, perturbations, training
from .training import ATTACKED

CLAIMS = {**training.CLAIMS, **linf.CLAIMS, **perturbations.CLAIMS}
register_all("allen_zhu_li_2022", CLAIMS)

__all__ = ["ATTACKED", "CLAIMS"]
