"""What the statements of Allen-Zhu & Li 2022 are written in, and what they assume.

Clean training means the stages before the first attacker, or the whole of a run without stages, and adversarial training
those after it up to the next stage without one. The theorems are about d -> infinity: every o(1), Theta(1) and Omega(1) is
a constant that flowsim chose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Booleans, Floats
from ...evaluate.claim import Constant, Premise, Window
from ...evaluate.evidence import Evidence, NotApplicable, NotCovered
from ...evaluate.robustness import network_of
from ...observe import Instant
from ...observe.kinds.features import coefficients, is_coded, lottery_constants
from ...scenario.flow import Attack, Stage
from ...solve import Snapshot

PAPER = "Allen-Zhu & Li 2022"
#: What stands for o(1) in errors, and in shares of squared norms.
SMALL, SMALL_SHARE = 0.1, 0.2
#: How far a Theta(...) of the paper may be off, as a factor; and lambda, which the paper fixes "for simplicity".
THETA, LAMBDA = 10.0, 2.0
#: The window of k of Corollary F.3, as exponents of d.
WINDOW = (0.3334, 0.3999)
#: Exponent of T_c in Theorem 5.1.
LATE = 1.01
#: Where a regime is kept in Evidence.known.
KNOWN = "allen_zhu_li_2022.regime"
OF_ERROR = Constant("o(1) of errors", SMALL, "chosen")
OF_SHARE = Constant("o(1) of squared norms", SMALL_SHARE, "chosen")


def coding(evidence: Evidence) -> Any:
    """The section of the data, where these are sparse coding."""
    data = evidence.scenario.data
    if data.kind != "sparse_coding" or not is_coded(evidence.setting):
        raise NotApplicable("it speaks of sparse coding data")
    return data


def network_data(evidence: Evidence) -> Any:
    """The same, where the network is the paper's, too."""
    data = coding(evidence)
    if evidence.scenario.model.kind != "symmetric_relu":
        raise NotApplicable('it speaks of networks of kind "symmetric_relu"')
    return data


def attacks(evidence: Evidence) -> list[tuple[str, Attack]]:
    """(name of the stage, its attack) of adversarial training: the first stages in a row that are attacked."""
    network_data(evidence)
    found: list[tuple[str, Attack]] = []
    for stage in evidence.scenario.stage:
        if stage.attack is not None:
            found.append((stage.name, stage.attack))
        elif found:
            break
    if not found:
        raise NotApplicable("it speaks of adversarial training, and no stage has an attack")
    return found


def attack_of(evidence: Evidence) -> Attack:
    """That of the last stage of adversarial training."""
    return attacks(evidence)[-1][1]


def end_of(evidence: Evidence, stage: str) -> Snapshot:
    """The weights at the end of a stage."""
    times = evidence.trajectory["time"].values[evidence.trajectory["stage"].values == stage]
    if not len(times):
        raise NotCovered(f'the run did not get to stage "{stage}"')
    place = int(np.searchsorted(evidence.weights.time, times[-1]))
    if place == len(evidence.weights.time) or evidence.weights.time[place] != times[-1]:
        raise NotCovered(f'the weights at the end of stage "{stage}" were not kept (see observe.snapshots)')
    return evidence.weights[place]


def clean_stages(evidence: Evidence) -> list[Stage]:
    """Those before the first attacker; none where the run has no stages."""
    stages = list(evidence.scenario.stage)
    before = next((index for index, stage in enumerate(stages) if stage.attack is not None), len(stages))
    if stages and not before:
        raise NotApplicable("it speaks of clean training, and the first stage is attacked")
    return stages[:before]


def end_of_clean_training(evidence: Evidence) -> Snapshot:
    """Of any model."""
    stages = clean_stages(evidence)
    return end_of(evidence, stages[-1].name) if stages else evidence.weights[-1]


def clean_end(evidence: Evidence) -> Snapshot:
    """The network's weights after clean training."""
    network_data(evidence)
    return end_of_clean_training(evidence)


def robust_end(evidence: Evidence) -> Snapshot:
    """The weights after adversarial training that follows clean training."""
    last = attacks(evidence)[-1][0]
    clean_end(evidence)
    return end_of(evidence, last)


def again_clean_end(evidence: Evidence) -> Snapshot:
    """The weights after the clean training that follows adversarial training."""
    last, stages = attacks(evidence)[-1][0], list(evidence.scenario.stage)
    after = stages[[stage.name for stage in stages].index(last) + 1 :]
    if not after:
        raise NotApplicable("it speaks of clean training after adversarial training, and the run ends with the latter")
    return end_of(evidence, after[-1].name)


def scratch_end(evidence: Evidence) -> Snapshot:
    """The weights after adversarial training that nothing came before."""
    last = attacks(evidence)[-1][0]
    if evidence.scenario.stage[0].attack is None:
        raise NotApplicable("it speaks of adversarial training from the start, and the first stage is clean")
    return end_of(evidence, last)


def weights_at(evidence: Evidence, snapshot: Snapshot) -> Floats:
    """(m, d)"""
    return network_of(evidence.setting, snapshot).hidden


