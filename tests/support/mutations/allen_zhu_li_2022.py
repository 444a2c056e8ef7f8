"""Doctored cases of Allen-Zhu & Li 2022.

At sizes that can be run, the theorems' premises are not met. So the weights are laid out by hand here, and the regime is
told: d = 10^40, at which the premises are met, while samples and attacks are those of 12 features.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

import flowsim
from flowsim.papers import Evidence
from flowsim.papers.allen_zhu_li_2022.setting import KNOWN, Regime

from . import Mutation, evidence_of, of_problem, told

FEATURES, NEURONS, START = 12, 24, 0.5
STAGES = ("clean", "adversarial", "again")
TEXT = """
[data]
kind = "sparse_coding"
dimension = 12
sparsity = 4.0
basis = "axes"
noise = {{ total = 0.0 }}
samples = 20
[model]
kind = "symmetric_relu"
threshold = 0.25
[loss]
kind = "logistic"
{stages}
[observe]
times = 31
snapshots = "all"
[evaluate]
claims = ["allen_zhu_li_2022"]
"""
STAGE = """
[[stage]]
name = "{}"
method = "gradient_descent"
step = 1e-9
iterations = 10
"""
ATTACK = 'attack = {{ kind = "fgm", norm = "{}", radius = {} }}\n'
#: The coefficient of a feature that a neuron has learned, and of the others in a dense mixture.
PURE, MIXED = 1.2, 0.3

D = 1e40
INSIDE = Regime(
    dimension=D,
    sparsity=D**0.36,
    neurons=D**1.0001,
    noise=1.0,
    tied=0.0,
    decay=math.log(math.log(math.log(D))) / D,
    cubic=math.log(math.log(math.log(D))) / D,
    start=1.0,
    cap=D ** (-0.36 * 0.5001),
    spread=1.0,
    clean=D**1.01,
    robust=D ** (0.72 + 0.0001) * math.log(D),
    radius=0.9 * D ** (-0.18 - 0.0001),
)

Change = Callable[[Evidence], Evidence]


def features(own: float, others: float = 0.0, turn: int = 0) -> np.ndarray:
    """(m, d): coefficients of neurons each of which has one feature, two a feature; turn: by how many features on"""
    own_feature = np.arange(NEURONS)[:, None] % FEATURES == (np.arange(FEATURES) - turn) % FEATURES
    return np.where(own_feature, own, others)


def begun(stages: str, **overrides: Any) -> Evidence:
    """A run whose neurons start at a feature each"""
    scenario = flowsim.loads(
        TEXT.format(stages=stages), overrides={k.replace("__", "."): v for k, v in overrides.items()}
    )
    centers = flowsim.build(scenario).centers
    start = flowsim.Weights(features(START) @ centers, np.ones(NEURONS))
    run = flowsim.run(scenario, init=start)
    return evidence_of(run, flowsim.reopen(run).scenario)


def shown(evidence: Evidence, **stages: np.ndarray) -> Evidence:
    """The same run with these coefficients (m, d) at all instants of these stages"""
    trajectory = evidence.trajectory
    direction, norm = trajectory["direction"].values.copy(), trajectory["log_norm"].values.copy()
    for name, found in stages.items():
        rows = found @ evidence.problem.centers
        size = np.linalg.norm(rows, axis=1)
        at = trajectory["stage"].values == name
        at[0] = name == "start"
        direction[at], norm[at] = rows / size[:, None], np.log(size)
    return remembering(evidence, told(evidence, direction=direction, log_norm=norm))


def remembering(before: Evidence, after: Evidence) -> Evidence:
    return replace(after, known=dict(before.known))


def in_regime(evidence: Evidence, **changes: float) -> Evidence:
    """Told to be inside of the paper's regime; clean training ends at T_c."""
    regime = replace(INSIDE, **changes)
    factor = regime.clean / evidence.trajectory["time"].values[evidence.trajectory["stage"].values == "clean"][-1]
    times = {name: evidence.trajectory[name].values * factor for name in ("time", "snapshot")}
    trajectory = evidence.trajectory.assign_coords({name: (name, values) for name, values in times.items()})
    return replace(evidence, trajectory=trajectory, known={KNOWN: regime})


@cache
def run(norm: str = "l2", radius: float = 0.05, sparsity: float = 4.0) -> Evidence:
    first, second, third = (STAGE.format(name) for name in STAGES)
    return begun(first + second + ATTACK.format(norm, radius) + third, data__sparsity=sparsity)


