"""Doctored cases of Li et al. 2025."""

from __future__ import annotations

from . import Mutation

MUTATIONS: dict[str, Mutation] = {}
#: Claims that have no doctored case yet.
PENDING = {
    "lemma_5_1",
    "lemma_5_2.signs",
    "lemma_5_2.updates",
    "lemma_5_3.loss_derivative_ratio",
    "lemma_5_3.margin_gap",
    "lemma_5_5",
    "lemma_c_5",
    "proposition_4_8.clean_accuracy",
    "proposition_4_8.cross_entropy",
    "proposition_4_8.not_robust",
    "theorem_4_5.bias",
    "theorem_4_5.clean_accuracy",
    "theorem_4_5.equal_coefficients",
    "theorem_4_5.feature_averaging",
    "theorem_4_5.large_coefficients",
    "theorem_4_5.not_robust",
    "theorem_4_5.other_coefficients",
    "theorem_4_6",
    "theorem_4_7.clean_accuracy",
    "theorem_4_7.feature_decoupling",
    "theorem_4_7.large_coefficient",
    "theorem_4_7.withstands",
}
