"""Whether perturbations that were found on one network fool another one, trained independently on the same distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import xarray as xr

from ...arrays import Booleans, Floats
from ...errors import UsageError
from ...kinds.streams import stream
from ...problem import Problem
from ..case import Case, Result, reopened
from .attacks.pgd import FIRST, LAST
from .attacks.target import Target, descend
from .classifier import Classifier
from .evaluation import origin_of, test_of
from .norms import NORMS

#: (target, radius, steps) -> moves (n, d) of at most that size
Moves = Callable[[Target, float, int], Floats]


def _fgm(target: Target, radius: float, steps: int) -> Floats:
    _, gradient = target.margin_and_gradient(np.zeros(target.x.shape))
    return -radius * target.norm.steepest(gradient)


def _pgd(target: Target, radius: float, steps: int) -> Floats:
    """Descents that do not rest where the first network is lost: the other one may need more."""
    return descend(target, np.zeros(target.x.shape), radius, steps, FIRST, LAST, rest=False)


#: attack -> its moves
MOVES: dict[str, Moves] = {"fgm": _fgm, "pgd": _pgd}


def transfer(
    a: Result,
    b: Result,
    radii: Iterable[float],
    *,
    attacks: Sequence[str] = ("fgm", "pgd"),
    norm: str = "l2",
    samples: int = 1000,
    steps: int = 50,
    at: int = -1,
    onto: int = -1,
    seed: int | None = None,
) -> xr.Dataset:
    """Attack the network of result `a` and show the moved samples to that of `b` as well.

    The two were trained on one distribution; runs of different seeds share one by ``data.seed``. The samples are those of
    `a`: held-out ones where it has some, else fresh. attacks: "fgm", "pgd" or both. norm: "l2" or "linf". steps: of pgd.
    at, onto: which of the kept weights of `a` and of `b`. seed: the member, of ensembles; members of two seeds are two
    cases, ``flowsim.reopen(a, seed=0)``.

    Along `attack` and `radius`: `attacked_accuracy`, of `a`; `transferred_accuracy`, of `b` on the same samples;
    `random_accuracy`, of `b` at moves of the same size in random directions; `transfer_rate`: of the samples that both get
    right unmoved and on which the attack succeeds, the share on which `b` is fooled, too, NaN where there are none.
    Raises UsageError where the two are of different distributions, have several outputs, or kept no weights.
    """
    sizes = _checked(radii, attacks, norm, samples, steps)
    with reopened(a, seed) as first, reopened(b, seed) as second:
        _check_same(first.problem, second.problem)
        network, other = _classifier(first, "at", at), _classifier(second, "onto", onto)
        scenario, test = first.scenario, test_of(first.scenario, first.problem, samples)
    # not in the span of the first network's directions: the other one sees more
    target = Target(network, test.x, test.label, test.goals, test.goal_label, None, NORMS[norm])
    generator = stream(scenario.single_seed, "transfer")
    noise = target.norm.steepest(generator.standard_normal(test.x.shape))
    both = _right(network, target, 0.0) & _right(other, target, 0.0)
    shape = (len(attacks), len(sizes))
    own, moved, random, rate = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    for row, attack in enumerate(attacks):
        for column, radius in enumerate(sizes):
            move = MOVES[attack](target, float(radius), steps)
            keeps, follows = _right(network, target, move), _right(other, target, move)
            own[row, column], moved[row, column] = keeps.mean(), follows.mean()
            random[row, column] = _right(other, target, radius * noise).mean()
            fooled = both & ~keeps
            if fooled.any():
                rate[row, column] = (~follows[fooled]).mean()
    return _layout(sizes, attacks, norm, own, moved, random, rate).assign_attrs(origin_of(test))


def _checked(radii: Iterable[float], attacks: Sequence[str], norm: str, samples: int, steps: int) -> Floats:
    sizes = np.array([*radii], dtype=float)
    rules = {
        "radii: at least one, none negative, in increasing order": len(sizes) > 0
        and bool(np.isfinite(sizes).all() and sizes[0] >= 0 and (np.diff(sizes) > 0).all()),
        f"attacks: one or more of {', '.join(MOVES)}, each once": len(attacks) > 0
        and set(attacks) <= MOVES.keys()
        and len(set(attacks)) == len(attacks),
        f"norm: one of {', '.join(NORMS)}": norm in NORMS,
        "samples: at least 1": samples >= 1,
        "steps: at least 1": steps >= 1,
    }
    broken = [rule for rule, kept in rules.items() if not kept]
    if broken:
        raise UsageError("; ".join(broken))
    return sizes


def _classifier(case: Case, name: str, index: int) -> Classifier:
    if case.problem.loss.classes:
        raise UsageError("perturbations transfer between networks with a single output")
    return case.network_at(index, name)


def _check_same(one: Problem, other: Problem) -> None:
    """Raise unless the two were trained for the same answers."""
    if one.samples.span is not None or other.samples.span is not None:
        raise UsageError(
            'data.coordinates = "span" has coordinates in the span of a run\'s own samples and weights, where those of '
            'another run have no place; use "features"'
        )
    mine, theirs = one.samples.label_weight, other.samples.label_weight
    same = one.centers.shape == other.centers.shape and np.allclose(one.centers, other.centers, rtol=1e-9, atol=1e-12)
    same = same and np.array_equal(one.cluster_label, other.cluster_label)
    if same and mine is not None and theirs is not None:
        same = np.allclose(mine, theirs, rtol=1e-9, atol=0)
    if not same or not len(one.centers):
        raise UsageError(
            "the two are not known to be of one distribution: their centres differ, or are unknown; "
            "give both scenarios the same data.seed"
        )


def _right(classifier: Classifier, target: Target, move: Floats | float) -> Booleans:
    return np.asarray(target.label * classifier.value(target.x + move) > 0)


def _layout(
    radii: Floats, attacks: Sequence[str], norm: str, own: Floats, moved: Floats, random: Floats, rate: Floats
) -> xr.Dataset:
    texts = {
        "attacked_accuracy": (own, "share of the samples that a, which is attacked, classifies right"),
        "transferred_accuracy": (moved, "share of the same moved samples that b classifies right"),
        "random_accuracy": (random, "share that b classifies right at random moves of the same size"),
        "transfer_rate": (rate, "of the samples that both had right and a is fooled on, the share that b is fooled on"),
    }
    coordinates = {
        "attack": ("attack", np.array([*attacks]), {"long_name": "attack on a", "units": "1"}),
        "radius": ("radius", radii, {"long_name": f"size of the perturbation, {norm}", "units": "1"}),
    }
    return xr.Dataset(
        {
            name: (("attack", "radius"), values, {"long_name": text, "units": "1"})
            for name, (values, text) in texts.items()
        },
        coordinates,
        {"norm": norm},
    )
