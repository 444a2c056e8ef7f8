"""How many features an adversarial perturbation is made of (Allen-Zhu & Li 2022, Section 8.3 and Figure 12).

Perturbations of norm 1 are reconstructed from features by Lasso, min |W y - x|^2 + penalty |y|_1: dense ones need many
features where sparse ones need few, whatever the penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Literal

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import UsageError
from ..observe import Setting
from ..problem import Problem
from ..scenario import Scenario
from ..solve import Snapshot
from .case import Result, reopened
from .placements import Placements
from .robustness.attacks.target import Target
from .robustness.classifier import Classifier
from .robustness.evaluation import Test, origin_of, test_of
from .robustness.norms import NORMS
from .robustness.trained import classifier_of, of_class
from .robustness.transfer import MOVES
from .stage_ends import ends

FEATURES = ("centers", "weights")
#: From hardly any shrinkage to that at which nothing is left of a perturbation of norm 1.
PENALTIES = tuple(np.geomspace(0.01, 1.0, 9).tolist())
#: A coordinate below this part of the largest is 0 but for rounding.
ZERO = 1e-9
#: Of Lasso's coordinate descent: its duality gap, for perturbations of norm 1, and how often it goes round.
TOLERANCE, PASSES = 1e-6, 100_000
#: Inputs that are kept with what filters make of them, and with their perturbations.
SHOWN = 4
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

    features: "centers", the columns of the dictionary or the centres of clusters, or "weights", at the end the directions
    of neurons or, of networks of images, the first layer's filters, placed at any pixel. seed: the member of an ensemble.

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
    measure = _measure(scenario, setting, weights[-1], features)
    test = test_of(scenario, setting.problem, samples)
    found = np.full((2, len(weights.time), len(chosen)), np.nan)
    for index in range(len(weights.time)):
        moves = perturbations(test, setting, weights[index], attack, radius, steps)
        if len(moves):
            found[:, index] = measure(moves, chosen)
    return _layout(found, weights.time, chosen, features).assign_attrs(origin_of(test))


def density_group(scenario: Scenario, setting: Setting, weights: Snapshot, run: xr.Dataset) -> xr.Dataset:
    """The group `density` of a result: at each of its ends perturbations, made of the features at the last one, and inputs,
    made of the features at the same. weights: all that were kept; run: the root group."""
    wanted = scenario.evaluate.density
    assert wanted is not None, "nobody asks for densities"
    if not len(weights.time):
        raise UsageError("densities are of weights that were kept; see observe.snapshots")
    at, penalties, test = ends(run), np.array(wanted.penalties), test_of(scenario, setting.problem, wanted.samples)
    inputs, found = unit(_centred(scenario, setting, test.x)), np.full((4, len(at), len(penalties)), np.nan)
    last = _measure(scenario, setting, weights[-1], "weights")
    for place, index in enumerate(at.values()):
        moves = perturbations(test, setting, weights[index], wanted.attack, wanted.radius, wanted.steps)
        if len(moves):
            found[:2, place] = last(moves, penalties)
        found[2:, place] = _measure(scenario, setting, weights[index], "weights")(inputs, penalties)
    texts = {
        "perturbation_density": "share of the features at the last instant that a perturbation is made of",
        "perturbation_residual": "squared norm of what these leave of a perturbation of norm 1",
        "input_density": "share of the features that an input is made of",
        "input_residual": "squared norm of what these leave of an input of norm 1",
    }
    variables: dict[str, tuple[tuple[str, ...], Floats, dict[str, str]]] = {
        name: (("kept_end", "penalty"), values, {"long_name": text, "units": "1"})
        for (name, text), values in zip(texts.items(), found, strict=True)
    }
    variables |= _shown(scenario, setting, weights, at, test)
    named = ("kept_end", np.array(list(at)), {"long_name": "instant: the start, or the end of a stage", "units": "1"})
    return xr.Dataset(variables, {"kept_end": named, "penalty": _penalties(penalties)}, origin_of(test))


def _shown(
    scenario: Scenario, setting: Setting, weights: Snapshot, at: Mapping[str, int], test: Test
) -> dict[str, tuple[tuple[str, ...], Floats, dict[str, str]]]:
    """Of a few inputs of a network with filters, as images; none of other networks."""
    wanted, images = scenario.evaluate.density, unit(_centred(scenario, setting, test.x[:SHOWN]))
    assert wanted is not None, "nobody asks for densities"
    made, moved = np.zeros((2, len(at), *images.shape), dtype=np.float32)
    for place, index in enumerate(at.values()):
        placements = Placements.of(scenario, setting, weights[index])
        if placements is None:
            return {}
        made[place] = placements.made(images, min(wanted.penalties))
        for row in range(len(images)):
            few = perturbations(
                test[row : row + 1], setting, weights[index], wanted.attack, wanted.radius, wanted.steps
            )
            moved[place, row : row + len(few)] = few
    dims, ends = ("shown_sample", "input_feature"), ("kept_end", "shown_sample", "input_feature")
    return {
        "shown_input": (dims, images.astype(np.float32), {"long_name": "input of norm 1, centred", "units": "1"}),
        "shown_reconstruction": (
            ends,
            made,
            {"long_name": "what features make of it, at the least penalty", "units": "1"},
        ),
        "shown_perturbation": (ends, moved, {"long_name": "its perturbation, divided by its norm", "units": "1"}),
    }


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where densities are asked for of a network whose first layer has no features."""
    if scenario.evaluate.density is not None and not (problem.two_layers or _has_filters(problem)):
        raise scenario.error(("evaluate.density", "needs a network of two layers of neurons, or one of images"))


