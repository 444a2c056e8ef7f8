"""Claims of Min & Vidal 2025 about robustness and the distance to F^(p): Propositions 1, 2 and 3, Lemma 17, Theorem 1 and
Corollary 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ...arrays import Floats, Integers
from ...errors import UsageError
from ...evaluate.claim import Claim, Constant, Number, Premise, Rate, Window
from ...evaluate.distance import ideal_of
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from ...evaluate.robustness import ideal_classifier, nearest_cluster, network_of
from ...evaluate.robustness.attacks import STRONG, Target, attacked
from ...evaluate.robustness.certified import certified_radius
from ...evaluate.robustness.classifier import Classifier
from ...evaluate.robustness.trained import classifier_of
from ...evaluate.sphere import Distance, sphere_distance
from ...kinds.clusters import Drawn
from .common import CHOSEN, CONSTANT_IN_ALPHA, NOISE, SMALL
from .growth import FITTED, LAST
from .setting import CONSTANT, DELTA, PAPER, ROUNDING, Mixture, Training, premises

T = TypeVar("T")
Measured = Callable[[Evidence], float]
#: Radius that no classifier withstands (Proposition 1), and fresh samples that are attacked and certified.
LIMIT, ATTACKED, CERTIFIED = math.sqrt(2) / 2, 500, 500
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
    return max(
        8 * math.sqrt(variance * math.log(2 * clusters / DELTA)), 2 * math.sqrt(2) * variance * math.log(clusters)
    )


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
    return max(found, (informative / mixture.dimension) ** (p / 2))


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


def _closeness(evidence: Evidence) -> float:
    """K (1 + nu) p sqrt(2 delta) + K nu + zeta"""
    training = Training.of(evidence)
    misaligned, error, void = _measured_end(training)
    slope = training.degree * math.sqrt(2 * max(misaligned, 0.0))
    return training.mixture.clusters * ((1 + error) * slope + error) + void


def _largest_possible(evidence: Evidence) -> float:
    """What sup |f - F^(p)| is never above: 1 and the mass of the neurons of a sign"""
    training = Training.of(evidence)
    mass = np.exp(training.log_mass[-1])
    return 1.0 + float(max(mass[training.problem.weights.output_sign == sign].sum() for sign in (1, -1)))


def _distance_at_end(evidence: Evidence) -> float:
    Training.of(evidence)
    return distance_at(evidence, -1).as_it_is


def _in_window(evidence: Evidence) -> tuple[Training, Integers]:
    """(the training, the indices of the weights that were kept in [t*, T*])"""
    training = Training.of(evidence)
    times = training.unit * evidence.weights.time
    slack = ROUNDING * training.last
    inside = np.flatnonzero((times >= training.fitted - slack) & (times <= training.last + slack))
    if not len(inside):
        window = f"[t*, T*] = [{training.fitted:.4g}, {training.last:.4g}] in per-cluster time"
        raise NotCovered(f"no weights were kept in {window} (see observe.snapshots)")
    return training, inside


def _weights_after_fitting(evidence: Evidence) -> Window:
    training = Training.of(evidence)
    times = training.unit * evidence.weights.time
    return Window(training.fitted, training.last, times, LOOKED_AT, "per-cluster time, of kept weights")


def _largest_distance(evidence: Evidence) -> float:
    """In units of alpha^2 log(K/delta)"""
    training, inside = _in_window(evidence)
    chosen = inside[np.unique(np.linspace(0, len(inside) - 1, LOOKED_AT).round().astype(int))]
    return max(distance_at(evidence, int(index)).as_it_is for index in chosen) / training.mixture.small


def _certified(evidence: Evidence) -> Floats:
    """(n,): radii within which nothing changes the class that the network of the last weights in [t*, T*] gives fresh
    samples; 0 where that is wrong"""
    known = evidence.known
    if "min_vidal_2025.certified" not in known:
        _, inside = _in_window(evidence)
        network, test = network_of(evidence.setting, evidence.weights[int(inside[-1])]), evidence.test
        x = test.inputs[:CERTIFIED]
        right = np.sign(network.value(x)) == evidence.problem.cluster_label[test.sample_cluster[:CERTIFIED]]
        known["min_vidal_2025.certified"] = np.where(right, certified_radius(network, x), 0.0)
    return np.asarray(known["min_vidal_2025.certified"])


def _optimality(evidence: Evidence) -> float:
    """The C with which all but exp(-alpha^-2) of the samples withstand sqrt(2)/2 - C alpha^(2/p)"""
    training = Training.of(evidence)
    alpha = training.mixture.alpha
    radius = np.quantile(_certified(evidence), math.exp(-(alpha**-2)), method="lower")
    return float((LIMIT - radius) / alpha ** (2 / training.degree))


def _trivial_optimality(evidence: Evidence) -> float:
    """That of a network that withstands nothing"""
    training = Training.of(evidence)
    return float(LIMIT / training.mixture.alpha ** (2 / training.degree))


def _answered(measure: Callable[[Evidence], T]) -> Callable[[Evidence], T]:
    """The same, not applicable where there is no ideal classifier or are no weights"""

    def answer(evidence: Evidence) -> T:
        try:
            return measure(evidence)
        except UsageError as error:
            raise NotApplicable(str(error)) from None

    return answer


def _any_mixture(evidence: Evidence) -> Iterator[Premise]:
    """What Propositions 1 and 2 assume: equation (1)"""
    Mixture.of(evidence)
    assert isinstance(evidence.scenario.data, Drawn)
    yield Premise("flipped labels <= 0", evidence.scenario.data.label_noise, 0.0)


def _close(evidence: Evidence) -> Iterator[Premise]:
    """Of Proposition 3: nu <= (sqrt(2)/8)^p"""
    training = Training.of(evidence)
    yield from _any_mixture(evidence)
    yield Premise("nu <= (sqrt(2)/8)^p", _close_nu(evidence), (math.sqrt(2) / 8) ** training.degree)


def _close_of_degree_1(evidence: Evidence) -> Iterator[Premise]:
    """The same with f(gamma x) = gamma f(x), which f^(p)(gamma x) = gamma^p f(x) is not"""
    yield from _close(evidence)
    yield Premise("|degree of f in x - 1| <= 0", abs(Training.of(evidence).degree - 1), 0.0)


def _little_noise(evidence: Evidence) -> Iterator[Premise]:
    """Of Proposition 2: nu <= sqrt(2), nu such that its bound is 1 - delta"""
    yield from _any_mixture(evidence)
    yield Premise("2 sqrt(2) alpha^2 log K/D <= nu <= sqrt(2)", _bayes_nu(Mixture.of(evidence)), math.sqrt(2))


def _of_flow(where: str, statement: str, measure: Measured, bound: Number, **told: Any) -> Claim:
    """A claim about what the flow arrives at"""
    observables = ("cosine", "log10_loss")
    return Claim(f"{PAPER}, {where}", statement, _answered(measure), bound, observables=observables, **told)


_OF_ATTACKS = (Constant("delta", DELTA, "chosen"), Constant("attacked samples", ATTACKED, "chosen"))
_PROPOSITION_3 = (
    "a classifier with dist(f, F^(p)) <= nu withstands attacks of radius (sqrt(2) - 8 nu^(1/p))/2 with probability 1 - 2 K "
    "exp(-D nu^(2/p)/(2 K^2 alpha^2)) - 4 exp(-3/(8 alpha^2)){degree}"
)

CLAIMS = {
    **{
        f"proposition_1.{name}": Claim(
            f"{PAPER}, Proposition 1",
            "P(min_{|d| <= 1} f(x + sqrt(2)/2 d) y <= 0) >= min(K_1, K_2)/K for any f",
            _answered(partial(_robust_error, name)),
            _least_error,
            at_least=True,
            measures=f"share of fresh samples that {title} loses at that radius under the strongest attack; the bound is "
            f"less the error of {ATTACKED} samples",
            premises=_any_mixture,
            constants=_OF_ATTACKS,
            trivial=0.0,
        )
        for name, title in (("network", "the network"), ("bayes", "Bayes' rule"), ("ideal", "F^(p)"))
    },
    "proposition_2": Claim(
        f"{PAPER}, Proposition 2",
        "P(min_{|d| <= 1} f*(x + (sqrt(2) - nu)/2 d) y > 0) >= 1 - 2 K exp(-D nu^2/(64 alpha^2))",
        _bayes_robust,
        1 - DELTA,
        at_least=True,
        measures="share of fresh samples at which Bayes' rule withstands that radius, nu such that the bound is "
        f"{1 - DELTA:g}",
        premises=_little_noise,
        constants=(Constant("delta", DELTA, "chosen"),),
        trivial=0.0,
    ),
    **{
        f"proposition_3.{name}": _of_flow(
            "Proposition 3",
            _PROPOSITION_3.format(degree=degree),
            _close_robust,
            _answered(_close_bound),
            at_least=True,
            measures="share of fresh samples at which the network withstands the strongest attack of that radius",
            premises=premises_of,
            constants=_OF_ATTACKS,
            trivial=0.0,
        )
        for name, degree, premises_of in (
            ("as_stated", ", if f(gamma x) = gamma f(x)", _close_of_degree_1),
            ("degree_p", ", here if f(gamma x) = gamma^p f(x), with which the proof goes through, too", _close),
        )
    },
    "lemma_17.of_the_run": _of_flow(
        "Lemma 17 with |u - mu| = sqrt(2 delta)",
        "sup |f - F^(p)| on the sphere <= K (1 + nu) p sqrt(2 delta) + K nu + zeta",
        _distance_at_end,
        _answered(_closeness),
        measures="sup |f - F^(p)| on the sphere at the end; delta, nu and zeta as they are there",
        trivial=_largest_possible,
    ),
    "theorem_1.distance": _of_flow(
        "Theorem 1, equation (12)",
        "sup over [t*, T*] and the sphere of |f - F^(p)| <= Õ(alpha^2)",
        _largest_distance,
        2 * CONSTANT,
        measures=f"largest sup |f - F^(p)| at kept weights in units of {SMALL}",
        premises=premises,
        constants=FITTED,
        span=_answered(_weights_after_fitting),
        rates=(*CONSTANT_IN_ALPHA, Rate(NOISE, 2.0, of="unscaled_distance", one_sided="at_least")),
    ),
    "corollary_1": _of_flow(
        "Corollary 1",
        "f(theta(t)), t in [t*, T*], withstands attacks of radius sqrt(2)/2 - Õ(alpha^(2/p)) with probability "
        "1 - Õ(exp(-alpha^-2))",
        _optimality,
        CONSTANT,
        measures="C of sqrt(2)/2 - C alpha^(2/p) within which the last network of the span is certified at all fresh "
        "samples but a share of exp(-alpha^-2)",
        premises=premises,
        # no rate: certificates have a slack of their own, which does not tend to 0
        constants=(*CHOSEN, LAST, Constant("bound of C", CONSTANT, "chosen")),
        trivial=_trivial_optimality,
        span=_answered(_weights_after_fitting),
    ),
}
