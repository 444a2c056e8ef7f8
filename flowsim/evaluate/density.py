"""How many features an adversarial perturbation is made of (Allen-Zhu & Li 2022, Section 8.3 and Figure 12).

Perturbations of norm 1 are reconstructed from features by Lasso, min |W y - x|^2 + penalty |y|_1: dense ones need many
features where sparse ones need few, whatever the penalty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import UsageError
from ..observe import Setting
from ..solve import Snapshot
from .case import Result, reopened
from .robustness.attacks.target import Target
from .robustness.evaluation import Test, origin_of, test_of
from .robustness.norms import NORMS
from .robustness.trained import classifier_of
from .robustness.transfer import MOVES

FEATURES = ("centers", "weights")
#: From hardly any shrinkage to that at which nothing is left of a perturbation of norm 1.
PENALTIES = tuple(np.geomspace(0.01, 1.0, 9).tolist())
#: A coordinate below this part of the largest is 0 but for rounding.
ZERO = 1e-9
#: Of Lasso's coordinate descent: its duality gap, for perturbations of norm 1, and how often it goes round.
TOLERANCE, PASSES = 1e-6, 100_000
#: A gradient whose norm is below this moves nobody.
FLAT = 1e-12


def density(
    result: Result,
    radius: float,
    *,
    attack: Literal["fgm", "pgd"] = "fgm",
    features: Literal["centers", "weights"] = "centers",
    penalties: Iterable[float] = PENALTIES,
    samples: int = 100,
    steps: int = 50,
    seed: int | None = None,
) -> xr.Dataset:
    """Reconstruct perturbations in l2 of this radius, at every instant whose weights were kept, of held-out samples where
    there are some, else of fresh ones.

    features: "centers", the columns of the dictionary or the centres of clusters, or "weights", the neurons' directions at
    the end. seed: the member of an ensemble.

    Along `snapshot` and `penalty`, in the mean over the samples that the attack moves: `density`, the share of
    the features whose coefficient is not 0; `residual`, |W y - x|^2, by which curves of any two instants compare.
    Raises UsageError where there are no such features, no weights were kept, or scikit-learn is not installed.
    """
    with reopened(result, seed) as case:
        scenario, setting, weights = case.scenario, case.setting, case.weights
    chosen = np.array([*penalties], dtype=float)
    rules = {
        "radius: above 0": radius > 0,
        "penalties: at least one, all of them above 0": len(chosen) > 0 and bool((chosen > 0).all()),
        f"attack: one of {', '.join(MOVES)}": attack in MOVES,
        f"features: one of {', '.join(FEATURES)}": features in FEATURES,
        "samples: at least 1": samples >= 1,
    }
    broken = [rule for rule, kept in rules.items() if not kept]
    if broken:
        raise UsageError("; ".join(broken))
    atoms = _atoms(setting, weights[-1], features)
    test = test_of(scenario, setting.problem, samples)
    found = np.full((2, len(weights.time), len(chosen)), np.nan)
    for index in range(len(weights.time)):
        moves = perturbations(test, setting, weights[index], attack, radius, steps)
        if len(moves):
            found[:, index] = measured(atoms, moves, chosen)
    return _layout(found, weights.time, chosen, features).assign_attrs(origin_of(test))


def perturbations(test: Test, setting: Setting, snapshot: Snapshot, attack: str, radius: float, steps: int) -> Floats:
    """(n, d): what an attack adds to test samples, divided by its norm; without those that it does not move"""
    classifier = classifier_of(setting, snapshot)
    target = Target(classifier, test.x, test.label, test.goals, test.goal_label, None, NORMS["l2"])
    moves = MOVES[attack](target, radius, steps)
    size = np.linalg.norm(moves, axis=1)
    moved = size > FLAT
    return moves[moved] / size[moved, None]


def measured(atoms: Floats, moves: Floats, penalties: Floats) -> tuple[Floats, Floats]:
    """(density (penalties,), residual (penalties,)) of moves (n, d) of norm 1, from features (p, d)"""
    used, residual = np.zeros(len(penalties)), np.zeros(len(penalties))
    for move in moves:
        coefficients = reconstructed(atoms, move, penalties)
        size = np.abs(coefficients)
        used += (size > ZERO * np.maximum(size.max(axis=1, keepdims=True), ZERO)).sum(axis=1)
        residual += ((coefficients @ atoms - move) ** 2).sum(axis=1)
    return used / (len(atoms) * len(moves)), residual / len(moves)


def reconstructed(atoms: Floats, move: Floats, penalties: Floats) -> Floats:
    """(penalties, p): the minimisers y of |sum_k y_k atom_k - move|^2 + penalty |y|_1 for atoms (p, d) and a move (d,)"""
    try:
        from sklearn.linear_model import lasso_path
    except ImportError:
        raise UsageError("Lasso needs scikit-learn, which is not installed; pip install 'flowsim[learn]'") from None
    order = np.argsort(-penalties)  # its path goes from the largest penalty down
    # scikit-learn has 1/(2 d) before the squares
    alphas = penalties[order] / (2 * len(move))
    _, path, _ = lasso_path(atoms.T, move, alphas=alphas, tol=TOLERANCE, max_iter=PASSES)
    found = np.empty((len(penalties), len(atoms)))
    found[order] = path.T
    return found


def _atoms(setting: Setting, snapshot: Snapshot, features: str) -> Floats:
    """(p, d): unit rows"""
    rows = setting.problem.centers
    if features == "weights":
        rows, _ = setting.reduced.lift(snapshot.direction)
    size = np.linalg.norm(rows, axis=1)
    if not (size > 0).any():
        raise UsageError("there are no centres that perturbations could be made of")
    return np.ascontiguousarray(rows[size > 0] / size[size > 0, None])


def _layout(found: Floats, times: Floats, penalties: Floats, features: str) -> xr.Dataset:
    texts = {
        "density": "share of the features that a perturbation is made of",
        "residual": "squared norm of what the features leave of a perturbation of norm 1",
    }
    dims = ("snapshot", "penalty")
    return xr.Dataset(
        {
            name: (dims, values, {"long_name": text, "units": "1"})
            for (name, text), values in zip(texts.items(), found, strict=True)
        },
        {
            "snapshot": ("snapshot", times, {"long_name": "time at which the weights are kept", "units": "1"}),
            "penalty": ("penalty", penalties, {"long_name": "weight of |y|_1 beside |W y - x|^2", "units": "1"}),
        },
        {"features": features},
    )
