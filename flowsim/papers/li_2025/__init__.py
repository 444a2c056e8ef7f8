"""Li, Pan, Lyu & Li 2025, Feature Averaging: its ideal classifiers and its claims.

k clusters of one norm (sqrt(d) in the paper) in classes J+ and J-. Trained on the class, every neuron becomes the sum of
its class's centres; trained on the cluster, every neuron becomes one centre.
"""

from __future__ import annotations

from ...evaluate.claim import register_all
from . import averaging, decoupling, draws, dynamics, induction, networks
from .ideal import (
    averaging_attack,
    averaging_outputs,
    binary_logit,
    binary_probability,
    feature_averaging,
    feature_decoupling,
)

CLAIMS = {
    **averaging.CLAIMS,
    **decoupling.CLAIMS,
    **networks.CLAIMS,
    **draws.CLAIMS,
    **dynamics.CLAIMS,
    **induction.CLAIMS,
}
register_all("li_2025", CLAIMS)

__all__ = [
    "CLAIMS",
    "averaging_attack",
    "averaging_outputs",
    "binary_logit",
    "binary_probability",
    "feature_averaging",
    "feature_decoupling",
]
