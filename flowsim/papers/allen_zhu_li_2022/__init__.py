"""Allen-Zhu & Li 2022, Feature Purification: its claims, the ledger of features, and surgery on them.

Sparse coding data, on which clean and then adversarial training purify what neurons have learnt.
"""

from __future__ import annotations

from ...evaluate.claim import register_all
from . import linf, lottery, perturbations, purification, training
from .ledger import ledger
from .linf import Decoder, decoded
from .purification import turns
from .surgery import Operated, coefficients_of, operate
from .training import ATTACKED

CLAIMS = {**lottery.CLAIMS, **training.CLAIMS, **purification.CLAIMS, **linf.CLAIMS, **perturbations.CLAIMS}
register_all("allen_zhu_li_2022", CLAIMS)

__all__ = ["ATTACKED", "CLAIMS", "Decoder", "Operated", "coefficients_of", "decoded", "ledger", "operate", "turns"]