def coefficients_at(evidence: Evidence, snapshot: Snapshot) -> Floats:
    """(m, K): <w_i, M_j> sign(w*_j)"""
    return coefficients(Instant(evidence.setting, snapshot))


def along_labels(evidence: Evidence) -> Floats:
    """Mw*/|Mw*| (d,)"""
    samples = evidence.problem.samples
    assert samples.label_weight is not None
    direction = samples.label_weight @ samples.centers
    return np.asarray(direction / np.linalg.norm(direction))


def threshold_at(evidence: Evidence, time: float) -> float:
    """b(t)"""
    network_data(evidence)
    return float(evidence.scenario.model.common_threshold.at(time))  # type: ignore[union-attr]


def usual(evidence: Evidence, snapshot: Snapshot) -> float:
    """sqrt(k) b(t): a feature with a coefficient of this size lifts the neuron over its threshold by itself, at its usual
    size 1/sqrt(k). Such coefficients are called large."""
    return math.sqrt(coding(evidence).sparsity) * threshold_at(evidence, float(snapshot.time))


def large_at(evidence: Evidence, snapshot: Snapshot) -> Booleans:
    """(m, K): which coefficients are large"""
    return np.asarray(np.abs(coefficients_at(evidence, snapshot)) >= usual(evidence, snapshot))


def late_weights(evidence: Evidence) -> list[Snapshot]:
    """What was kept in [T_c, T_f]; the end of clean training where that is no such span."""
    end = clean_end(evidence)
    begin = regime_of(evidence).dimension ** LATE
    inside = [place for place, time in enumerate(evidence.weights.time) if begin <= time <= end.time]
    return [evidence.weights[place] for place in inside] or [end]


def late(evidence: Evidence) -> Window:
    """[T_c, T_f], T_f the end of clean training, in flow time (iterations times eta); T_c = d^1.01."""
    end = float(clean_end(evidence).time)
    return Window(regime_of(evidence).dimension ** LATE, end, evidence.weights.time, parts=4)


@dataclass(frozen=True)
class Regime:
    """What the theorems assume of a run, in the paper's symbols. m = d^(1 + spare); decay: lambda; clean, robust: eta T_f
    and eta T_g, in flow time; robust and radius are NaN without adversarial training. tied: the share of z with
    <w*, z> = 0."""

    dimension: float
    sparsity: float
    neurons: float
    noise: float
    tied: float
    decay: float
    cubic: float
    start: float
    cap: float
    spread: float
    clean: float
    robust: float = math.nan
    radius: float = math.nan

    @property
    def spare(self) -> float:
        """c_0"""
        return math.log(self.neurons, self.dimension) - 1

    @property
    def power(self) -> float:
        """log_d k"""
        return math.log(self.sparsity, self.dimension)


def regime_of(evidence: Evidence) -> Regime:
    """Of a run; made once."""
    if KNOWN not in evidence.known:
        evidence.known[KNOWN] = _regime(evidence)
    found = evidence.known[KNOWN]
    assert isinstance(found, Regime)
    return found


def _regime(evidence: Evidence) -> Regime:
    data, model, problem = network_data(evidence), evidence.scenario.model, evidence.problem
    threshold = model.common_threshold
    assert threshold is not None
    size = np.exp(2 * problem.weights.log_norm).mean() / problem.inputs.shape[1]
    start = threshold.start / math.sqrt(size * math.log(data.dimension))
    regularizer = evidence.scenario.loss.regularizer
    stages, ends = clean_stages_or_none(evidence), evidence.trajectory["time"].values[-1]
    clean = _time_of(evidence, stages) if stages is not None else 0.0
    robust = radius = math.nan
    attacked = [stage for stage in evidence.scenario.stage if stage.attack is not None]
    if attacked:
        found = attacks(evidence)
        radius = found[-1][1].radius
        robust = _time_of(evidence, [name for name, _ in found]) - clean
    return Regime(
        dimension=float(data.dimension),
        sparsity=float(data.sparsity),
        neurons=float(len(problem.weights.log_norm)),
        noise=max(data.noise.standard_deviation(data.dimension) * math.sqrt(data.dimension), data.spike_noise),
        tied=data.tied_share(evidence.problem.samples, evidence.scenario.single_seed),
        decay=regularizer.square,
        cubic=regularizer.cubic,
        start=start,
        cap=float(threshold.at(ends)),
        spread=float(threshold.spread(ends) / threshold.at(ends)) if threshold.at(ends) else 0.0,
        clean=clean,
        robust=robust,
        radius=radius,
    )


def clean_stages_or_none(evidence: Evidence) -> list[str] | None:
    """Names of the stages of clean training; None where the first stage is attacked."""
    try:
        return [stage.name for stage in clean_stages(evidence)]
    except NotApplicable:
        return None


def _time_of(evidence: Evidence, stages: list[str]) -> float:
    """When the last of these stages ended; of none, when the run did."""
    times = evidence.trajectory["time"].values
    if stages:
        times = times[np.isin(evidence.trajectory["stage"].values, stages)]
    return float(times[-1]) if len(times) else math.nan