@cache
def learned(sparsity: float = 4.0) -> Evidence:
    """Every neuron learns the feature that it starts at, with the mixture that Theorem 5.2 speaks of"""
    pure = features(PURE, INSIDE.sparsity / INSIDE.dimension)
    return shown(in_regime(run(sparsity=sparsity)), clean=pure, adversarial=pure, again=pure)


@cache
def purified() -> Evidence:
    """The mixture is there after clean training, and gone after adversarial training; it comes back"""
    mixed = features(PURE, MIXED)
    return shown(run("l2", 0.4, 1.5), clean=mixed, adversarial=features(PURE), again=mixed)


@cache
def in_linf() -> Evidence:
    """The same in l_inf"""
    mixed, pure = features(PURE, MIXED), features(PURE)
    return shown(
        in_regime(run("linf", 0.11, 1.5), radius=0.9 * D ** (-0.63 - 0.0001)),
        clean=mixed,
        adversarial=pure,
        again=mixed,
    )


@cache
def scratch() -> Evidence:
    found = begun(STAGE.format("adversarial") + ATTACK.format("l2", 0.05))
    return shown(found, adversarial=features(PURE))


@cache
def from_features() -> Evidence:
    """Clean training from w_i = M_i, which accumulates the mixture"""
    text = TEXT.format(stages=STAGE.format("clean")).replace("[loss]", '[init]\nshape = "dictionary"\n[loss]')
    scenario = flowsim.loads(text, overrides={"model.width": NEURONS})
    return shown(evidence_of(flowsim.run(scenario), scenario), clean=features(PURE, MIXED))


@cache
def learner(kind: str) -> Evidence:
    """One step of a learner at k = 5, in l_inf; a linear one is at w*"""
    model = f'kind = "{kind}"' if kind == "linear" else f'kind = "{kind}"\nwidth = 6\nthreshold = 0.5'
    text = TEXT.replace('kind = "symmetric_relu"\nthreshold = 0.25', model)
    stages = STAGE.format("clean") + STAGE.format("adversarial") + ATTACK.format("linf", 0.1)
    scenario = flowsim.loads(
        text.format(stages=stages), overrides={"data.sparsity": 5.0, "data.label_weights": [0.9, 1.1]}
    )
    found = evidence_of(flowsim.run(scenario), scenario)
    if kind != "linear":
        return found
    return turned(found, 1.0)


def turned(evidence: Evidence, sign: float) -> Evidence:
    """A linear learner at sign w*"""
    samples = evidence.problem.samples
    rows = sign * samples.label_weight[None] @ samples.centers
    size = np.linalg.norm(rows)
    return remembering(evidence, told(evidence, direction=rows / size, log_norm=np.log(size)))


def far_apart(evidence: Evidence) -> Evidence:
    """With fresh samples that are 100 times as long, so that no attack reaches across"""
    return remembering(evidence, of_problem(evidence, centers=100 * evidence.problem.centers))


def doctored(**stages: np.ndarray) -> Change:
    return lambda evidence: shown(evidence, **stages)


def after_clean(found: np.ndarray) -> Change:
    return doctored(clean=found)


def after_adversarial(found: np.ndarray) -> Change:
    return doctored(adversarial=found)


def starting(found: np.ndarray) -> Change:
    """From other weights at time 0"""

    def change(evidence: Evidence) -> Evidence:
        problem = evidence.problem
        weights = flowsim.Weights(found @ problem.centers, np.ones(NEURONS))
        reduced = replace(
            evidence.setting.reduced, problem=replace(problem, weights=weights), direction=weights.direction
        )
        other = replace(evidence, setting=type(evidence.setting)(reduced))
        return shown(other, start=found)

    return change


LEVEL = np.full((NEURONS, FEATURES), PURE)
SAME = np.tile(PURE / FEATURES**0.5, (NEURONS, FEATURES))
TURNED, MIX, AWAY = features(PURE, turn=1), features(PURE, MIXED), -features(PURE)
CROWDED = np.where(np.arange(NEURONS)[:, None] < 2, START, 0.001) * np.ones(FEATURES)
TWO = features(PURE) + features(PURE, turn=1)

