"""Min & Vidal 2025, Gradient Flow Provably Learns Robust Classifiers for Orthonormal GMMs: its claims.

Gaussian clusters around orthonormal centres in two classes. The flow of a pReLU network with p > 2 from tiny weights turns
every neuron to a centre and then fits; what it arrives at is close to F^(p), and as robust as a classifier can be.
"""

from __future__ import annotations

from ...evaluate.claim import register_all
from . import alignment, growth, robustness, universal
from .growth import rates
from .setting import Mixture, Training, gaps

CLAIMS = {**alignment.CLAIMS, **growth.CLAIMS, **robustness.CLAIMS, **universal.CLAIMS}
register_all("min_vidal_2025", CLAIMS)

__all__ = ["CLAIMS", "Mixture", "Training", "gaps", "rates"]