def _has_filters(problem: Problem) -> bool:
    return problem.network is not None and len(problem.network.leaves[0].shape) == 4


def _centred(scenario: Scenario, setting: Setting, x: Floats) -> Floats:
    """Images without the mean of each of their channels, other inputs as they are."""
    placements = Placements.of(scenario, setting, Snapshot.first(setting.reduced))
    if placements is None:
        return x
    channels = x.reshape(len(x), placements.image[0], -1)
    return (channels - channels.mean(axis=2, keepdims=True)).reshape(x.shape)


def perturbations(test: Test, setting: Setting, snapshot: Snapshot, attack: str, radius: float, steps: int) -> Floats:
    """(n, d): what an attack adds to test samples, divided by its norm; without those that it does not move. Of an ordinary
    network of several classes it is on the decision between these."""
    targets = _targets(test, setting, snapshot)
    return unit(np.concatenate([MOVES[attack](target, radius, steps) for target in targets]))


def _targets(test: Test, setting: Setting, snapshot: Snapshot) -> list[Target]:
    def target(classifier: Classifier, x: Floats, label: Floats) -> Target:
        return Target(classifier, x, label, test.goals, test.goal_label, None, NORMS["l2"])

    if setting.problem.network is None or not setting.problem.loss.classes:
        return [target(classifier_of(setting, snapshot), test.x, test.label)]
    each = [(of_class(setting, snapshot, int(one)), test.x[test.cluster == one]) for one in np.unique(test.cluster)]
    return [target(classifier, x, np.ones(len(x))) for classifier, x in each]


def unit(rows: Floats) -> Floats:
    """Each divided by its norm, without those that have none."""
    size = np.linalg.norm(rows, axis=1)
    return rows[size > FLAT] / size[size > FLAT, None]


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


#: (moves (n, d) of norm 1, penalties) -> density and residual (penalties,)
Measure = Callable[[Floats, Floats], tuple[Floats, Floats]]


def _measure(scenario: Scenario, setting: Setting, snapshot: Snapshot, features: str) -> Measure:
    if features == "weights" and not setting.problem.two_layers:
        placements = Placements.of(scenario, setting, snapshot)
        if placements is None:
            raise UsageError("features: the first layer of this network has neither neurons nor filters")
        return placements.measured
    return partial(measured, _atoms(setting, snapshot, features))


def _penalties(penalties: Floats) -> tuple[str, Floats, dict[str, str]]:
    return "penalty", penalties, {"long_name": "weight of |y|_1 beside |W y - x|^2", "units": "1"}


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
            "penalty": _penalties(penalties),
        },
        {"features": features},
    )
