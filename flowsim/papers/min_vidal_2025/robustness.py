"""Claims of Min & Vidal 2025 about robustness and the distance to F^(p): Propositions 1, 2 and 3, Lemma 17, Theorem 1 and
Corollary 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from ...evaluate.claim import Claim
from ...evaluate.distance import ideal_of
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import ideal_classifier, nearest_cluster, network_of
from ...evaluate.robustness.attacks import STRONG, Target, attacked
from ...evaluate.robustness.classifier import Classifier
from ...evaluate.robustness.trained import classifier_of
from ...evaluate.sphere import Distance, sphere_distance
from .setting import CONSTANT, DELTA, PAPER, Mixture, Training, premises
from .training import FITTED, SMALL

#: Radius that no classifier withstands (Proposition 1), and fresh samples that are attacked.
LIMIT, ATTACKED = math.sqrt(2) / 2, 500
#: Weights kept on [t*, T*] whose distance is looked at, at most.
LOOKED_AT = 4


def robust_radii(evidence: Evidence, classifier: Classifier) -> Floats:
    """(n,): the size of the smallest move found that turns the class of each of n fresh samples, by all attacks"""
    problem, test = evidence.problem, evidence.test
    label = problem.cluster_label[test.sample_cluster[:ATTACKED]].astype(float)
    goals = problem.centers, problem.cluster_label.astype(float)
    universal = problem.cluster_label @ problem.centers
    target = Target.of(classifier, test.inputs[:ATTACKED], label, *goals, universal)
    return attacked(target, np.array([LIMIT]), [STRONG])[STRONG].size


def _network_radii(evidence: Evidence) -> Floats:
    """Those of the trained network, reckoned once for all claims"""
    known = evidence.known
    if "robust_radii" not in known:
        known["robust_radii"] = robust_radii(evidence, classifier_of(evidence.setting, evidence.weights[-1]))
    return np.asarray(known["robust_radii"])


def _robust_error(name: str, evidence: Evidence) -> float:
    """Share of fresh samples that are lost at the radius sqrt(2)/2"""
    Mixture.of(evidence)
    if name == "network":
        radii = _network_radii(evidence)
    else:
        radii = robust_radii(evidence, ideal_classifier(name, evidence.scenario, evidence.problem))
    return float((radii <= LIMIT).mean())


def _least_error(evidence: Evidence) -> float:
    mixture = Mixture.of(evidence)
    return mixture.smaller_class / mixture.clusters - math.sqrt(-math.log(DELTA) / (2 * ATTACKED))


def _bayes_nu(mixture: Mixture) -> float:
    """The nu at which the bound of Proposition 2 is 1 - delta"""
    variance, clusters = mixture.alpha**2 / mixture.dimension, mixture.clusters
    nu = max(8 * math.sqrt(variance * math.log(2 * clusters / DELTA)), 2 * math.sqrt(2) * variance * math.log(clusters))
    if nu > math.sqrt(2):
        raise NotApplicable(f"with so much noise its bound is trivial: nu = {nu:.3g} is above sqrt(2)")
    return nu


def _bayes_robust(evidence: Evidence) -> float:
    """Share of fresh samples at which Bayes' rule provably withstands (sqrt(2) - nu)/2: the score of the nearest centre is
    larger than that of every centre of the other class by more than sqrt(2) times that and alpha^2/D log K"""
    mixture, problem = Mixture.of(evidence), evidence.problem
    radius = (math.sqrt(2) - _bayes_nu(mixture)) / 2
    label = problem.cluster_label[evidence.test.sample_cluster]
    margin = label * nearest_cluster(problem.centers, problem.cluster_label).value(evidence.test.inputs)
    blurred = mixture.alpha**2 / mixture.dimension * math.log(mixture.clusters)
    return float((margin - blurred > math.sqrt(2) * radius).mean())


def distance_at(evidence: Evidence, index: int) -> Distance:
    """The distance to F^(p) of the network at one of the kept weights, reckoned once for all claims"""
    key = f"distance {index % len(evidence.weights.time)}"
    if key not in evidence.known:
        ideal = ideal_of(evidence.scenario, evidence.problem)
        evidence.known[key] = sphere_distance(network_of(evidence.setting, evidence.weights[index]), ideal)
    found = evidence.known[key]
    assert isinstance(found, Distance)
    return found


def _close_nu(evidence: Evidence) -> float:
    """The nu of Proposition 3: the distance, or more where its bound would say less than 1 - delta of the products with
    centres"""
    training = Training.of(evidence)
    mixture, p = training.mixture, training.degree
    found = distance_at(evidence, -1).up_to_scale
    informative = 2 * (mixture.clusters * mixture.alpha) ** 2 * math.log(2 * mixture.clusters / DELTA)
    nu, largest = max(found, (informative / mixture.dimension) ** (p / 2)), (math.sqrt(2) / 8) ** p
    if nu > largest:
        raise NotApplicable(f"it speaks of a distance up to (sqrt(2)/8)^p = {largest:.3g}, and here it is {nu:.3g}")
    return nu


def _close_robust(evidence: Evidence) -> float:
    p = Training.of(evidence).degree
    radius = (math.sqrt(2) - 8 * _close_nu(evidence) ** (1 / p)) / 2
    return float((_network_radii(evidence) > radius).mean())


def _close_bound(evidence: Evidence) -> float:
    training = Training.of(evidence)
    mixture, p = training.mixture, training.degree
    exponent = mixture.dimension * _close_nu(evidence) ** (2 / p) / (2 * (mixture.clusters * mixture.alpha) ** 2)
    return 1 - 2 * mixture.clusters * math.exp(-exponent) - 4 * math.exp(-3 / (8 * mixture.alpha**2))


def _measured_end(training: Training) -> tuple[float, float, float]:
    """(delta, nu, zeta) of Lemma 17 at the end of the run: 1 - the smallest c_kj, the largest |1 - mass|, the void mass"""
    misaligned = float(1 - training.aim[-1].min())
    error = float(np.abs(1 - np.exp(training.log_cluster_mass[-1])).max())
    return misaligned, error, float(np.exp(training.log_void_mass[-1]))


def _closeness(evidence: Evidence, slope: Callable[[float, float], float]) -> float:
    """K (1 + nu) slope(delta, p) + K nu + zeta"""
    training = Training.of(evidence)
    misaligned, error, void = _measured_end(training)
    return training.mixture.clusters * ((1 + error) * slope(misaligned, training.degree) + error) + void


def _distance_at_end(evidence: Evidence) -> float:
    Training.of(evidence)
    return distance_at(evidence, -1).as_it_is


def _largest_distance(evidence: Evidence) -> float:
    """In units of alpha^2 log(K/delta)"""
    training = Training.of(evidence)
    ratio = training.times[-1] / evidence.trajectory["time"].values[-1]
    times = ratio * evidence.weights.time
    inside = np.flatnonzero((times >= training.fitted) & (times <= training.last))
    if not len(inside):
        window = f"[t*, T*] = [{training.fitted:.4g}, {training.last:.4g}] in per-cluster time"
        raise NotApplicable(f"no weights were kept in {window} (see observe.snapshots)")
    chosen = inside[np.unique(np.linspace(0, len(inside) - 1, LOOKED_AT).round().astype(int))]
    return max(distance_at(evidence, int(index)).as_it_is for index in chosen) / training.mixture.small


def _optimality(evidence: Evidence) -> float:
    """The C with which all but exp(-alpha^-2) of the samples withstand sqrt(2)/2 - C alpha^(2/p)"""
    training = Training.of(evidence)
    alpha = training.mixture.alpha
    radius = np.quantile(_network_radii(evidence), math.exp(-(alpha**-2)), method="lower")
    return float((LIMIT - radius) / alpha ** (2 / training.degree))


def _answered(measure: Callable[[Evidence], float]) -> Callable[[Evidence], float]:
    """The same, not applicable where there is no ideal classifier or are no weights"""

    def answer(evidence: Evidence) -> float:
        try:
            return measure(evidence)
        except UsageError as error:
            raise NotApplicable(str(error)) from None

    return answer


_CLAIMS = {
    **{
        f"proposition_1.{name}": Claim(
            f"{PAPER}, Proposition 1",
            f"share of fresh samples that {title} loses at the radius sqrt(2)/2 under the strongest attack; "
            f"min(K_1, K_2)/K less the error of {ATTACKED} samples, delta = {DELTA:g}",
            partial(_robust_error, name),
            _least_error,
            at_least=True,
        )
        for name, title in (("network", "the network"), ("bayes", "Bayes' rule"), ("ideal", "F^(p)"))
    },
    "proposition_2": Claim(
        f"{PAPER}, Proposition 2",
        f"share of fresh samples at which Bayes' rule withstands (sqrt(2) - nu)/2, nu such that the bound is 1 - delta = "
        f"{1 - DELTA:g}",
        _bayes_robust,
        1 - DELTA,
        at_least=True,
    ),
    "proposition_3": Claim(
        f"{PAPER}, Proposition 3",
        "share of fresh samples at which the network withstands the strongest attack of radius (sqrt(2) - 8 nu^(1/p))/2, "
        "nu its distance to F^(p) up to scale",
        _close_robust,
        _close_bound,
        at_least=True,
    ),
    "lemma_17.as_stated": Claim(
        f"{PAPER}, Lemma 17",
        "sup |f - F^(p)| on the sphere at the end; K (1 + nu) (2^p - 1) 2 delta + K nu + zeta, delta, nu, zeta measured. "
        "Its proof takes |u - mu| for 2 (1 - <u, mu>), which is the square",
        _distance_at_end,
        lambda evidence: _closeness(evidence, lambda delta, p: (2**p - 1) * 2 * delta),
    ),
    "lemma_17.corrected": Claim(
        f"{PAPER}, Lemma 17 with |u - mu| = sqrt(2 delta)",
        "sup |f - F^(p)| on the sphere at the end; K (1 + nu) p sqrt(2 delta) + K nu + zeta, delta, nu, zeta measured",
        _distance_at_end,
        lambda evidence: _closeness(evidence, lambda delta, p: p * math.sqrt(2 * max(delta, 0.0))),
    ),
    "theorem_1.distance": Claim(
        f"{PAPER}, Theorem 1",
        f"largest sup |f - F^(p)| on the sphere at kept weights in [t*, T*], T* = t* + alpha^-min(p-2, 2), in units of "
        f"{SMALL}; {FITTED}, twice that here",
        _largest_distance,
        2 * CONSTANT,
    ),
    "corollary_1": Claim(
        f"{PAPER}, Corollary 1",
        "C with which the network withstands the strongest attack of radius sqrt(2)/2 - C alpha^(2/p) at all fresh samples "
        f"but a share of exp(-alpha^-2); {FITTED}",
        _optimality,
        CONSTANT,
    ),
}
#: Propositions 1 and 2 are about any classifier and Bayes' rule, the others about what the flow arrives at.
_OF_THE_FLOW = ("lemma_17", "theorem_1", "corollary_1")
CLAIMS = {
    name: replace(
        claim,
        measure=_answered(claim.measure),
        observables=("cosine", "log10_loss") if name.startswith((*_OF_THE_FLOW, "proposition_3")) else (),
        premises=premises if name.startswith(_OF_THE_FLOW) else claim.premises,
    )
    for name, claim in _CLAIMS.items()
}
