"""Doctored cases of Frei, Vardi, Bartlett & Srebro 2023."""

from __future__ import annotations

from . import Mutation

MUTATIONS: dict[str, Mutation] = {}
#: Claims that have no doctored case yet.
PENDING = {
    "assumption_2_2",
    "lemma_2_1",
    "theorem_2_1.direction",
    "theorem_2_1.kkt",
    "theorem_2_1.loss",
    "theorem_2_1.norm",
    "theorem_3_1.test_error",
    "theorem_3_1.training_error",
    "theorem_4_1.margin",
    "theorem_4_1.radius",
    "theorem_4_2.flips",
    "theorem_4_2.norm",
    "theorem_4_2.not_robust",
    "theorem_4_2.strength",
    "theorem_4_2.transfers",
}
