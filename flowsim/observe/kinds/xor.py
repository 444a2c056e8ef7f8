"""What Frei, Chatterji & Bartlett 2022 follow on XOR data: neurons that capture a cluster, and two conditions on them.

XOR centres are +mu_1, -mu_1 (label +1), +mu_2, -mu_2 (label -1), mu_1 and mu_2 orthogonal and of one norm.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...arrays import Floats, Integers
from ...problem import Problem
from ..instant import Instant, Setting
from ..observable import observable
from .regions import active_pairs

#: The constant C_0 > 1 of Lemma 4.2, which is true of any: neurons capture at a cosine of 1/(3 C_0 sqrt(d)).
C0 = 4.0
#: The one of Definition 4.5, a good run.
GOOD_RUN_C0 = 4.0**5 * 1024.0**2 * math.exp(4)
#: Centres are those of XOR where they are so up to this, relative to their norm.
ROUNDING = 1e-9
_XOR = "the four centres of XOR and a neuron that captures one of them"


def is_xor(problem: Problem) -> bool:
    """Whether the centres and their labels are those of XOR."""
    centers = problem.centers
    if len(centers) != 4 or problem.cluster_label.tolist() != [1, 1, -1, -1]:
        return False
    norms = np.linalg.norm(centers, axis=1)
    bound = ROUNDING * norms.max()
    opposite = np.abs(centers[::2] + centers[1::2]).max() <= bound
    return bool(opposite and abs(centers[0] @ centers[2]) <= bound * norms.max() and np.ptp(norms) <= bound)


def capture_sets(problem: Problem, c0: float = C0) -> Integers:
    """(m,): the cluster that each neuron captures at time 0 (Lemma 4.2): the centre of the neuron's own sign with which its
    cosine is at least 1/(3 C_0 sqrt(d)), biases left out; -1 where there is none. J_mu are the neurons of one cluster."""
    direction, unit = problem.hidden_direction, unit_centers(problem)
    cosine = direction @ unit.T / np.linalg.norm(direction, axis=1, keepdims=True)
    own = problem.weights.output_sign[:, None] == problem.cluster_label
    cosine = np.where(own, cosine, -np.inf)
    captured = cosine.max(axis=1) >= 1 / (3 * c0 * problem.dimension**0.5)
    return np.where(captured, cosine.argmax(axis=1), -1)


def unit_centers(problem: Problem) -> Floats:
    """(K, d)"""
    return problem.centers / np.linalg.norm(problem.centers, axis=1, keepdims=True)


def captures(setting: Setting, c0: float) -> bool:
    """Whether these conditions speak of the problem, and of any neuron in it."""
    return is_xor(setting.problem) and bool((capture_sets(setting.problem, c0) >= 0).any())


def neuron_alignment(instant: Instant, c0: float) -> Floats:
    """(…): over all neurons that capture mu and all samples around mu and -mu, the share of pairs in which the neuron is
    active on the former, inactive on the latter; Condition 4.7 is that it is 1"""
    setting = instant.setting
    captured = capture_sets(setting.problem, c0)
    neurons = np.flatnonzero(captured >= 0)
    # reduced samples count as often as they stand for samples of the cluster
    on, off = (setting.cluster_counts[cluster] for cluster in (captured[neurons], captured[neurons] ^ 1))
    right = sum(
        (np.where(active[..., neurons, :], on[:, rows], off[:, rows])).sum(axis=(-2, -1))
        for rows, active in active_pairs(instant)
    )
    return np.asarray(right / (on.sum() + off.sum()))


def almost_orthogonality(instant: Instant, c0: float) -> Floats:
    """(…): largest |<w_j, mu>| / |v_j| over the neurons that capture a cluster and the unit centres mu of the other sign;
    Condition 4.8 is that it is at most 3 times the step size"""
    setting, snapshot = instant.setting, instant.snapshot
    captured = capture_sets(setting.problem, c0)
    neurons = np.flatnonzero(captured >= 0)
    other = np.where(captured[neurons] < 2, 2, 0)
    products = setting.reduced.center_products(snapshot.direction)[..., neurons, other]
    scale = np.exp(snapshot.log_norm - snapshot.output_log)[..., neurons]
    return np.abs(products * scale).max(axis=-1) / np.linalg.norm(setting.problem.centers[0])


#: condition -> (what it is, its value)
_CONDITIONS = {
    "neuron_alignment": (
        "share of right gates: active around mu and not around -mu, for each neuron that captures mu",
        neuron_alignment,
    ),
    "almost_orthogonality": (
        "largest |<w_j, mu>| / |v_j| over neurons that capture a cluster and unit centres of the other sign",
        almost_orthogonality,
    ),
}
for _suffix, _c0, _said in (("", C0, "C_0 = 4"), ("_good_run", GOOD_RUN_C0, "C_0 of a good run")):
    for _name, (_text, _value) in _CONDITIONS.items():
        observable(
            _name + _suffix,
            (),
            f"{_text}; {_said}",
            partial(captures, c0=_c0),
            on_request=True,
            needs=f"{_XOR} ({_said})",
        )(partial(_value, c0=_c0))
