"""Claims of Li et al. 2025 about what is drawn before training: the samples (Proposition A.6) and the initial weights
(Propositions A.10 and A.12, Lemma A.13)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ...arrays import Booleans, Floats, Integers
from ...evaluate.claim import Claim, Constant, Premise
from ...evaluate.evidence import Evidence, NotApplicable
from ...problem import Problem
from .setting import PAPER, SIZES, Regime, binary, centers, clustered, distribution, noise, sizes

#: With at most this probability a proposition may fail whose premises are met.
RISK = 0.05
#: Pairs are those of so many samples at most, the first ones of every cluster.
PAIRED = 4000


def paired(problem: Problem) -> Integers:
    """Indices of the samples whose pairs are looked at"""
    rows = np.arange(len(problem.inputs))
    if len(rows) <= PAIRED:
        return rows
    order = np.argsort(problem.sample_cluster, kind="stable")
    rank = np.empty(len(rows), dtype=np.int64)
    _, begin = np.unique(problem.sample_cluster[order], return_index=True)
    rank[order] = rows - np.repeat(begin, np.diff([*begin, len(rows)]))
    return np.sort(np.argsort(rank, kind="stable")[:PAIRED])


def _noise_norms(evidence: Evidence) -> float:
    problem = clustered(evidence)
    return float(np.abs(np.linalg.norm(noise(problem), axis=1) - math.sqrt(problem.dimension)).max())


def _norms(evidence: Evidence) -> float:
    problem = clustered(evidence)
    return float(np.linalg.norm(problem.inputs, axis=1).max() / math.sqrt(problem.dimension))


def _noises(evidence: Evidence) -> float:
    problem = clustered(evidence)
    part = noise(problem)[paired(problem)]
    gram = part @ part.T
    np.fill_diagonal(gram, 0.0)
    return float(np.abs(gram).max())


def _along_centers(evidence: Evidence) -> float:
    problem = clustered(evidence)
    return float(np.abs(noise(problem) @ problem.centers.T).max())


def _gram(evidence: Evidence) -> tuple[Floats, Booleans]:
    """(<x_i, x_j>, whether c(i) = c(j)) of the samples whose pairs are looked at"""
    problem = clustered(evidence)
    rows = paired(problem)
    inputs, cluster = problem.inputs[rows], problem.sample_cluster[rows]
    return inputs @ inputs.T, cluster[:, None] == cluster


def _across(evidence: Evidence) -> float:
    gram, same = _gram(evidence)
    return float(np.abs(gram[~same]).max(initial=0.0))


def _within(evidence: Evidence, themselves: bool) -> float:
    """Largest |log2(<x_i, x_j>/d)|, which d/2 <= <x_i, x_j> <= 2 d bounds by 1"""
    gram, same = _gram(evidence)
    if not themselves:
        np.fill_diagonal(same, False)
    products = gram[same] / evidence.problem.dimension
    return float(np.abs(np.log2(np.maximum(products, 1e-300))).max(initial=0.0))


def _counts(evidence: Evidence) -> float:
    problem, regime = clustered(evidence), Regime.of(evidence)
    found = np.bincount(problem.sample_cluster, minlength=regime.clusters)
    return float(np.abs(found - regime.samples / regime.clusters).max())


def _most_uneven(evidence: Evidence) -> float:
    regime = Regime.of(evidence)
    share = regime.samples / regime.clusters
    return math.sqrt(2 * share) * math.log(share)


def drawn(evidence: Evidence) -> Iterator[Premise]:
    """What Proposition A.6 and its proof use of samples whose clusters are known, and a probability that says something"""
    yield from centers(evidence)
    regime = Regime.of(evidence)
    d, n, share = regime.dimension, regime.samples, regime.samples / regime.clusters
    risk = 8.0 * n**2 * d ** (-math.log(d) / 2) + 2 * regime.clusters * share ** -math.log(share)
    yield Premise(f"delta = 8 n^2 d^(-ln(d)/2) + 2 k (n/k)^(-ln(n/k)) <= {RISK:g}", risk, RISK)


def _drawn_alone(evidence: Evidence) -> Iterator[Premise]:
    yield from distribution(evidence)
    yield from (premise for premise in drawn(evidence) if premise.name.startswith("delta"))


def _drawn_far(evidence: Evidence) -> Iterator[Premise]:
    yield from drawn(evidence)
    regime = Regime.of(evidence)
    yield Premise("Delta = 4 d^1/2 ln d <= d/2, as the proof takes it", regime.correlation, regime.dimension / 2)


def begun(evidence: Evidence) -> Iterator[Premise]:
    """What Proposition A.10 assumes: Gaussian weights, and a probability that says something"""
    regime = Regime.of(evidence)
    yield Premise.fact("weights and biases start from N(0, sigma^2)", not math.isnan(regime.sigma))
    d, m = regime.dimension, regime.neurons
    risk = 4 * m * d ** -math.log(d) + 2 * m**-3.0
    yield Premise(f"4 m d^(-ln d) + 2 m^-3 <= {RISK:g}", risk, RISK)


def _start_norms(evidence: Evidence) -> float:
    """Largest | |w_sr(0)|/sigma - d^1/2 |"""
    problem, regime = binary(evidence), Regime.of(evidence)
    size = np.linalg.norm(problem.hidden_direction, axis=1) * np.exp(problem.hidden_log_norm - math.log(regime.sigma))
    return float(np.abs(size - math.sqrt(regime.dimension)).max())


def _start_biases(evidence: Evidence) -> float:
    """Largest |b_sr(0)|/sigma"""
    problem, regime = binary(evidence), Regime.of(evidence)
    if not problem.bias:
        raise NotApplicable("the network has no biases")
    size = problem.hidden_bias_direction * np.exp(problem.hidden_log_norm - math.log(regime.sigma))
    return float(np.abs(size).max())


def _activated(evidence: Evidence) -> Iterator[Premise]:
    """Those of Propositions A.6 and A.12. The probability of the latter is at least 1 - m^-0.01 - ..., which is all but
    nothing for any m that a computer can do: a draw in which it is not so refutes nothing, unless that is 1/2 at least."""
    yield from distribution(evidence)
    regime = Regime.of(evidence)
    yield Premise.fact("weights and biases start from N(0, sigma^2)", not math.isnan(regime.sigma))
    m, k = regime.neurons, regime.clusters
    risk = m**-0.01 + 2 * m * k * math.exp(-regime.samples / (9 * k * m**2))
    yield Premise("m^-0.01 + 2 m k exp(-n/(9 k m^2)) <= 1/2, a bound of the risk", risk, 0.5)


def _fewest_active(evidence: Evidence) -> float:
    """Smallest |T_srj|, over n/(3 k m^2)"""
    problem, regime = binary(evidence), Regime.of(evidence)
    pre = problem.inputs @ problem.hidden_direction.T + problem.hidden_bias_direction
    member = np.arange(regime.clusters)[:, None] == problem.sample_cluster
    fewest = float((member.astype(float) @ (pre >= 0)).min())
    return fewest * 3 * regime.clusters * regime.neurons**2 / regime.samples


def _responses(evidence: Evidence) -> float:
    """log10 of the largest |<w_sr(0), x_i> + b_sr(0)|"""
    problem = binary(evidence)
    pre = np.abs(problem.inputs @ problem.hidden_direction.T + problem.hidden_bias_direction)
    with np.errstate(divide="ignore"):
        logs = np.log10(pre) + problem.hidden_log_norm / math.log(10)
    return float(logs.max())


def _allowed_response(evidence: Evidence) -> float:
    """log10 of eta d^1/2/(n m)"""
    regime = Regime.of(evidence)
    return math.log10(regime.step * math.sqrt(regime.dimension) / (regime.samples * regime.neurons))


def _correlation(evidence: Evidence) -> float:
    return Regime.of(evidence).correlation


def _twice_log(evidence: Evidence) -> float:
    return 2 * math.log(Regime.of(evidence).dimension)


def _longest(evidence: Evidence) -> tuple[float, float, float]:
    """(largest |xi_i|, |x_i| and |mu_j|), which products of these cannot pass by Cauchy and Schwarz"""
    problem = clustered(evidence)
    return tuple(float(np.linalg.norm(one, axis=1).max()) for one in (noise(problem), problem.inputs, problem.centers))  # type: ignore[return-value]


_CORRELATION = Constant("Delta", _correlation, "paper")


def _of_samples(
    part: str,
    statement: str,
    measure: Callable[[Evidence], float],
    bound: float | Callable[[Evidence], float],
    trivial: Callable[[Evidence], float] | None = None,
    **changes: object,
) -> Claim:
    """A part of Proposition A.6"""
    pairs = f", over the pairs of {PAIRED} samples at most" if trivial is not None else ""
    options = {"measures": f"{changes.pop('measures')}{pairs}", "premises": drawn, "trivial": trivial, **changes}
    return Claim(f"{PAPER}, Proposition A.6 ({part})", statement, measure, bound, **options)  # type: ignore[arg-type]


CLAIMS = {
    "proposition_a_6.noise_norms": _of_samples(
        "1",
        "d^1/2 - 2 ln d <= |xi_i| <= d^1/2 + 2 ln d",
        _noise_norms,
        _twice_log,
        measures="largest | |xi_i| - d^1/2 |",
    ),
    "proposition_a_6.norms": _of_samples(
        "2", "|x_i| <= 3 d^1/2", _norms, 3.0, measures="largest |x_i|/d^1/2", constants=(Constant("3", 3.0, "paper"),)
    ),
    "proposition_a_6.noises": _of_samples(
        "3",
        "|<xi_i, xi_j>| <= Delta for i != j",
        _noises,
        _correlation,
        lambda evidence: _longest(evidence)[0] ** 2,
        measures="largest |<xi_i, xi_j>|",
        constants=(_CORRELATION,),
    ),
    "proposition_a_6.along_centers": _of_samples(
        "4",
        "|<mu_j, xi_i>| <= Delta",
        _along_centers,
        _correlation,
        lambda evidence: _longest(evidence)[0] * _longest(evidence)[2],
        measures="largest |<mu_j, xi_i>|",
        constants=(_CORRELATION,),
    ),
    "proposition_a_6.across": _of_samples(
        "5",
        "|<x_i, x_j>| <= Delta for c(i) != c(j)",
        _across,
        _correlation,
        lambda evidence: _longest(evidence)[1] ** 2,
        measures="largest |<x_i, x_j>|",
        constants=(_CORRELATION,),
    ),
    "proposition_a_6.within_as_stated": _of_samples(
        "6",
        "d/2 <= <x_i, x_j> <= 2 d for every i, j with c(i) = c(j)",
        lambda evidence: _within(evidence, True),
        1.0,
        measures="largest |log2(<x_i, x_j>/d)|, i = j among them",
        premises=_drawn_far,
    ),
    "proposition_a_6.within": _of_samples(
        "6, corrected",
        "d/2 <= <x_i, x_j> <= 2 d for every i != j with c(i) = c(j)",
        lambda evidence: _within(evidence, False),
        1.0,
        measures="largest |log2(<x_i, x_j>/d)|",
        premises=_drawn_far,
    ),
    "proposition_a_6.counts": _of_samples(
        "7",
        "n/k - (2n/k)^1/2 ln(n/k) <= |I_j| <= n/k + (2n/k)^1/2 ln(n/k)",
        _counts,
        _most_uneven,
        measures="largest ||I_j| - n/k|",
        premises=_drawn_alone,
    ),
    "proposition_a_10.weights": Claim(
        f"{PAPER}, Proposition A.10",
        "sigma_w (d^1/2 - 2 ln d) <= |w_sr(0)| <= sigma_w (d^1/2 + 2 ln d)",
        _start_norms,
        _twice_log,
        measures="largest | |w_sr(0)|/sigma_w - d^1/2 |",
        premises=begun,
    ),
    "proposition_a_10.biases": Claim(
        f"{PAPER}, Proposition A.10",
        "|b_sr(0)| <= 2 sigma_b (2 ln m)^1/2",
        _start_biases,
        lambda evidence: 2 * math.sqrt(2 * math.log(Regime.of(evidence).neurons)),
        measures="largest |b_sr(0)|/sigma_b",
        premises=begun,
    ),
    "proposition_a_12": Claim(
        f"{PAPER}, Proposition A.12",
        "|T_srj| >= n/(3 k m^2): so many samples of every cluster activate every neuron at time 0",
        _fewest_active,
        1.0,
        at_least=True,
        measures="smallest |T_srj|, over n/(3 k m^2)",
        premises=_activated,
        constants=(Constant("1/3", 1 / 3, "paper"),),
    ),
    "lemma_a_13": Claim(
        f"{PAPER}, Lemma A.13",
        "|<w_sr(0), x_i> + b_sr(0)| <= eta d^1/2/(n m)",
        _responses,
        _allowed_response,
        measures="log10 of the largest response at time 0",
        premises=sizes,
        constants=(SIZES,),
    ),
}
