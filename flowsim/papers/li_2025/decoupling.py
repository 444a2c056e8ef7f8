"""Claims of Li et al. 2025 about training on every cluster: Theorem 4.7 and Proposition 4.8."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness.attacks import STRONG, Target, attacked
from ...evaluate.robustness.bounds import BOUNDS
from ...evaluate.robustness.classifier import ByProbability
from ...evaluate.robustness.trained import classifier_of
from .averaging import ATTACK, NEVER, RELATIVE, SMALL, SURE, fitted
from .ideal import averaging_outputs, binary_probability
from .setting import (
    LOGS,
    PAPER,
    SIZES,
    centers,
    clustered,
    dual,
    moved_against,
    multi_class,
    norm,
    training,
    very_late,
)

#: Radius, in units of sqrt(d), that decoupling must withstand: that of the proof (Appendix C.3).
WITHSTOOD = 0.1
#: lambda / ln k at least (Appendix C.3).
GROWN = 2.0
#: -ln(cross-entropy) / d at least, for exp(-Omega(d)).
RATE = 0.1
#: Fresh samples whose radii are certified, and that are attacked.
ATTACKED = 200


def _decoupling(evidence: Evidence) -> tuple[float, float]:
    problem = multi_class(evidence)
    return fitted(evidence.network.hidden, dual(problem)[evidence.neuron_output])


def _decoupled(evidence: Evidence) -> float:
    return _decoupling(evidence)[1] * norm(evidence.problem)


def _relative_decoupled(evidence: Evidence) -> float:
    factor, distance = _decoupling(evidence)
    return distance * norm(evidence.problem) / factor if factor > 0 else math.inf


def _grown(evidence: Evidence) -> float:
    return _decoupling(evidence)[0] / math.log(len(evidence.problem.centers))


def _clean(evidence: Evidence) -> float:
    problem = multi_class(evidence)
    x, labels = moved_against(evidence, 0.0)
    return evidence.accuracy(binary_probability(evidence.class_outputs(x), problem.cluster_label), labels)


def _classifier(evidence: Evidence) -> ByProbability:
    multi_class(evidence)
    classifier = classifier_of(evidence.setting, evidence.weights[-1])
    if not isinstance(classifier, ByProbability):
        raise NotApplicable("it speaks of networks with an output per cluster")
    return classifier


def _certified_radii(evidence: Evidence) -> Floats:
    """(n,): in units of sqrt(d), within which fresh samples provably keep their class; 0 where it is wrong"""
    if "certified" not in evidence.known:
        classifier = _classifier(evidence)
        x, labels = moved_against(evidence, 0.0, ATTACKED)
        radii = BOUNDS["certified_radius"].measure(classifier, x, labels.astype(float))
        if radii is None:
            raise NotApplicable("networks of this activation have no certified radii")
        evidence.known["certified"] = radii / norm(evidence.problem)
    return np.asarray(evidence.known["certified"])


def _attacked_radii(evidence: Evidence) -> Floats:
    """(n,): in units of sqrt(d), the size of the smallest move found that turns the class of fresh samples"""
    if "attacked" not in evidence.known:
        problem, classifier = evidence.problem, _classifier(evidence)
        x, labels = moved_against(evidence, 0.0, ATTACKED)
        goals = problem.centers, problem.cluster_label.astype(float)
        target = Target.of(classifier, x, labels.astype(float), *goals, problem.cluster_label @ problem.centers)
        found = attacked(target, np.array([WITHSTOOD * norm(problem)]), [STRONG])[STRONG]
        evidence.known["attacked"] = found.size / norm(problem)
    return np.asarray(evidence.known["attacked"])


def _counterexample(evidence: Evidence, radius: float) -> float:
    problem = clustered(evidence)
    x, labels = moved_against(evidence, radius * norm(problem) / math.sqrt(len(problem.centers)))
    outputs = averaging_outputs(x, problem.centers, problem.cluster_label)
    return evidence.accuracy(binary_probability(outputs, problem.cluster_label), labels)


def _counterexample_rate(evidence: Evidence) -> float:
    """-ln(cross-entropy)/d on the training samples, exact where the loss underflows"""
    problem = clustered(evidence)
    outputs = averaging_outputs(problem.inputs, problem.centers, problem.cluster_label)
    rows = np.arange(len(outputs))
    own = outputs[rows, problem.sample_cluster].copy()
    outputs[rows, problem.sample_cluster] = -np.inf
    behind = logsumexp(outputs, axis=1) - own
    # ln ln(1 + e^z), which is z where e^z is nothing beside 1
    log_loss = np.where(behind < -30, behind, np.log(np.logaddexp(0, np.maximum(behind, -30))))
    return float(-(logsumexp(log_loss) - math.log(len(rows))) / problem.dimension)


DECOUPLING = "there is lambda in [Omega(log k), inf) such that for all j, r: |w_jr - lambda mu_j/|mu_j|^2| <= o(d^-1/2)"
ROBUST = "for delta = O(d^1/2) the delta-robust accuracy of the binary classifier is at least 1 - exp(-Omega(log^2 d))"
_THEOREM = Claim(
    f"{PAPER}, Theorem 4.7", "", _decoupled, SMALL, premises=training, constants=(SIZES, LOGS), span=very_late
)
_RADIUS = Constant("delta/d^1/2", WITHSTOOD, "paper")


def _of(part: str, statement: str, measures: str, *constants: Constant, **changes: object) -> Claim:
    """A part of Theorem 4.7"""
    where = f"{PAPER}, Theorem 4.7 ({part})"
    constants = (SIZES, LOGS, *constants)
    return replace(_THEOREM, where=where, statement=statement, measures=measures, constants=constants, **changes)  # type: ignore[arg-type]


CLAIMS = {
    "theorem_4_7.clean_accuracy": _of(
        "1",
        "after Omega(k^8/eta) <= T <= exp(Õ(k^1/2)) iterations the clean accuracy of the binary classifier is at least "
        "1 - exp(-Omega(log^2 d))",
        "accuracy on fresh samples",
        Constant("1 - exp(-Omega(log^2 d))", SURE, "chosen"),
        measure=_clean,
        bound=SURE,
        at_least=True,
    ),
    "theorem_4_7.large_coefficient": _of(
        "2",
        "lambda in [Omega(log k), inf), by its proof lambda >= 2 ln k",
        "the best lambda for all neurons, over ln k",
        Constant("Omega(log k)/ln k", GROWN, "paper"),
        measure=_grown,
        bound=GROWN,
        at_least=True,
    ),
    "theorem_4_7.feature_decoupling": _of(
        "2",
        DECOUPLING,
        "largest |w_jr - lambda mu_j/|mu_j|^2| times d^1/2, with the best lambda for all",
        Constant("o(1)", SMALL, "chosen"),
        Constant("lambda", lambda evidence: _decoupling(evidence)[0], "fitted"),
    ),
    "theorem_4_7.relative_decoupling": _of(
        "2",
        f"{DECOUPLING}; here relative to lambda, which grows, so weaker than printed",
        "largest |w_jr - lambda mu_j/|mu_j|^2| times d^1/2 / lambda, with the best lambda for all",
        Constant("o(1), relative to lambda", RELATIVE, "chosen"),
        measure=_relative_decoupled,
        bound=RELATIVE,
    ),
    "theorem_4_7.certified": _of(
        "3",
        ROBUST,
        f"share of {ATTACKED} fresh samples with a certified radius of at least delta, a lower bound of robust accuracy",
        _RADIUS,
        Constant("1 - exp(-Omega(log^2 d))", SURE, "chosen"),
        Constant("least certified radius/d^1/2", lambda evidence: float(_certified_radii(evidence).min()), "fitted"),
        measure=lambda evidence: float((_certified_radii(evidence) >= WITHSTOOD).mean()),
        bound=SURE,
        at_least=True,
    ),
    "theorem_4_7.attacked": _of(
        "3",
        ROBUST,
        f"share of {ATTACKED} fresh samples that no attack turns within delta, an upper bound of robust accuracy",
        _RADIUS,
        Constant("1 - exp(-Omega(log^2 d))", SURE, "chosen"),
        Constant("least attacked radius/d^1/2", lambda evidence: float(_attacked_radii(evidence).min()), "fitted"),
        measure=lambda evidence: float((_attacked_radii(evidence) > WITHSTOOD).mean()),
        bound=SURE,
        at_least=True,
    ),
    "proposition_4_8.cross_entropy": Claim(
        f"{PAPER}, Proposition 4.8",
        "the averaging multi-class network has the cross-entropy exp(-Omega(d)) on the training samples",
        _counterexample_rate,
        RATE,
        at_least=True,
        measures="-ln(cross-entropy)/d",
        premises=centers,
        constants=(Constant("Omega(d)/d", RATE, "chosen"),),
    ),
    "proposition_4_8.clean_accuracy": Claim(
        f"{PAPER}, Proposition 4.8",
        "the clean accuracy of its binary classifier is at least 1 - exp(-Omega(log^2 d))",
        lambda evidence: _counterexample(evidence, 0.0),
        SURE,
        at_least=True,
        measures="accuracy on fresh samples",
        premises=centers,
        constants=(Constant("1 - exp(-Omega(log^2 d))", SURE, "chosen"),),
    ),
    "proposition_4_8.not_robust": Claim(
        f"{PAPER}, Proposition 4.8",
        "its robust accuracy at Omega((d/k)^1/2) is at most exp(-Omega(log^2 d))",
        lambda evidence: _counterexample(evidence, ATTACK),
        NEVER,
        measures="accuracy on fresh samples moved along the difference of the classes, an upper bound of robust accuracy",
        premises=centers,
        constants=(
            Constant("delta/(d/k)^1/2", ATTACK, "chosen"),
            Constant("exp(-Omega(log^2 d))", NEVER, "chosen"),
        ),
    ),
}
