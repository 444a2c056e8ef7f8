"""Doctored cases of Frei, Chatterji & Bartlett 2022."""

from __future__ import annotations

from . import Mutation

MUTATIONS: dict[str, Mutation] = {}
#: Claims that have no doctored case yet.
PENDING = {
    "condition_4_7",
    "condition_4_8",
    "lemma_4_1.correlated",
    "lemma_4_1.largest_norm",
    "lemma_4_1.smallest_norm",
    "lemma_4_10.after",
    "lemma_4_10.alignment",
    "lemma_4_10.before",
    "lemma_4_10.smallest",
    "lemma_4_2.all_clusters",
    "lemma_4_2.each_cluster",
    "proposition_3_2",
    "theorem_3_1.clean_points",
    "theorem_3_1.noisy_points",
    "theorem_3_1.test_error",
}
