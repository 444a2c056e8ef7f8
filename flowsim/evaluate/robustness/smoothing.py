"""The group `smoothing` of a result: the trained network behind Gaussian noise (Cohen, Rosenfeld & Kolter 2019)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import beta, norm

from ...arrays import Floats, Integers
from ...kinds.streams import stream
from ...observe import Setting
from ...problem import Problem
from ...scenario import Scenario
from ...scenario.evaluate import Smoothing
from ...solve import Snapshot
from .classifier import Network
from .evaluation import labels_of, origin_of, test_of
from .trained import classifier_of

#: What is predicted where neither class is certain.
ABSTAINS = -1
#: Numbers of noisy copies that are in memory at a time.
NUMBERS = 2**23


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where the problem has no classes for the majority to choose from."""
    if scenario.evaluate.smoothing is None:
        return
    labelled = set(np.unique(labels_of(problem.samples)).tolist()) == {-1.0, 1.0}
    if problem.loss.vectors or not (problem.loss.classes or labelled):
        raise scenario.error(("evaluate.smoothing", "needs classes, or samples of both labels, +1 and -1"))


def smoothed(scenario: Scenario, setting: Setting, snapshot: Snapshot) -> xr.Dataset:
    """The group for the weights at a single instant: of a network with several outputs the class is the largest, of one
    with a single output its sign, 1 for +1 and 0 for -1."""
    wanted = scenario.evaluate.smoothing
    assert wanted is not None
    test = test_of(scenario, setting.problem, wanted.samples)
    several = setting.problem.loss.classes
    own = test.cluster if several else (test.label > 0).astype(np.int64)
    network, random = classifier_of(setting, snapshot), stream(scenario.single_seed, "smoothing")
    classes = setting.problem.outputs if several else 2
    found = [_of_one(network, x, classes, wanted, random) for x in test.x]
    chosen, most, radius = (np.array(part) for part in zip(*found, strict=True))
    return _layout(wanted, chosen, most == own, np.where(chosen == own, radius, 0.0)).assign_attrs(origin_of(test))


def certified(count: int, draws: int, deviation: float, confidence: float) -> float:
    """The radius in l2 within which the majority stays, if so many of the draws were given its class: Clopper and Pearson's
    lower bound of its probability decides; 0 where that is not above 1/2."""
    least = beta.ppf(1 - confidence, count, draws - count + 1) if count else 0.0
    return float(deviation * norm.ppf(least)) if least > 0.5 else 0.0


def _of_one(
    network: Network, x: Floats, classes: int, wanted: Smoothing, random: np.random.Generator
) -> tuple[int, int, float]:
    """(class or ABSTAINS, class of the majority of all draws, certified radius)"""
    selecting = _counts(network, x, classes, wanted.noise, wanted.select, random)
    bounding = _counts(network, x, classes, wanted.noise, wanted.draws, random)
    one = int(selecting.argmax())
    radius = certified(int(bounding[one]), wanted.draws, wanted.noise, wanted.confidence)
    return one if radius > 0 else ABSTAINS, int(bounding.argmax()), radius


def _counts(
    network: Network, x: Floats, classes: int, deviation: float, draws: int, random: np.random.Generator
) -> Integers:
    """(classes,): how many of so many noisy copies are given each class"""
    found, most = np.zeros(classes, dtype=np.int64), max(NUMBERS // len(x), 1)
    for begin in range(0, draws, most):
        copies = x + deviation * random.standard_normal((min(most, draws - begin), len(x)))
        scores = network.scores(copies)
        given = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.int64)
        found += np.bincount(given, minlength=classes)
    return found


def _layout(wanted: Smoothing, chosen: Integers, right: Floats, radius: Floats) -> xr.Dataset:
    radii = np.array(wanted.radii)
    told = {
        "certified_accuracy": (
            "radius",
            (radius > radii[:, None]).mean(axis=1),
            "share of the samples that the majority over noise classifies right within the radius, up to the confidence",
        ),
        "majority_accuracy": ((), right.mean(), "share of the samples that the majority over noise classifies right"),
        "abstained": ((), (chosen == ABSTAINS).mean(), "share of the samples for which no class is certain"),
        "certified_radius": ("test_sample", radius, "radius within which the majority is right; 0 where it is not"),
        "prediction": ("test_sample", chosen, "class that is certain; -1 where none is"),
    }
    found = xr.Dataset(
        {name: (dims, values, {"long_name": text, "units": "1"}) for name, (dims, values, text) in told.items()},
        {"radius": ("radius", radii, {"long_name": "largest size of a perturbation, l2", "units": "1"})},
    )
    keys = ("noise", "draws", "select", "confidence")
    return found.assign_attrs({key: getattr(wanted, key) for key in keys})
