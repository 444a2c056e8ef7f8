"""The share of held-out samples that withstand the attacker of training."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...kinds.pixels import slices
from ..conditions import HELD_OUT, LABELLED, has_held_out_labels
from ..instant import Instant, Setting
from ..observable import observable


def _is_attacked(setting: Setting) -> bool:
    problem = setting.problem
    ordinary = problem.network is not None and not problem.has_neurons
    return setting.attack is not None and ordinary and has_held_out_labels(setting)


@observable(
    "robust_accuracy",
    (),
    "accuracy on the held-out samples, moved by the attacker of the first stage that has one",
    _is_attacked,
    on_request=True,
    needs=f"a stage with an attacker, {HELD_OUT}, with {LABELLED}, and a network without neurons, such as those of images",
    any_network=True,
)
def robust_accuracy(instant: Instant) -> Floats:
    return instant.singly(_withstanding)


def _withstanding(instant: Instant) -> float:
    """At one instant, in float64"""
    from ...kinds.trees import at_a_time  # with JAX, which other networks do without
    from ...solve.optax.attacker import Attacker, attacked

    problem, attack = instant.problem, instant.setting.attack
    network, test = problem.network, problem.test
    assert network is not None
    assert test is not None
    assert attack is not None
    attacker, right = Attacker.made(attack), 0
    for rows in slices(len(test.targets), at_a_time(network)):
        targets = test.targets[rows]
        moved = attacked(network, problem.loss, attacker, instant.arrays, test.stored[rows], targets.T)
        right += int((instant.margin_at(np.asarray(moved), targets) > 0).sum())
    return right / len(test.targets)