def _logarithm(number: float, dimension: float) -> float:
    return math.log(number, dimension) if number > 0 else -math.inf


def data_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of the data and the start, as every theorem about the network has them. That d is large enough, nobody can check."""
    found = regime_of(evidence)
    triple = math.log(math.log(math.log(found.dimension))) if found.dimension > math.exp(math.e) else 0.0
    yield Premise("log_d k >= 0.3334 (Corollary F.3)", found.power, WINDOW[0], at_least=True)
    yield Premise("log_d k <= 0.3999 (Corollary F.3)", found.power, WINDOW[1])
    yield Premise("c_0 > 0 (m = d^(1 + c_0))", found.spare, 0.0, at_least=True)
    ratio = found.decay * found.dimension / triple if triple > 0 else 0.0
    off = abs(math.log10(ratio)) if ratio > 0 else math.inf
    yield Premise("|log10(lambda/(log log log d / d))| <= 0.3", off, math.log10(LAMBDA))
    same = found.decay == found.cubic
    yield Premise.fact("Reg = |w|^2/2 + |w|^3/3, one lambda for both", same)
    yield Premise("P(<w*, z> = 0) = o(1), 0.1", found.tied, SMALL)
    yield Premise("b(0) = Theta(sigma_0 sqrt(log d)): |log10 ratio| <= 1", _off(found.start), math.log10(THETA))
    yield Premise("b stops at k^-0.5001", found.cap, found.sparsity**-0.5001 * (1 + 1e-9))
    noise = triple**3 / math.log(found.dimension)
    yield Premise("sigma_rho/b >= (log log log d)^3/log d", found.spread, noise, at_least=True)


def _off(ratio: float) -> float:
    """|log10| of a ratio that is to be Theta(1)"""
    return abs(math.log10(ratio)) if ratio > 0 else math.inf


def clean_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of Theorems 5.1, 5.2 and D.1."""
    found = regime_of(evidence)
    yield from data_premises(evidence)
    yield Premise("log_d(eta T_f) >= 1.01", _logarithm(found.clean, found.dimension), LATE, at_least=True)


def not_robust_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of Theorem E.1 and Lemma E.2."""
    found = regime_of(evidence)
    yield from clean_premises(evidence)
    yield Premise("log_d k > (1 - c_0)/3 (Theorem E.1)", found.power, (1 - found.spare) / 3, at_least=True)
    _, gap = lottery_constants(found.neurons, found.dimension)
    needed = -math.inf if found.decay == 0 else -_logarithm(found.decay, found.dimension) - 4 * gap
    late = _logarithm(found.clean, found.dimension)
    yield Premise("log_d(eta T_f) >= -log_d(lambda Xi_2^2) (Theorem E.1)", late, needed, at_least=True)


def robust_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of Theorems 5.3 and F.1."""
    found = regime_of(evidence)
    yield from clean_premises(evidence)
    rest = 1 - 2 * found.spare
    loglog = _logarithm(math.log(found.dimension), found.dimension)
    yield Premise("log_d(k^2.5 log d) < 1 - 2 c_0 (Theorem F.1)", 2.5 * found.power + loglog, rest)
    noise = _logarithm(found.noise, found.dimension)
    yield Premise("log_d sigma_x <= 2(1 - 2 c_0) - 5.5 log_d k (Theorem F.1)", noise, 2 * rest - 5.5 * found.power)
    yield from _attack_premises(evidence, found.sparsity**-0.5 * found.dimension**-found.spare, "1/(sqrt(k) d^c_0)")


def linf_premises(evidence: Evidence) -> Iterator[Premise]:
    """Of Theorems 5.4 and F.4, where the rows of M have norms of order 1 in l1."""
    found = regime_of(evidence)
    yield from clean_premises(evidence)
    # rows of a random basis have norms of order sqrt(d) in l1
    yield Premise.fact("|M|_inf, |M|_1 = d^o(1)", coding(evidence).basis != "random")
    rest = 1 - 2 * found.spare
    loglog = _logarithm(math.log(found.dimension), found.dimension)
    yield Premise("log_d(k^2.5 log d) < 1 - 2 c_0 (Theorem F.4)", 2.5 * found.power + loglog, rest)
    yield from _attack_premises(evidence, found.sparsity**-1.75 * found.dimension**-found.spare, "1/(k^1.75 d^c_0)")


def _attack_premises(evidence: Evidence, most: float, words: str) -> Iterator[Premise]:
    """Of adversarial training: its radius, and how long it goes on"""
    found = regime_of(evidence)
    yield Premise(f"tau <= {words}", found.radius, most)
    usual_time = found.sparsity**2 * found.dimension**found.spare * math.log(found.dimension)
    off = _off(found.robust / usual_time) if found.robust > 0 else math.inf
    yield Premise("eta T_g = Theta(k^2 m log d / d): |log10 ratio| <= 1", off, math.log10(THETA))
