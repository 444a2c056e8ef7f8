"""Lemmas 4.6 and 4.9 to 4.11: the neurons that capture a cluster, and the good subnetwork that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...arrays import Floats
from ...evaluate.claim import Claim, Constant, Premise, Rate, Window
from ...evaluate.evidence import Evidence, NotApplicable
from .setting import (
    CAPTURES,
    HORIZON,
    PAPER,
    ROUNDING,
    Capture,
    cosines,
    flipped,
    good_run,
    premises,
    premises_at_end,
    step,
    xor,
)

#: What flowsim takes for O(1) and for Omega(1), of medians.
SMALL, LARGE = 3.0, 0.5
#: Neurons outside of J in a search for counterexamples to Lemma 4.6: at most this share, as C_f > 1.
OUTSIDE = 1 / 16


def _aligned(capture: Capture, evidence: Evidence) -> float:
    """Smallest share of right gates from the first iteration until T - 1; of a flow, the share at flow time 1/4"""
    capture.sets(evidence)
    shares = evidence.between(f"neuron_alignment{capture.suffix}", 0.0, HORIZON)
    return float(shares.min() if evidence.step is not None else shares[-1])


def _orthogonal(capture: Capture, evidence: Evidence) -> float:
    """Largest |<w_j, mu>| / (step |a_j|) until T - 1"""
    capture.sets(evidence)
    return float(evidence.between(f"almost_orthogonality{capture.suffix}", -1.0, HORIZON).max()) / step(evidence)


def _until_horizon(begin: float, evidence: Evidence) -> Window:
    """From so many iterations on to the last up to flow time 1/4, each of which has to be kept; of a flow, until then"""
    if evidence.step is None:
        return Window.of(evidence, 0.0, HORIZON)
    first, last = begin * evidence.step, math.floor(HORIZON / evidence.step * (1 + ROUNDING)) * evidence.step
    return Window.of(evidence, first, last, max(round((last - first) / evidence.step), 1))


def _first_step(evidence: Evidence) -> Window:
    return Window.of(evidence, step(evidence), step(evidence))


def _after_one_step(evidence: Evidence, name: str) -> Floats:
    first = step(evidence)
    return evidence.between(name, (1 - ROUNDING) * first, (1 + ROUNDING) * first)[0]


def _captured_cosines(capture: Capture, evidence: Evidence, cosine: Floats) -> Floats:
    """Of a cosine (m, K), that of each capturing neuron with what it captures"""
    captured = capture.sets(evidence)
    neurons = np.flatnonzero(captured >= 0)
    return cosine[neurons, captured[neurons]]


def _before(capture: Capture, evidence: Evidence) -> float:
    problem = xor(evidence)
    median = float(np.median(_captured_cosines(capture, evidence, cosines(problem))))
    return median * math.sqrt(problem.dimension)


def _after(capture: Capture, statistic: Callable[[Floats], Floats], evidence: Evidence) -> float:
    return float(statistic(_captured_cosines(capture, evidence, _after_one_step(evidence, "cosine"))))


def _responses(evidence: Evidence) -> tuple[Floats, float]:
    """(y_i a_j phi(<w_j, x_i>) (n, m), |W|_F)"""
    problem, network = xor(evidence), evidence.network
    hidden = network.hidden
    response = np.maximum(problem.inputs @ hidden.T, 0.0) * network.output
    return problem.targets[:, None] * response, float(np.linalg.norm(hidden))


def _subnetwork(capture: Capture, evidence: Evidence, noisy: bool) -> float:
    """Smallest y_i f^J(x_i) of the clean points, largest of the noisy ones"""
    captured, members = capture.sets(evidence) >= 0, flipped(evidence) == noisy
    if not members.any():
        raise NotApplicable("no label is " + ("flipped" if noisy else "clean"))
    margins = _responses(evidence)[0][np.ix_(members, captured)].sum(axis=1)
    return float(margins.max() if noisy else margins.min())


def _worst_subnetwork(evidence: Evidence) -> float:
    """The least y f / (y f^J) over all training points with |x| <= 2 and all J with |J^c|/m <= (y f^J)^2/16 < 1/16, for
    the weights at the end scaled to |W|_F = 1, where the lemma is sharpest. For each point and each size of J^c the worst J
    leaves out the neurons that speak most against the label."""
    shares, size = _responses(evidence)
    shares = shares[np.linalg.norm(evidence.problem.inputs, axis=1) <= 2] / size
    neurons = shares.shape[1]
    total = shares.sum(axis=1, keepdims=True)
    left_out = np.sort(shares, axis=1)[:, : math.floor(OUTSIDE * neurons)]
    without = total - np.concatenate([np.zeros_like(total), np.cumsum(left_out, axis=1)], axis=1)
    allowed = (without > 0) & (without < 1) & (np.arange(without.shape[1]) / neurons <= without**2 / 16)
    if not allowed.any():
        raise NotApplicable("no training point is classified as labelled")
    return float((total / np.where(allowed, without, np.nan))[allowed].min())


def _premises_of_lemma_4_9(capture: Capture, evidence: Evidence) -> Iterator[Premise]:
    yield from premises_at_end(evidence)
    yield from good_run(evidence, capture)
    yield Premise(
        "Condition 4.7 at 1, ..., 1/(4 step): share of right gates >= 1", _aligned(capture, evidence), 1.0, True
    )
    yield Premise(
        "Condition 4.8 up to 1/(4 step): |<w_j, mu>| / (step |a_j|) <= 3", _orthogonal(capture, evidence), 3.0
    )


def _premises_on_a_good_run(capture: Capture, evidence: Evidence) -> Iterator[Premise]:
    yield from premises(evidence)
    yield from good_run(evidence, capture)


def _of_capture(capture: Capture) -> dict[str, Claim]:
    """All claims about the sets J_mu, for one constant C_0"""
    return _of_lemma_4_9(capture) | _of_lemma_4_10(capture) | _of_conditions(capture)


def _alignment(capture: Capture) -> tuple[str]:
    return (f"neuron_alignment{capture.suffix}",)


def _orthogonality(capture: Capture) -> tuple[str]:
    return (f"almost_orthogonality{capture.suffix}",)


def _on_a_good_run(capture: Capture) -> dict[str, Any]:
    """What claims have in common that speak of a good run."""
    good: Callable[[Evidence], Iterable[Premise]] = partial(_premises_on_a_good_run, capture)
    return {"premises": good, "constants": capture.constants, "observables": ("cosine",)}


def _of_lemma_4_9(capture: Capture) -> dict[str, Claim]:
    suffix, inverse = capture.suffix, (1 - 1 / capture.c0) ** 2 / (4096 * math.exp(2))
    late: Callable[[Evidence], Iterable[Premise]] = partial(_premises_of_lemma_4_9, capture)
    of_4_9: dict[str, Any] = {
        "premises": late,
        "constants": (Constant("C_3", 1 / inverse, "paper"), *capture.constants),
        "observables": _alignment(capture) + _orthogonality(capture),
    }
    return {
        f"lemma_4_9.clean_points{suffix}": Claim(
            f"{PAPER}, Lemma 4.9",
            "at time T = 1 + 1/(4 step), for all clean i, y_i f^J(x_i; W(T)) >= 1/C_3 > 0",
            lambda evidence: _subnetwork(capture, evidence, noisy=False),
            inverse,
            at_least=True,
            measures="smallest y_i f^J(x_i) of a clean training point",
            **of_4_9,
        ),
        f"lemma_4_9.noisy_points{suffix}": Claim(
            f"{PAPER}, Lemma 4.9",
            "at time T = 1 + 1/(4 step), for all noisy i, y_i f^J(x_i; W(T)) <= -1/C_3 < 0",
            lambda evidence: _subnetwork(capture, evidence, noisy=True),
            -inverse,
            measures="largest y_i f^J(x_i) of a noisy training point",
            **of_4_9,
        ),
        f"lemma_4_9.norm{suffix}": Claim(
            f"{PAPER}, Lemma 4.9",
            "at time T = 1 + 1/(4 step), |W(T)|_F <= 1",
            lambda evidence: float(np.linalg.norm(evidence.network.hidden)) if xor(evidence) else math.nan,
            1.0,
            measures="|W(T)|_F",
            **of_4_9,
        ),
    }


def _of_lemma_4_10(capture: Capture) -> dict[str, Claim]:
    suffix, good = capture.suffix, _on_a_good_run(capture)
    return {
        f"lemma_4_10.before{suffix}": Claim(
            f"{PAPER}, before Lemma 4.10",
            "at initialization the random features have per-neuron normalized correlations of order O(1/sqrt(d))",
            partial(_before, capture),
            SMALL,
            measures="median cosine of a neuron with the centre it captures, times sqrt(d)",
            premises=good["premises"],
            constants=(Constant("O(1)", SMALL, "chosen"), *capture.constants),
            rates=(Rate("data.dimension", 0.0),),
        ),
        f"lemma_4_10.after{suffix}": Claim(
            f"{PAPER}, before Lemma 4.10",
            "after a single step the normalized correlations are of order Theta(1)",
            partial(_after, capture, np.median),
            LARGE,
            at_least=True,
            measures="median of the same cosine after one iteration",
            span=_first_step,
            rates=(Rate("data.dimension", 0.0),),
            **good | {"constants": (Constant("Omega(1)", LARGE, "chosen"), *capture.constants)},
        ),
        f"lemma_4_10.smallest{suffix}": Claim(
            f"{PAPER}, Lemma 4.10",
            "for every mu and every j in J_mu, <w_j(1)/|w_j(1)|, mu> >= 1/(16 C_2), C_2 the constant from Lemma 4.4",
            partial(_after, capture, np.min),
            lambda evidence: max(capture.edge(evidence), 0.0) / 16,
            at_least=True,
            measures="smallest of these cosines after one iteration",
            span=_first_step,
            **good
            | {"constants": (Constant("1/C_2, the most of Lemma 4.4", capture.edge, "fitted"), *capture.constants)},
        ),
        f"lemma_4_10.alignment{suffix}": Claim(
            f"{PAPER}, Lemma 4.10",
            "on a good run Condition 4.7 holds at time t = 1",
            lambda evidence: float(_after_one_step(evidence, *_alignment(capture))),
            1.0,
            at_least=True,
            measures="share of right gates after one iteration",
            span=_first_step,
            **good | {"observables": _alignment(capture)},
        ),
    }


def _of_conditions(capture: Capture) -> dict[str, Claim]:
    part = capture.suffix.replace("_", ".", 1)
    return {
        f"condition_4_7{part}": Claim(
            f"{PAPER}, Condition 4.7, Lemma 4.11",
            "for every time t = 1, ..., 1/(4 step) and all j in J_mu, phi'(<w_j(t), x_k>) is 1 for all k around mu, "
            "0 for all k around -mu",
            partial(_aligned, capture),
            1.0,
            at_least=True,
            measures="smallest share of right gates; of a flow, the share at flow time 1/4",
            span=partial(_until_horizon, 1.0),
            **_on_a_good_run(capture) | {"observables": _alignment(capture)},
        ),
        f"condition_4_8{part}": Claim(
            f"{PAPER}, Condition 4.8, Lemma 4.11",
            "for all t <= 1/(4 step), |<w_j(t), mu>| <= 3 step |a_j| for a capturing neuron and mu of the other sign",
            partial(_orthogonal, capture),
            3.0,
            measures="largest |<w_j, mu>| / (step |a_j|)",
            span=partial(_until_horizon, 0.0),
            **_on_a_good_run(capture) | {"observables": _orthogonality(capture)},
        ),
    }


CLAIMS = {
    "lemma_4_6": Claim(
        f"{PAPER}, Lemma 4.6",
        "if |W|_F <= 1, |x| <= 2, |J^c|/m <= 1/(16 C_f^2) and y f^J(x; W) >= 1/C_f for a C_f > 1, then "
        "y f(x; W) >= 1/(2 C_f)",
        _worst_subnetwork,
        0.5,
        at_least=True,
        measures="least y f / (y f^J) over all J that are allowed and all training points, at the end, for W / |W|_F",
        premises=premises,
    ),
    **{name: claim for capture in CAPTURES for name, claim in _of_capture(capture).items()},
}
