"""Theorem 3.1, Proposition 3.2, equation (1) and Lemma A.1: what descent makes of the whole network."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant, Premise, Rate, Window
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import TwoLayer
from ...observe.kinds.regions import feature_changes
from ..relu import relu_network
from .setting import (
    CONSTANTS,
    DELTA,
    HORIZON,
    PAPER,
    ROUNDING,
    flipped,
    good_start,
    initial_size,
    least_constant,
    premises,
    premises_at_end,
    step,
    xor,
)

#: What flowsim takes for "high accuracy", and for acting as a classifier.
NEARLY_ALL = 0.99
#: gamma, the margin (45) of the proof of Theorem 3.1
MARGIN = math.exp(-2) / (16 * 1024)


def xor_ideal(centers: Floats) -> TwoLayer:
    """|<mu_1, x>| - |<mu_2, x>| (equation 1) for the centres +mu_1, -mu_1, +mu_2, -mu_2 (4, d)."""
    return relu_network(centers, np.zeros(4), np.array([1.0, 1.0, -1.0, -1.0]))


def _predicted(evidence: Evidence, noisy: bool) -> float:
    """Share of the training points with clean or flipped label whose predicted label is that of their cluster"""
    problem, members = xor(evidence), flipped(evidence) == noisy
    if not members.any():
        raise NotApplicable("no label is " + ("flipped" if noisy else "clean"))
    return evidence.accuracy(evidence.network(problem.inputs[members]), evidence.clean_label[members])


def _test_error(evidence: Evidence) -> float:
    xor(evidence)
    return 1 - evidence.accuracy(evidence.network(evidence.test.inputs), evidence.test.targets)


def _noise_rate(evidence: Evidence) -> float:
    """eta, of the fresh samples themselves"""
    return float(np.mean(evidence.test.targets != _clean_test_label(evidence)))


def _clean_test_label(evidence: Evidence) -> Floats:
    return xor(evidence).cluster_label[evidence.test.sample_cluster].astype(float)


def _over_root(evidence: Evidence) -> float:
    return math.sqrt(math.log(1 / DELTA) / len(evidence.problem.targets))


def _bound_of_proof(evidence: Evidence) -> float:
    """eta + (sqrt(2 C log(2T/delta)) + 4/gamma + sqrt(2 log(4/delta))) / sqrt(n)"""
    iterations = 1 + HORIZON / step(evidence)
    noise = math.sqrt(2 * least_constant(evidence) * math.log(2 * iterations / DELTA))
    rest = noise + 4 / MARGIN + math.sqrt(2 * math.log(4 / DELTA))
    return _noise_rate(evidence) + rest / math.sqrt(len(evidence.problem.targets))


def _smallest_change(evidence: Evidence) -> float:
    xor(evidence)
    return float(np.nanmin(feature_changes(evidence.end)))


def _least_of_change(evidence: Evidence) -> float:
    smallest = _smallest_change(evidence)
    return 1 / (smallest * initial_size(evidence)) if smallest else math.inf


def _ideal_accuracy(evidence: Evidence) -> float:
    ideal = xor_ideal(xor(evidence).centers)
    return evidence.accuracy(ideal(evidence.test.inputs), _clean_test_label(evidence))


def _agreement(evidence: Evidence) -> float:
    ideal = xor_ideal(xor(evidence).centers)
    return evidence.accuracy(evidence.network(evidence.test.inputs), np.sign(ideal(evidence.test.inputs)))


def _growth(evidence: Evidence, together: bool) -> float:
    """Largest |w_j| / (2 |a_j| step t) over neurons, or |W| / (2 step t), at the kept iterations t >= 1"""
    problem, after = xor(evidence), (1 - ROUNDING) * step(evidence)
    times, _ = evidence.over_time("log_norm")
    log_norm = evidence.between("log_norm", after)
    if together:
        log_size = 0.5 * np.logaddexp.reduce(2 * log_norm, axis=1)
    else:
        log_size = (log_norm - np.log(np.abs(problem.output))).max(axis=1)
    return float((np.exp(log_size) / (2 * times[times > after])).max())


def _iterations(evidence: Evidence) -> Window:
    """All from the first on, each of which has to be kept"""
    first, times = step(evidence), evidence.trajectory["time"].values
    return Window(first, float(times[-1]), times, max(round((float(times[-1]) - first) / first), 1), "time")


def _premises_of_growth(evidence: Evidence) -> Iterator[Premise]:
    """Of a good run the proof takes Lemmas 4.1 and 4.3"""
    yield from premises(evidence)
    yield from good_start(evidence)


CLAIMS = {
    "theorem_3_1.clean_points": Claim(
        f"{PAPER}, Theorem 3.1 (1)",
        "for all clean training points i, y_i = sgn(f(x_i; W(T)))",
        lambda evidence: _predicted(evidence, noisy=False),
        1.0,
        at_least=True,
        measures="share of the clean training points of which this is so, at the end of the run",
        premises=premises_at_end,
        constants=CONSTANTS,
    ),
    "theorem_3_1.noisy_points": Claim(
        f"{PAPER}, Theorem 3.1 (1)",
        "for all noisy training points i, y_i != sgn(f(x_i; W(T)))",
        lambda evidence: _predicted(evidence, noisy=True),
        1.0,
        at_least=True,
        measures="share of the noisy training points of which this is so, at the end of the run",
        premises=premises_at_end,
        constants=CONSTANTS,
    ),
    "theorem_3_1.test_error": Claim(
        f"{PAPER}, Theorem 3.1 (2)",
        "P(y != sgn(f(x; W(T)))) <= eta + C sqrt(log(1/delta)/n)",
        _test_error,
        lambda evidence: _noise_rate(evidence) + _over_root(evidence),
        measures="error on fresh noisy samples, of which eta are noisy",
        premises=premises_at_end,
        constants=(
            Constant("C of the test error", 1.0, "chosen"),
            Constant(
                "least C of the test error",
                lambda evidence: (_test_error(evidence) - _noise_rate(evidence)) / _over_root(evidence),
                "fitted",
            ),
            *CONSTANTS,
        ),
        trivial=1.0,
    ),
    "theorem_3_1.test_error_of_proof": Claim(
        f"{PAPER}, Theorem 3.1 (2), proof",
        "P(y != sgn(f(x; W(T)))) <= eta + (sqrt(2 C log(2T/delta)) + 4/gamma + sqrt(2 log(4/delta)))/sqrt(n)",
        _test_error,
        _bound_of_proof,
        measures="error on fresh noisy samples, of which eta are noisy",
        premises=premises_at_end,
        constants=(Constant("gamma", MARGIN, "paper"), *CONSTANTS),
        trivial=1.0,
    ),
    "proposition_3_2": Claim(
        f"{PAPER}, Proposition 3.2",
        "for all i, |phi(W(T) x_i) - phi(W(0) x_i)| / |phi(W(0) x_i)| >= 1/(C omega sqrt(m d))",
        _smallest_change,
        lambda evidence: 1 / (16 * 1024 * math.exp(2) * initial_size(evidence)),
        at_least=True,
        measures="smallest change of a training point",
        premises=premises_at_end,
        constants=(
            Constant("C of the change", 16 * 1024 * math.exp(2), "paper"),
            Constant("least C of the change", _least_of_change, "fitted"),
            *CONSTANTS,
        ),
        rates=(Rate("init.scale", -1.0, one_sided="at_most"),),
    ),
    "equation_1.accuracy": Claim(
        f"{PAPER}, equation (1)",
        "|<mu_1, x>| - |<mu_2, x>| can classify the (clean) data with high accuracy",
        _ideal_accuracy,
        NEARLY_ALL,
        at_least=True,
        measures="share of fresh samples whose clean label it gives",
        premises=premises,
        constants=(Constant("high accuracy", NEARLY_ALL, "chosen"), *CONSTANTS),
    ),
    "equation_1.agreement": Claim(
        f"{PAPER}, after Theorem 3.1",
        "the neural network essentially acts as sgn(|<mu_1, x>| - |<mu_2, x>|)",
        _agreement,
        NEARLY_ALL,
        at_least=True,
        measures="share of fresh samples on which the two agree",
        premises=premises_at_end,
        constants=(Constant("essentially", NEARLY_ALL, "chosen"), *CONSTANTS),
    ),
    "lemma_a_1.neurons": Claim(
        f"{PAPER}, Lemma A.1 (1)",
        "for times t >= 1 and all j, |w_j(t)| <= 2 |a_j| step t",
        lambda evidence: _growth(evidence, together=False),
        1.0,
        observables=("log_norm",),
        measures="largest |w_j(t)| / (2 |a_j| step t)",
        premises=_premises_of_growth,
        constants=CONSTANTS,
        span=_iterations,
    ),
    "lemma_a_1.all": Claim(
        f"{PAPER}, Lemma A.1 (2)",
        "for times t >= 1, |W(t)|_F <= 2 step t",
        lambda evidence: _growth(evidence, together=True),
        1.0,
        observables=("log_norm",),
        measures="largest |W(t)|_F / (2 step t)",
        premises=_premises_of_growth,
        constants=CONSTANTS,
        span=_iterations,
    ),
}
