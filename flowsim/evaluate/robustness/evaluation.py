"""The group `robustness` of a result: robust accuracy and radii of the trained network, and of classifiers beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from ...arrays import Floats, Integers
from ...errors import UsageError
from ...kinds.samples import Samples
from ...kinds.streams import stream
from ...observe import Setting
from ...problem import Problem, fresh
from ...scenario import Scenario
from ...scenario.evaluate import Robustness
from ...solve import Snapshot
from ...threads import blas_threads
from ..case import Result, reopened
from .attacks import Options, Target, attacked
from .bounds import BOUNDS
from .classifier import Classifier
from .ideal import IDEALS, ideal_classifier
from .trained import by_label, by_outputs, classifier_of, of_class

#: Training samples of each class that attacks aim at beside the centres, where these do not say all about the clusters.
AIMED_AT = 32
#: origin of the samples that are attacked -> what they are
ORIGINS = {
    "test": "the held-out samples of data.test",
    "fresh": "drawn anew from the distribution of the training data",
    "training": "training samples: none are held out, and none can be drawn anew",
}
#: What is under way, such as "network, pgd".
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Test:
    """x (n, d), label (n,) +1/-1, cluster (n,) or -1; of classes without labels +1/-1 both are the class. goals (g, d),
    goal_label, goal_cluster (g,): what attacks aim at. origin: where x is from, one of ORIGINS."""

    x: Floats
    label: Floats
    cluster: Integers
    goals: Floats
    goal_label: Floats
    goal_cluster: Integers
    origin: str

    def __getitem__(self, rows: slice) -> Test:
        """Some of the samples, with all that attacks aim at."""
        return replace(self, x=self.x[rows], label=self.label[rows], cluster=self.cluster[rows])


def robustness(
    result: Result,
    asked: Mapping[str, Any] | None = None,
    *,
    at: int = -1,
    seed: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The group `robustness` of a result, evaluated anew.

    asked: keys of ``evaluate.robustness``, in place of those of its scenario. at: which of the kept weights. seed: the
    member of an ensemble. progress: called with what is under way.
    Raises ScenarioError for wrong keys, UsageError where the weights were not kept or there are no labels to be kept.
    """
    with reopened(result, seed) as case:
        scenario = case.asking({f"evaluate.robustness.{key}": value for key, value in (asked or {}).items()})
        if scenario.evaluate.robustness is None:
            raise UsageError("this result's scenario has no evaluate.robustness; say which radii")
        check(scenario, case.problem)
        with blas_threads(case.reduced.operations):
            return evaluated(scenario, case.setting, case.weights_at(at, "at"), progress)


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where a scenario asks for a robustness that its problem does not have."""
    wanted = scenario.evaluate.robustness
    if wanted is None:
        return
    if _by_class(problem):
        others = [index for index, name in enumerate(wanted.compare) if name != "classes"]
        only = "is for labels +1 and -1, and the clusters of these data have none; the network decides between classes"
        if others:
            raise scenario.error(*((f"evaluate.robustness.compare[{index}]", only) for index in others))
        return
    if set(np.unique(labels_of(problem.samples)).tolist()) != {-1.0, 1.0}:
        raise scenario.error(("evaluate.robustness", "needs samples of both labels, +1 and -1, and of these only"))
    if problem.test is not None and not np.isin(labels_of(problem.test), (-1.0, 1.0)).all():
        raise scenario.error(("evaluate.robustness", "needs held-out samples whose labels are +1 or -1"))
    for index, name in enumerate(wanted.compare):
        if name in IDEALS:
            try:
                ideal_classifier(name, scenario, problem)
            except UsageError as error:
                raise scenario.error((f"evaluate.robustness.compare[{index}]", str(error))) from None


def evaluated(scenario: Scenario, setting: Setting, snapshot: Snapshot, progress: Progress | None = None) -> xr.Dataset:
    """The group `robustness` for the weights at a single instant. The scenario asks for one that its problem has."""
    wanted = scenario.evaluate.robustness
    assert wanted is not None
    if setting.problem.loss.vectors:
        raise UsageError("robustness is that of labels or classes, and the targets of this run are vectors")
    test = test_of(scenario, setting.problem, wanted.samples)
    rows = {}
    for name in ("network", *wanted.compare):
        options = Options(wanted.steps, wanted.restarts, stream(scenario.single_seed, "attacks"))
        parts = _parts(name, scenario, setting, snapshot, test)
        rows[name] = _measured(name, parts, wanted, options, len(test.x), progress)
    return _layout(rows, wanted, test)


def test_of(scenario: Scenario, problem: Problem, count: int) -> Test:
    """At most so many held-out samples, with the labels of their clusters where known; where none are held out, fresh ones,
    and of data that come from no distribution, training samples."""
    random = stream(scenario.single_seed, "robustness")
    drawn = scenario.data.drawn
    if problem.test is not None:
        samples, origin = problem.test, "test"
    elif drawn:
        samples, origin = fresh(scenario, problem.samples, count), "fresh"
    else:
        samples, origin = problem.samples, "training"
    chosen = np.arange(count) if origin == "fresh" else np.sort(random.permutation(len(samples.targets))[:count])
    by_class = _by_class(problem)
    goals = []
    if not by_class:
        goals.append((problem.centers, problem.cluster_label.astype(float), np.arange(len(problem.centers))))
    if not drawn or by_class:
        training = problem.samples
        label, cluster = _told(training, by_class)
        for one in np.unique(label) if by_class else (-1.0, 1.0):
            own = random.permutation(np.flatnonzero(label == one))[:AIMED_AT]
            goals.append((training.stored[own], label[own], cluster[own]))
    points, goal_label, goal_cluster = (np.concatenate(parts) for parts in zip(*goals, strict=True))
    label, cluster = _told(samples, by_class)
    return Test(samples.stored[chosen], label[chosen], cluster[chosen], points, goal_label, goal_cluster, origin)


def _by_class(problem: Problem) -> bool:
    """Whether the network has an output for each of several classes that have no labels +1/-1."""
    return problem.network is not None and problem.loss.classes and not by_label(problem)


def _told(samples: Samples, by_class: bool) -> tuple[Floats, Integers]:
    """(label, cluster) of each, or both times its class"""
    if by_class:
        return samples.targets, samples.targets.astype(np.int64)
    return labels_of(samples), samples.sample_cluster


def labels_of(samples: Samples) -> Floats:
    """(n,): of the samples' clusters where all are known, so without label noise"""
    known = len(samples.centers) > 0 and bool((samples.sample_cluster >= 0).all())
    return samples.cluster_label[samples.sample_cluster].astype(float) if known else samples.label


