"""Doctored cases of Allen-Zhu & Li 2022."""

from __future__ import annotations

from . import Mutation

MUTATIONS: dict[str, Mutation] = {}
#: Claims that have no doctored case yet.
PENDING = {
    "figure_12.density",
    "lemma_e_2.lower",
    "lemma_e_2.upper",
    "purification.direction",
    "purification.from_scratch",
    "purification.mixture",
    "purification.robust_error",
    "section_6_2.universal",
    "theorem_5_1.clean_error",
    "theorem_5_1.no_common_direction",
    "theorem_5_1.robust_error",
    "theorem_5_1.start_forgotten",
    "theorem_5_2.single_features",
    "theorem_5_3.fgm_error",
    "theorem_5_3.local_change",
    "theorem_5_3.robust_error",
    "theorem_5_4.clean_error",
    "theorem_5_4.gain",
    "theorem_5_4.paper_radius",
    "theorem_5_4.robust_error",
    "theorem_5_6.clean_error",
    "theorem_5_6.gap",
    "theorem_5_6.robust_error",
    "theorem_c_1.winners",
}
