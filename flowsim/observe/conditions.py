"""What problems have, as several observables ask for it: each question, and where it isn't plain what it asks in words."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from .instant import Setting

TWO_LAYERS = "two layers: neurons that have an output weight each"
UNGATED = "neurons whose responses depend on their trained weights alone"
SIGNED = "clusters, and two layers: neurons that have an output weight each"
LABELLED = "targets +1/-1 or an output for every cluster"
DIFFERENTIABLE = "outputs that are a function of what is trained, by formulas that JAX can differentiate"
HELD_OUT = "held-out samples, from [data.test]"


def has_clusters(setting: Setting) -> bool:
    return len(setting.problem.centers) > 0


def has_labels(setting: Setting) -> bool:
    return setting.problem.loss.classes or are_labels(setting.problem.targets)


def are_labels(targets: Floats) -> bool:
    return targets.ndim == 1 and bool(np.isin(targets, (-1.0, 1.0)).all())


def has_no_vectors(setting: Setting) -> bool:
    return not setting.problem.loss.vectors


def has_held_out(setting: Setting) -> bool:
    return setting.problem.test is not None


def has_held_out_labels(setting: Setting) -> bool:
    test = setting.problem.test
    return test is not None and (setting.problem.loss.classes or are_labels(test.targets))


def has_two_layers(setting: Setting) -> bool:
    return setting.problem.two_layers


def is_ungated(setting: Setting) -> bool:
    return setting.problem.reducible


def is_signed(setting: Setting) -> bool:
    """Whether neurons have the sign of an output weight, and hence targets among clusters."""
    return has_clusters(setting) and has_two_layers(setting)


def is_differentiable(setting: Setting) -> bool:
    """Whether :attr:`Setting.derivatives` exist."""
    problem = setting.problem
    return problem.network is not None or problem.activation.schedule is None
