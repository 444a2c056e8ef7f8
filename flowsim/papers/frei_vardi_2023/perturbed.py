"""Theorem 4.2, Appendix D and the remarks: one short perturbation flips what every KKT point says of almost all samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...arrays import Floats
from ...errors import UsageError
from ...evaluate.claim import Claim, Constant, Premise, Rate
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.kkt import find
from ...kinds.streams import stream
from ...observe import Setting
from ...problem import Problem, Wider, beside, reduce
from ...solve import Snapshot
from .data import nearest_radius
from .flips import Flips, universal_direction
from .limit import KKT, Point, nice_fresh, of_lemma, of_theorem, point
from .robust import radius
from .setting import CONSTANTS, EPSILON, PAPER, problem_of, sizes

#: Strength of the perturbation that other networks are tried with, over the smallest that flips this one.
MORE = 1.2
#: Two KKT points are different networks where their outputs at so many points differ by this part.
POINTS, DIFFERENT = 200, 1e-3
#: O(1) of a perturbation in its own unit.
ORDER = 1.0
#: Clusters count as Theta(sqrt(d)), up to logarithms, from sqrt(d)/(FEWEST ln(d)) on.
FEWEST = 100


def _flips(found: Point, evidence: Evidence) -> Flips:
    test = evidence.test
    return Flips(found.network, test.inputs, test.targets, _direction(evidence))


def _direction(evidence: Evidence) -> Floats:
    problem = problem_of(evidence)
    return universal_direction(problem.centers, problem.cluster_label)


def _smallest(evidence: Evidence) -> float:
    if "smallest" not in evidence.known:
        evidence.known["smallest"] = _flips(point(evidence), evidence).smallest()
    found = evidence.known["smallest"]
    assert isinstance(found, float)
    return found


def _strength_of_proof(evidence: Evidence) -> float:
    return sum(sizes(evidence).strengths)


def _size(evidence: Evidence) -> float:
    """|z| at the smallest eta"""
    return _smallest(evidence) * float(np.linalg.norm(_direction(evidence)))


def _of_lemma_d_9(evidence: Evidence) -> float:
    """What |z| is at most over sqrt(d/(c^2 k)), by (ii) of its proof and |u|^2 <= k d + k c'(d - Delta + 1), c' <= 1/10"""
    at = sizes(evidence)
    dimension = at.dimension
    rest = dimension - dimension / 21 - (dimension + 1) / 10
    first, second = (dimension + 1) / 5 / rest, 3 * (3 * dimension + dimension / 21 + 1) * 0.8 / (rest * 0.7)
    return (at.c * first + second) * math.sqrt(1 + (dimension + 1) / (10 * dimension))


def _in_its_unit(size: float, evidence: Evidence) -> float:
    """A length over sqrt(d/(c^2 k))"""
    at = sizes(evidence)
    return size * at.c * math.sqrt(at.clusters / at.dimension)


def _over(size: float, radius: float) -> float:
    """inf where a network is wrong on more than EPSILON of the samples: its radius is then 0"""
    return size / radius if radius else math.inf


def _over_robust(evidence: Evidence) -> float:
    return _over(_size(evidence), radius(evidence) * math.sqrt(sizes(evidence).dimension))


def _after_proof(evidence: Evidence, sign: int) -> float:
    """Smallest -y N(x - y z) over the fresh samples of this label that Lemma D.1 speaks of, z that of the proof"""
    at, test = sizes(evidence), evidence.test
    near = nice_fresh(evidence, at)
    near = near[test.targets[near] == sign]
    if not len(near):
        raise NotApplicable("it speaks of fresh samples of this label such as Lemma D.1 has")
    moved = test.inputs[near] - sign * _strength_of_proof(evidence) * _direction(evidence)
    return float((-sign * point(evidence).network(moved)).min())


def _reached(evidence: Evidence) -> float:
    """Least input of a neuron after eta_1 against it, over sum_i lambda_i |v_j| phi'_ij, of the samples of Lemma D.1: both
    those that are moved by -eta_1 u for J_- and by eta_1 u for J_+"""
    at, found = sizes(evidence), point(evidence)
    near = nice_fresh(evidence, at)
    size = np.abs(found.output) * found.weight.sum(axis=1)
    lives = size > 0
    hidden = found.network.hidden[lives]
    inputs = evidence.test.inputs[near] @ hidden.T + found.network.bias[lives]
    inputs += at.strengths[0] * np.sign(found.output[lives]) * (hidden @ _direction(evidence))
    return float((inputs / size[lives]).min())


def another(evidence: Evidence) -> Point:
    """A KKT point of another training set of as many samples, looked for from a network that no flow has made: each neuron
    the sum of a sample of each cluster of its sign, of random weights, less half of that of the other sign."""
    if "another" not in evidence.known:
        evidence.known["another"] = _another(evidence)
    found = evidence.known["another"]
    assert isinstance(found, Point)
    return found


def _beside(evidence: Evidence) -> tuple[Problem, Wider]:
    return beside(evidence.scenario, evidence.problem, len(evidence.problem.targets), "frei_vardi_2023.another")


def _another(evidence: Evidence) -> Point:
    problem, neurons = evidence.problem, len(evidence.problem.hidden_log_norm)
    beside, _ = _beside(evidence)
    samples = beside.samples
    other = replace(evidence, setting=Setting(reduce(beside)), known={})
    reduced, clusters = other.setting.reduced, range(len(problem.centers))
    first = [int((samples.sample_cluster == index).argmax()) for index in clusters]
    generator = stream(evidence.scenario.single_seed, "frei_vardi_2023.start")
    sign = np.where(np.arange(neurons) % 2, 1.0, -1.0)
    weight = generator.exponential(size=(neurons, len(clusters)))
    own = sign[:, None] == problem.cluster_label
    direction = np.where(own, weight, -0.5 * weight) @ reduced.inputs[reduced.representative[first]]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    start = Snapshot(0.0, direction, np.zeros(neurons), sign, np.zeros(neurons))
    try:
        return Point.of(other, find(other.setting, start).point)
    except UsageError as error:
        raise NotApplicable(f"no other KKT point was found: {error}") from None


def _of_transfer(evidence: Evidence) -> Iterator[Premise]:
    yield from of_theorem(evidence)
    other = another(evidence)
    yield Premise("the other is a KKT point: largest residual <= 1e-8", other.residual, KKT)
    apart = _apart(point(evidence), other, evidence)
    yield Premise("it is another: relative difference as functions >= 0.001", apart, DIFFERENT, True)


def _apart(one: Point, other: Point, evidence: Evidence) -> float:
    """How far two networks are apart as functions, relative to the first, at normal points; copies of neurons, or neurons
    in another order, make no difference"""
    features, rank = other.network.hidden.shape[1], one.network.hidden.shape[1]
    x = stream(evidence.scenario.single_seed, "frei_vardi_2023.points").standard_normal((POINTS, features))
    # of coordinates in spans, those of the other one go on where these end
    first, second = one.network(x[:, :rank]), other.network(x)
    return float(np.linalg.norm(first - second) / np.linalg.norm(first))


def _transfers(evidence: Evidence) -> float:
    test, wider = evidence.test, _beside(evidence)[1]
    flips = Flips(another(evidence).network, wider(test.inputs), test.targets, wider(_direction(evidence)[None])[0])
    return flips.share(MORE * _smallest(evidence))


def _of_example_2(evidence: Evidence) -> Iterator[Premise]:
    yield from of_theorem(evidence)
    at = sizes(evidence)
    yield Premise("sigma = 1: deviation", abs(at.sigma - 1), 1e-9)
    yield Premise("max |<mu_i, mu_j>| <= sqrt(d) ln(d)", at.product, math.sqrt(at.dimension) * math.log(at.dimension))
    least = math.sqrt(at.dimension) / (FEWEST * math.log(at.dimension))
    yield Premise(f"k >= sqrt(d)/({FEWEST} ln(d)), for Theta(sqrt(d)) up to logarithms", at.clusters, least, True)


def _of_fewest_clusters(evidence: Evidence) -> float:
    """sqrt(d/(c^2 k)) over d^(1/4) at the smallest k of the premise. Assumption 2.2 asks for k <= sqrt(d)/(40 ln(d)) where
    sigma = 1, so that a part sqrt(ln(d)) remains of the logarithms"""
    at = sizes(evidence)
    return ORDER * math.sqrt(FEWEST * math.log(at.dimension)) / at.c


def _of_wide_noise(evidence: Evidence) -> Iterator[Premise]:
    at = sizes(evidence)
    yield Premise("sigma > 1", at.sigma, 1.0 + 1e-9, True)
    yield Premise("sigma <= d^(1/8)", at.sigma, at.dimension ** (1 / 8))
    yield Premise("max |<mu_i, mu_j>| <= sqrt(d) ln(d)", at.product, math.sqrt(at.dimension) * math.log(at.dimension))
    yield Premise("k <= ln(d)", at.clusters, math.log(at.dimension))
    yield Premise("a KKT point: largest residual <= 1e-8", point(evidence).residual, KKT)


_STATEMENT = (
    "with probability at least 1 - delta over S, there is a z = eta sum_j y_j mu_j with eta > 0 and "
    "|z| <= O(sqrt(d/(c^2 k))) such that P(sign(N(x)) != sign(N(x - y z))) >= 1 - epsilon"
)
CLAIMS = {
    "theorem_4_2.flips": Claim(
        f"{PAPER}, Theorem 4.2",
        _STATEMENT,
        lambda evidence: _flips(point(evidence), evidence).share(_strength_of_proof(evidence)),
        1 - EPSILON,
        at_least=True,
        measures="share of fresh samples that z flips, eta as in the proof",
        premises=of_theorem,
        constants=(Constant("eta of the proof", _strength_of_proof, "paper"), *CONSTANTS),
    ),
    "theorem_4_2.strength": Claim(
        f"{PAPER}, Theorem 4.2",
        _STATEMENT,
        _smallest,
        _strength_of_proof,
        measures=f"smallest eta that flips a share 1 - {EPSILON:g}; at most that of the proof",
        premises=of_theorem,
        constants=CONSTANTS,
    ),
    "theorem_4_2.norm": Claim(
        f"{PAPER}, Theorem 4.2",
        _STATEMENT,
        lambda evidence: _in_its_unit(_size(evidence), evidence),
        ORDER,
        measures="|z| at the smallest eta, over sqrt(d/(c^2 k))",
        premises=of_theorem,
        constants=(Constant("O(1)", ORDER, "chosen"), Constant("least O(1)", None, "fitted"), *CONSTANTS),
        rates=(Rate("data.dimension", 0.0),),
    ),
    "theorem_4_2.not_robust": Claim(
        f"{PAPER}, Theorem 4.2 beside 4.1",
        "gradient flow converges to a network that is not sqrt(d)-robust, even though there exist sqrt(d)-robust networks",
        _over_robust,
        1.0,
        measures="|z| at the smallest eta over the certified radius of the robust network",
        premises=of_theorem,
        constants=CONSTANTS,
    ),
    "theorem_4_2.transfers": Claim(
        f"{PAPER}, after Theorem 4.2",
        "the same perturbation applies to all depth-2 networks to which gradient flow might converge "
        "(i.e., all KKT points)",
        _transfers,
        1 - EPSILON,
        at_least=True,
        measures=f"share of fresh samples that {MORE:g} times its smallest z flips for the KKT point of other samples",
        premises=_of_transfer,
        constants=(Constant("strength over the smallest", MORE, "chosen"), *CONSTANTS),
    ),
    "lemma_d_6": Claim(
        f"{PAPER}, Lemma D.6",
        "for eta >= eta_1 and z = eta u, <w_j, x - z> + b_j >= 0 for all j in J_-, and "
        "<w_j, x + z> + b_j >= 0 for all j in J_+",
        _reached,
        0.0,
        at_least=True,
        measures="least input at eta_1 over sum_i lambda_i |v_j| phi'_ij, of fresh samples that the lemma speaks of",
        premises=of_lemma,
    ),
    "lemma_d_7": Claim(
        f"{PAPER}, Lemma D.7",
        "for z = (eta_1 + eta_2) u and x of a positive cluster, N(x - z) <= -1",
        lambda evidence: _after_proof(evidence, +1),
        1.0,
        at_least=True,
        measures="smallest -N(x - z) of fresh samples that the lemma speaks of",
        premises=of_lemma,
    ),
    "lemma_d_8": Claim(
        f"{PAPER}, Lemma D.8",
        "for z = (eta_1 + eta_2) u and x of a negative cluster, N(x + z) >= 1",
        lambda evidence: _after_proof(evidence, -1),
        1.0,
        at_least=True,
        measures="smallest N(x + z) of fresh samples that the lemma speaks of",
        premises=of_lemma,
    ),
    "lemma_d_9": Claim(
        f"{PAPER}, Lemma D.9",
        "for z = (eta_1 + eta_2) u, |z| = O(sqrt(d/(c^2 k)))",
        lambda evidence: _in_its_unit(
            _strength_of_proof(evidence) * float(np.linalg.norm(_direction(evidence))), evidence
        ),
        _of_lemma_d_9,
        measures="|z| over sqrt(d/(c^2 k)); at most what the proof has for O(1)",
        premises=of_lemma,
        constants=(Constant("O(1) of the proof", _of_lemma_d_9, "paper"),),
    ),
    "example_2": Claim(
        f"{PAPER}, Example 2",
        "in the setting of the first item of Example 1 with k = Theta(sqrt(d)) and c = Theta(1), |z| = O(d^(1/4))",
        lambda evidence: _size(evidence) / sizes(evidence).dimension ** 0.25,
        _of_fewest_clusters,
        measures="|z| at the smallest eta over d^(1/4); at most sqrt(d/(c^2 k)) over it for the fewest clusters that count",
        premises=_of_example_2,
        constants=(Constant("O(1)", ORDER, "chosen"), Constant("least O(1)", None, "fitted"), *CONSTANTS),
    ),
    "wide_noise": Claim(
        f"{PAPER}, after Example 1",
        "if k = O(1) and max |<mu_i, mu_j>| = O(sqrt(d)), up to logarithms, Theorem 3.1 can be extended to "
        "sigma = O(d^(1/8))",
        lambda evidence: float(
            np.mean(evidence.test.targets * point(evidence).network.value(evidence.test.inputs) <= 0)
        ),
        EPSILON,
        measures="share of fresh samples with y N(x) <= 0 of the KKT point",
        premises=_of_wide_noise,
        constants=CONSTANTS,
    ),
    "nearest_neighbour.network": Claim(
        f"{PAPER}, after Theorem 4.2",
        "in the neural network a much smaller perturbation than in the 1-nearest-neighbour classifier will suffice",
        lambda evidence: _over(_size(evidence), nearest_radius(evidence)),
        1.0,
        measures="|z| at the smallest eta over the certified radius of the 1-nearest-neighbour classifier",
        premises=of_theorem,
        constants=CONSTANTS,
    ),
}