def _parts(
    name: str, scenario: Scenario, setting: Setting, snapshot: Snapshot, test: Test
) -> list[tuple[Integers, Target]]:
    """The samples that a classifier is attacked at, and their rows: all at once, but for a decision between clusters or
    classes, where each has a classifier of its own."""
    wanted, problem = scenario.evaluate.robustness, setting.problem
    assert wanted is not None
    if name == "classes" or _by_class(problem):
        parts = []
        for cluster in np.unique(test.cluster):
            rows = np.flatnonzero(test.cluster == cluster)
            own = of_class(setting, snapshot, int(cluster))
            side = np.where(test.goal_cluster == cluster, 1.0, -1.0)
            parts.append((rows, Target.of(own, test.x[rows], np.ones(len(rows)), test.goals, side, norm=wanted.norm)))
        return parts
    classifier = _classifier(name, scenario, setting, snapshot)
    universal = _label_direction(problem)
    target = Target.of(classifier, test.x, test.label, test.goals, test.goal_label, universal, wanted.norm)
    return [(np.arange(len(test.x)), target)]


def _label_direction(problem: Problem) -> Floats | None:
    """(d,): sum of the centres times their labels, of sparse coding also times |w*|; None where there are none."""
    if not len(problem.centers):
        return None
    weight = problem.samples.label_weight
    return (problem.cluster_label if weight is None else problem.cluster_label * weight) @ problem.centers