MUTATIONS: dict[str, Mutation] = {
    "lemma_b_2.sure": Mutation(learned, starting(SAME)),
    "lemma_b_2.potential": Mutation(
        learned, starting(np.where(np.arange(FEATURES) == 0, START, 0.01) * np.ones((NEURONS, 1)))
    ),
    "lemma_b_2.expected": Mutation(learned, starting(CROWDED)),
    "theorem_c_1.sure": Mutation(learned, after_clean(TURNED)),
    "theorem_c_1.potential": Mutation(learned, after_clean(TURNED)),
    "theorem_c_2.learned": Mutation(learned, after_clean(TURNED)),
    "theorem_c_2.sure_plus": Mutation(learned, after_clean(TURNED)),
    "section_6_2.winners": Mutation(learned, after_clean(TURNED)),
    "theorem_5_2.small_outside": Mutation(learned, after_clean(MIX)),
    "theorem_5_2.single_features": Mutation(learned, after_clean(TURNED)),
    "theorem_5_2.single_learned": Mutation(learned, after_clean(TWO)),
    "theorem_5_2.mixture": Mutation(learned, after_clean(features(PURE))),
    "theorem_5_1.start_forgotten": Mutation(learned, after_clean(TURNED), "fails", "holds"),
    "theorem_5_1.no_common_direction": Mutation(learned, after_clean(SAME)),
    "theorem_5_1.clean_error": Mutation(learned, after_clean(AWAY)),
    "theorem_5_1.robust_error": Mutation(partial(learned, 1.5), after_clean(features(PURE, 1.0)), "fails", "holds"),
    "lemma_e_2.sure": Mutation(learned, after_clean(1e60 * features(PURE)), "fails", "holds"),
    "lemma_e_2.all": Mutation(learned, after_clean(1e60 * AWAY)),
    "theorem_5_3.fgm_error": Mutation(learned, after_adversarial(AWAY)),
    "theorem_5_3.robust_error": Mutation(learned, after_adversarial(AWAY)),
    "theorem_5_3.local_change": Mutation(learned, after_adversarial(TURNED)),
    "principle_1.clean": Mutation(purified, after_clean(TURNED), "fails", "holds"),
    "principle_1.robust": Mutation(purified, after_adversarial(TURNED), "fails", "holds"),
    "principle_1.all": Mutation(purified, after_clean(TURNED), "fails", "holds"),
    "principle_2.learned": Mutation(learned, after_adversarial(TURNED)),
    "principle_2.all": Mutation(learned, after_adversarial(TURNED)),
    "principle_3": Mutation(learned, after_clean(LEVEL)),
    "purification.mixture": Mutation(purified, after_adversarial(MIX)),
    "purification.features_removed": Mutation(purified, after_adversarial(TURNED)),
    "purification.features_new": Mutation(purified, after_adversarial(TWO)),
    "purification.movement": Mutation(purified, after_adversarial(features(3 * PURE))),
    "purification.small_explain": Mutation(purified, after_clean(AWAY)),
    "purification.mixture_explains": Mutation(purified, after_clean(AWAY)),
    "purification.robust_error": Mutation(purified, after_adversarial(MIX)),
    "purification.from_scratch": Mutation(scratch, after_adversarial(MIX)),
    "section_7.mixture_returns": Mutation(purified, doctored(again=features(PURE))),
    "section_7.error_returns": Mutation(purified, doctored(again=features(PURE))),
    "section_6_2.from_features": Mutation(from_features, after_clean(features(PURE))),
    "section_6_2.universal": Mutation(purified, after_clean(AWAY)),
    "figure_12.dense": Mutation(purified, after_clean(features(PURE))),
    "figure_12.density": Mutation(purified, after_adversarial(MIX)),
    "theorem_5_4.clean_error": Mutation(in_linf, far_apart),
    "theorem_5_4.robust_error": Mutation(in_linf, after_adversarial(AWAY)),
    "theorem_5_4.paper_radius": Mutation(in_linf, far_apart, "fails", "holds"),
    "theorem_5_4.gain": Mutation(in_linf, after_clean(features(PURE))),
    "theorem_5_6.clean_error": Mutation(lambda: learner("linear"), lambda evidence: turned(evidence, -1.0)),
    "theorem_5_6.gap": Mutation(lambda: learner("linear"), far_apart),
    "theorem_5_6.robust_error": Mutation(lambda: learner("ntk_features"), far_apart),
    "corollary_5_7": Mutation(lambda: learner("linear"), far_apart),
}
#: Claims that have no doctored case yet.
PENDING: set[str] = set()
