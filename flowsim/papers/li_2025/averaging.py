"""Claims of Li et al. 2025 about training on two classes: Theorems 4.5 and 4.6, and the coefficients behind them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant
from ...evaluate.evidence import Evidence, NotApplicable
from ..relu import distance_up_to_scale
from .ideal import feature_averaging
from .setting import LOGS, PAPER, SIZES, binary, coefficients, dual, late, moved_against, norm, own_clusters, training

#: Radius of the attack, in units of sqrt(d/k), that averaging must not withstand: 1 turns f_FA.
ATTACK = 2.0
#: Accuracies for 1 - exp(-Omega(log^2 d)) and exp(-Omega(log^2 d)).
SURE, NEVER = 0.999, 0.01
#: What stands for o(1) where the paper is absolute, relative to lambda, and relative to sup |f|.
SMALL, RELATIVE, OF_SUPREMUM = 0.5, 0.5, 0.25
#: What stands for Omega(1), for o(1) of a bias, and for o(1) of a ratio of coefficients.
LARGE, SMALL_BIAS, EVEN = 0.5, 0.1, 0.1


def fitted(hidden: Floats, features: Floats) -> tuple[float, float]:
    """(the lambda >= 0 with the smallest max_r |w_r - lambda z_r|, that maximum), a convex problem; w, z are (m, d)"""
    inner, square = (hidden * features).sum(axis=1), (features**2).sum(axis=1)
    rest = (hidden**2).sum(axis=1)

    def largest(factor: float) -> float:
        return float(np.sqrt(np.maximum(rest - 2 * factor * inner + factor**2 * square, 0).max()))

    # the best one lies between those of single neurons
    single = np.maximum(inner / square, 0)
    low, high = float(single.min()), float(single.max())
    if high - low <= 1e-12 * high:
        return high, float(np.linalg.norm(hidden - high * features, axis=1).max())
    found = minimize_scalar(largest, bounds=(low, high), method="bounded", options={"xatol": 1e-10 * high})
    return float(found.x), float(np.linalg.norm(hidden - found.x * features, axis=1).max())


def _averages(evidence: Evidence) -> tuple[float, float]:
    problem = binary(evidence)
    return fitted(evidence.network.hidden, own_clusters(problem) @ dual(problem))


def _averaging(evidence: Evidence) -> float:
    return _averages(evidence)[1] * norm(evidence.problem)


def _relative_averaging(evidence: Evidence) -> float:
    factor, distance = _averages(evidence)
    return distance * norm(evidence.problem) / factor if factor > 0 else math.inf


def _ends(evidence: Evidence) -> tuple[Floats, Floats]:
    """lambda at the end, (own, other): of every neuron with every cluster of its class, and of the other."""
    own = own_clusters(binary(evidence))
    last = coefficients(evidence)[1][-1]
    return last[own], last[~own]


def _equal_coefficients(evidence: Evidence) -> float:
    own, _ = _ends(evidence)
    return float(own.max() / own.min() - 1) if own.min() > 0 else math.inf


def _other_coefficients(evidence: Evidence) -> float:
    return float(np.abs(_ends(evidence)[1]).max())


def _relative_other_coefficients(evidence: Evidence) -> float:
    own, other = _ends(evidence)
    return float(np.abs(other).max() / np.abs(own.mean()))


def _bias(evidence: Evidence) -> float:
    if not binary(evidence).bias:
        raise NotApplicable("the network has no biases")
    return float(np.abs(evidence.network.bias).max())


def _accuracy(evidence: Evidence, radius: float) -> float:
    problem = binary(evidence)
    x, labels = moved_against(evidence, radius * norm(problem) / math.sqrt(len(problem.centers)))
    return evidence.accuracy(evidence.network(x), labels)


def _distance(evidence: Evidence) -> tuple[float, float]:
    """(inf over C of sup |C f_FA - f| on the sphere, sup |f|)"""
    if "from_averaging" not in evidence.known:
        problem = binary(evidence)
        ideal = feature_averaging(problem.centers, problem.cluster_label)
        distance, _, size = distance_up_to_scale(evidence.network, ideal, norm(problem))
        evidence.known["from_averaging"] = distance, size
    return evidence.known["from_averaging"]  # type: ignore[return-value]


def _relative_distance(evidence: Evidence) -> float:
    distance, size = _distance(evidence)
    return distance / size


AVERAGING = (
    "there is lambda in [Omega(1), inf) such that for all s, r: |w_sr - lambda sum over J_s of mu_j/|mu_j|^2| <= "
    "o(d^-1/2)"
)
_THEOREM = Claim(
    f"{PAPER}, Theorem 4.5", "", _averaging, SMALL, premises=training, constants=(SIZES, LOGS), span=late, measures=""
)


def _of(part: str, statement: str, measures: str, **changes: object) -> Claim:
    """A part of Theorem 4.5"""
    constants = (SIZES, LOGS, *changes.pop("constants", ()))  # type: ignore[misc]
    where = f"{PAPER}, Theorem 4.5 ({part})"
    return replace(_THEOREM, where=where, statement=statement, measures=measures, constants=constants, **changes)  # type: ignore[arg-type]


CLAIMS = {
    "theorem_4_5.clean_accuracy": _of(
        "1",
        "after Omega(1/eta) <= T <= exp(Õ(k^1/2)) iterations the clean accuracy is at least 1 - exp(-Omega(log^2 d))",
        "accuracy on fresh samples",
        measure=lambda evidence: _accuracy(evidence, 0.0),
        bound=SURE,
        at_least=True,
        constants=(Constant("1 - exp(-Omega(log^2 d))", SURE, "chosen"),),
    ),
    "theorem_4_5.feature_averaging": _of(
        "2",
        AVERAGING,
        "largest |w_sr - lambda sum of mu/|mu|^2 over the class| times d^1/2, with the best lambda for all",
        constants=(Constant("o(1)", SMALL, "chosen"), Constant("lambda", lambda of: _averages(of)[0], "fitted")),
    ),
    "theorem_4_5.relative_averaging": _of(
        "2",
        f"{AVERAGING}; here relative to lambda, which grows, so weaker than printed",
        "largest |w_sr - lambda sum of mu/|mu|^2 over the class| times d^1/2 / lambda, with the best lambda for all",
        measure=_relative_averaging,
        bound=RELATIVE,
        constants=(Constant("o(1), relative to lambda", RELATIVE, "chosen"),),
    ),
    "theorem_4_5.large_coefficient": _of(
        "2",
        "lambda in [Omega(1), inf)",
        "the best lambda for all neurons",
        measure=lambda evidence: _averages(evidence)[0],
        bound=LARGE,
        at_least=True,
        constants=(Constant("Omega(1)", LARGE, "chosen"),),
    ),
    "theorem_4_5.bias": _of(
        "2",
        "|b_sr| <= o(1)",
        "largest |b_sr|",
        measure=_bias,
        bound=SMALL_BIAS,
        constants=(Constant("o(1) of a bias", SMALL_BIAS, "chosen"),),
    ),
    "theorem_4_5.not_robust": _of(
        "3",
        "for delta = Omega((d/k)^1/2) the delta-robust accuracy is at most exp(-Omega(log^2 d))",
        "accuracy on fresh samples moved by delta along the difference of the classes, an upper bound of robust accuracy",
        measure=lambda evidence: _accuracy(evidence, ATTACK),
        bound=NEVER,
        constants=(
            Constant("delta/(d/k)^1/2", ATTACK, "chosen"),
            Constant("exp(-Omega(log^2 d))", NEVER, "chosen"),
        ),
    ),
    "theorem_4_5.equal_coefficients": replace(
        _THEOREM,
        where=f"{PAPER}, Section 5.3 Step 1",
        statement="lambda_s1,r1,j1 / lambda_s2,r2,j2 = 1 ± o(1) for j1 in J_s1 and j2 in J_s2",
        measures="largest ratio of two coefficients of neurons and clusters of their class, less 1",
        measure=_equal_coefficients,
        bound=EVEN,
        constants=(SIZES, LOGS, Constant("o(1) of a ratio", EVEN, "chosen")),
    ),
    "section_5_3.other_coefficients": replace(
        _THEOREM,
        where=f"{PAPER}, Section 5.3 Step 2",
        statement="lambda_srj keeps o(1) for j in J_-s",
        measures="largest |lambda| of a neuron and a cluster of the other class",
        measure=_other_coefficients,
        bound=EVEN,
        constants=(SIZES, LOGS, Constant("o(1) of a coefficient", EVEN, "chosen")),
    ),
    "section_5_3.relative_other_coefficients": replace(
        _THEOREM,
        where=f"{PAPER}, Section 5.3 Step 2",
        statement="lambda_srj keeps o(1) for j in J_-s; here relative to those in J_s, so weaker than printed",
        measures="largest |lambda| of a neuron and a cluster of the other class, relative to the mean within the class",
        measure=_relative_other_coefficients,
        bound=EVEN,
        constants=(SIZES, LOGS, Constant("o(1), relative to lambda", EVEN, "chosen")),
    ),
    "theorem_4_6.distance": replace(
        _THEOREM,
        where=f"{PAPER}, Theorem 4.6",
        statement="inf over C > 0 of sup over |x| = d^1/2 of |C f_FA(x) - f(x)| = o(1)",
        measures="that number; the suprema are the largest values that gradient ascent finds",
        measure=lambda evidence: _distance(evidence)[0],
        constants=(SIZES, LOGS, Constant("o(1)", SMALL, "chosen")),
    ),
    "theorem_4_6.relative_distance": replace(
        _THEOREM,
        where=f"{PAPER}, Theorem 4.6",
        statement="inf over C > 0 of sup over |x| = d^1/2 of |C f_FA(x) - f(x)| = o(1); here relative to sup |f|, which "
        "grows, so weaker than printed",
        measures="that number over sup |f|; the suprema are the largest values that gradient ascent finds",
        measure=_relative_distance,
        bound=OF_SUPREMUM,
        constants=(SIZES, LOGS, Constant("o(1), relative to sup |f|", OF_SUPREMUM, "chosen")),
    ),
}