def _classifier(name: str, scenario: Scenario, setting: Setting, snapshot: Snapshot) -> Classifier:
    if name == "network":
        return classifier_of(setting, snapshot)
    return by_outputs(setting, snapshot) if name == "outputs" else ideal_classifier(name, scenario, setting.problem)


def _measured(
    name: str,
    parts: list[tuple[Integers, Target]],
    wanted: Robustness,
    options: Options,
    samples: int,
    progress: Progress | None,
) -> dict[str, Floats]:
    """robust_accuracy (attack, radius), attacked_radius (samples,), and those of BOUNDS that the classifier has"""
    radii = np.array(wanted.radii)
    withstands = np.ones((len(wanted.attacks), len(radii), samples), dtype=bool)
    closest = np.full(samples, np.inf)
    known: dict[str, Floats] = {}

    def say(attack: str) -> None:
        if progress is not None:
            progress(f"{name}, {attack}")

    for rows, target in parts:
        with blas_threads(4 * target.x.size * len(target.classifier.directions)):
            found = attacked(target, radii, wanted.attacks, options, say)
        for index, attack in enumerate(wanted.attacks):
            withstands[index][:, rows] = found[attack].withstands
            closest[rows] = np.minimum(closest[rows], found[attack].size)
        for bound, one in BOUNDS.items() if wanted.norm == "l2" else ():
            say(bound)
            values = one.measure(target.classifier, target.x, target.label)
            if values is not None:
                known.setdefault(bound, np.full(samples, np.nan))[rows] = values
    return {"robust_accuracy": withstands.mean(axis=2), "attacked_radius": closest, **known}


def _layout(rows: Mapping[str, Mapping[str, Floats]], wanted: Robustness, test: Test) -> xr.Dataset:
    radii, count = np.array(wanted.radii), len(test.x)
    accuracy = ("classifier", "attack", "radius")
    radius_of = ("classifier", "test_sample")
    variables: dict[str, tuple[Any, ...]] = {
        "robust_accuracy": (
            accuracy,
            np.array([row["robust_accuracy"] for row in rows.values()]),
            "share of the samples that are classified right wherever the attack moves them to",
        ),
        "attacked_radius": (
            radius_of,
            np.array([row["attacked_radius"] for row in rows.values()]),
            "size of the smallest perturbation found that is classified wrong; inf where none was found",
        ),
    }
    for name, bound in BOUNDS.items():
        if any(name in row for row in rows.values()):
            values = np.array([row.get(name, np.full(count, np.nan)) for row in rows.values()])
            share = (values[:, None, :] > radii[:, None]).mean(axis=2)
            share[np.isnan(values).all(axis=1)] = np.nan
            variables[name] = (radius_of, values, bound.long_name)
            variables[bound.accuracy[0]] = (("classifier", "radius"), share, bound.accuracy[1])
    coordinates = {
        "classifier": ("classifier", np.array(list(rows)), "what classifies: the trained network, or another"),
        "attack": ("attack", np.array(wanted.attacks), "attack"),
        "radius": ("radius", radii, f"largest size of a perturbation, {wanted.norm}"),
        "test_label": (
            "test_sample",
            test.label.astype(np.int32),
            f"label of the attacked sample, one of {ORIGINS[test.origin]}; of its cluster, where that is known, and of "
            "classes that have none the class",
        ),
    }
    found = xr.Dataset(
        {name: (dims, values, {"long_name": text, "units": "1"}) for name, (dims, values, text) in variables.items()},
        {name: (dims, values, {"long_name": text, "units": "1"}) for name, (dims, values, text) in coordinates.items()},
    )
    found.attrs = {"norm": wanted.norm, "steps": wanted.steps, "restarts": wanted.restarts, **origin_of(test)}
    return found


def origin_of(test: Test) -> dict[str, str]:
    """Attributes that say which samples were attacked."""
    return {"samples": test.origin, "samples_are": ORIGINS[test.origin]}
