"""Frei, Chatterji & Bartlett 2022, Random Feature Amplification: its ideal classifier and its claims.

Clusters around the unit vectors +mu_1, -mu_1 (label +1), +mu_2, -mu_2 (label -1), some labels flipped. Neurons whose cosine
with a centre of their sign is a little positive at time 0 capture it in one step, and act as |<mu_1, x>| - |<mu_2, x>|.
"""

from __future__ import annotations

from ...evaluate.claim import register_all
from . import start, subnetwork, training
from .training import xor_ideal

CLAIMS = {**training.CLAIMS, **start.CLAIMS, **subnetwork.CLAIMS}
register_all("frei_2022", CLAIMS)

__all__ = ["CLAIMS", "xor_ideal"]
