"""Allen-Zhu & Li 2022, the principle of feature purification: what adversarial training changes, and what it leaves.

These are statements about any network; the thresholds of most, few and a large part are chosen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from ...arrays import Booleans, Floats
from ...evaluate.case import Result, reopened
from ...evaluate.claim import Claim, Constant, evidence_of
from ...evaluate.evidence import Evidence, NotApplicable
from ...evaluate.robustness import network_of
from ...observe import Instant
from ...observe.kinds.features import dense_mixtures, pure_parts
from ...solve import Snapshot
from .ledger import spent
from .setting import (
    PAPER,
    again_clean_end,
    clean_end,
    large_at,
    network_data,
    robust_end,
    scratch_end,
    weights_at,
)
from .surgery import changed_coefficients, with_coefficients
from .training import ANY, attacked_error, error_of

#: c and C of the principle, which the paper names as examples.
LEAST, MOST = 0.2, 0.8
#: What stands for most, for a part that is large, and for "neither learn new nor remove existing".
HALF, NONE = 0.5, 0.1
OF_MOST = Constant("most: share above", HALF, "chosen")
OF_NONE = Constant("neither: share at most", NONE, "chosen")
OF_LARGE = Constant("large: in units of sqrt(k) b", 1.0, "chosen")
#: Neurons, at most, whose pairs are looked at.
PAIRS = 1000


def _ratio(evidence: Evidence, snapshot: Snapshot) -> float:
    """Mean dense mixture over mean pure part"""
    instant = Instant(evidence.setting, snapshot)
    return float(dense_mixtures(instant).mean() / pure_parts(instant).mean())


def mixture_at(evidence: Evidence, snapshot: Snapshot) -> float:
    """The same in units of k/d"""
    data = network_data(evidence)
    return _ratio(evidence, snapshot) * float(data.dimension / data.sparsity)


def _purified(evidence: Evidence) -> float:
    return abs(_ratio(evidence, robust_end(evidence)) / _ratio(evidence, clean_end(evidence)))


def _left_to_attacks(evidence: Evidence) -> float:
    """Robust error after adversarial training relative to before"""
    before, after = (error_of(evidence, found, *ANY) for found in (clean_end(evidence), robust_end(evidence)))
    if before == 0.0:
        raise NotApplicable("clean training has left nothing for the attack to find")
    return after / before


def _both_large(evidence: Evidence) -> tuple[Booleans, Booleans]:
    """(m, K) before and after adversarial training"""
    before, after = large_at(evidence, clean_end(evidence)), large_at(evidence, robust_end(evidence))
    if not before.any():
        raise NotApplicable("no coefficient is large after clean training")
    return before, after


def _removed(evidence: Evidence) -> float:
    before, after = _both_large(evidence)
    return float((before & ~after).sum() / before.sum())


def _learned_new(evidence: Evidence) -> float:
    before, after = _both_large(evidence)
    return float((after & ~before).sum() / before.sum())


def _spent_on_mixture(evidence: Evidence) -> float:
    parts = spent(evidence, clean_end(evidence), robust_end(evidence))
    total = sum(parts.values())
    if total == 0:
        raise NotApplicable("adversarial training has moved nothing")
    return parts["mixture"] / total


def explained_by(evidence: Evidence, chosen: str) -> float:
    """What setting a group of coefficients of the clean network to 0 gains in robust accuracy, relative to what adversarial
    training gains"""
    clean, robust = clean_end(evidence), robust_end(evidence)
    found = changed_coefficients(evidence, clean, chosen)
    operated = network_of(evidence.setting, with_coefficients(evidence, clean, found))
    before, after = (error_of(evidence, snapshot, *ANY) for snapshot in (clean, robust))
    if before == after:
        raise NotApplicable("adversarial training has gained nothing")
    return (before - attacked_error(evidence, operated, *ANY)) / (before - after)


def _cosine(first: Floats, second: Floats) -> Floats:
    size = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray(np.abs((first * second).sum(axis=1)) / np.where(size > 0, size, 1.0))


def _turns(evidence: Evidence) -> tuple[dict[str, Floats], Booleans]:
    """({histogram: theta of every neuron (m,)}, which neurons have learned (m,))"""
    clean, robust = clean_end(evidence), robust_end(evidence)
    start, before, after = (weights_at(evidence, found) for found in (evidence.weights[0], clean, robust))
    found = {
        "start_clean": _cosine(start, before),
        "start_robust": _cosine(start, after),
        "clean_robust": _cosine(before, after),
    }
    return found, np.asarray(large_at(evidence, clean).any(axis=1))


def turns(result: Result, *, seed: int | None = None) -> xr.Dataset:
    """The three histograms of Figure 2, neuron by neuron: theta(w, w') = |<w, w'>|/(|w||w'|) between the start and the end
    of clean training (`start_clean`), the start and the end of adversarial training (`start_robust`), and the two ends
    (`clean_robust`). `learned`: which neurons have a large coefficient after clean training, as in the ledger.

    result: of clean and then adversarial training of a network of kind "symmetric_relu" on sparse coding. seed: the member
    of an ensemble. Raises NotApplicable where the run is another one.
    """
    with reopened(result, seed) as case:
        found, learned = _turns(evidence_of(case.scenario, case.setting, case.trajectory))
    texts = {"start_clean": "start and clean", "start_robust": "start and robust", "clean_robust": "clean and robust"}
    told = {
        name: ("neuron", found[name], {"long_name": f"theta of {text} weights", "units": "1"})
        for name, text in texts.items()
    }
    return xr.Dataset({**told, "learned": ("neuron", learned, {"long_name": "whether it has a large coefficient"})})


def _share(
    name: str, at_most: float | None = None, at_least: float | None = None, learned: bool = True
) -> Callable[[Evidence], float]:
    """Of the neurons, or of those that have learned, the share whose theta keeps a bound"""

    def measure(evidence: Evidence) -> float:
        found, winners = _turns(evidence)
        chosen = found[name][winners] if learned else found[name]
        if not len(chosen):
            raise NotApplicable("no neuron has a large coefficient after clean training")
        kept = chosen <= at_most if at_most is not None else chosen >= (at_least or 0.0)
        return float(kept.mean())

    return measure


def _pairs_apart(evidence: Evidence) -> float:
    """Share of the pairs of different neurons with theta at most c after clean training, of those that have learned"""
    snapshot = clean_end(evidence)
    rows = weights_at(evidence, snapshot)[large_at(evidence, snapshot).any(axis=1)][:PAIRS]
    if len(rows) < 2:
        raise NotApplicable("fewer than two neurons have a large coefficient after clean training")
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    pairs = np.abs(unit @ unit.T)[np.triu_indices(len(unit), 1)]
    return float((pairs <= LEAST).mean())


def _mixture_returns(evidence: Evidence) -> float:
    return _ratio(evidence, again_clean_end(evidence)) / _ratio(evidence, clean_end(evidence))


def _error_returns(evidence: Evidence) -> float:
    """Of the robust error that adversarial training took away, the part that comes back"""
    ends = clean_end(evidence), robust_end(evidence), again_clean_end(evidence)
    clean, robust, again = (error_of(evidence, found, *ANY) for found in ends)
    if clean <= robust:
        raise NotApplicable("adversarial training has gained nothing")
    return (again - robust) / (clean - robust)


def _from_dictionary(evidence: Evidence) -> float:
    if evidence.scenario.init.shape != "dictionary":
        raise NotApplicable('it speaks of a start at the features, init.shape = "dictionary"')
    return mixture_at(evidence, clean_end(evidence))


def _claim(
    where: str,
    statement: str,
    measure: Callable[[Evidence], float],
    bound: float,
    measures: str,
    *constants: Constant,
    at_least: bool = False,
    trivial: float | None = None,
) -> Claim:
    place = f"{PAPER}, {where}"
    return Claim(place, statement, measure, bound, at_least, measures=measures, constants=constants, trivial=trivial)


def _principle(number: int, learned: bool, words: str, name: str, measures: str, **bounds: float) -> Claim:
    of = "neurons with a large coefficient after clean training" if learned else "all neurons"
    return _claim(
        f"the principle of feature purification ({number}), Figure 2",
        words,
        _share(name, learned=learned, **bounds),
        HALF,
        f"{measures}, of {of}",
        OF_MOST,
        *([OF_LARGE] if learned else []),
        at_least=True,
    )


_FAR = "for most neurons theta(w_i(0), w_i), theta(w_i(0), w_i') <= c for a small constant c, such as 0.2"
_NEAR = "for most neurons theta(w_i, w_i') >= C for a large constant C, such as 0.8"

CLAIMS = {
    "principle_1.clean": _principle(
        1, True, _FAR, "start_clean", "share with theta(w_i(0), w_i) <= 0.2", at_most=LEAST
    ),
    "principle_1.robust": _principle(
        1, True, _FAR, "start_robust", "share with theta(w_i(0), w_i') <= 0.2", at_most=LEAST
    ),
    "principle_1.all": _principle(1, False, _FAR, "start_clean", "share with theta(w_i(0), w_i) <= 0.2", at_most=LEAST),
    "principle_2.learned": _principle(2, True, _NEAR, "clean_robust", "share with theta >= 0.8", at_least=MOST),
    "principle_2.all": _principle(2, False, _NEAR, "clean_robust", "share with theta >= 0.8", at_least=MOST),
    "principle_3": _claim(
        "the principle of feature purification (3)",
        "for most pairs of different neurons theta(w_i, w_j) <= c for a small constant c, such as 0.2",
        _pairs_apart,
        HALF,
        "share of the pairs, of neurons with a large coefficient after clean training",
        OF_MOST,
        OF_LARGE,
        at_least=True,
    ),
    "purification.mixture": _claim(
        "Section 5.1",
        "adversarial training indeed purifies the small dense mixtures",
        _purified,
        0.5,
        "mean dense mixture over mean pure part, after adversarial training relative to before",
        Constant("purified: at most", 0.5, "chosen"),
    ),
    "purification.features_removed": _claim(
        "the principle of feature purification",
        "adversarial training will not remove existing, non-robust features learned over the original data set",
        _removed,
        NONE,
        "share of the large coefficients after clean training that are not large after adversarial training",
        OF_NONE,
        OF_LARGE,
    ),
    "purification.features_new": _claim(
        "the principle of feature purification",
        "adversarial training will not learn new, robust features",
        _learned_new,
        NONE,
        "coefficients that become large in adversarial training, relative to those that are before",
        OF_NONE,
        OF_LARGE,
    ),
    "purification.movement": _claim(
        "the principle of feature purification",
        "most of the work of adversarial training is done by purifying a small part of each learned feature",
        _spent_on_mixture,
        HALF,
        "share of sum |w_i' - w_i|^2 that is the small coefficients' along w*, the dense mixture",
        OF_MOST,
        OF_LARGE,
        at_least=True,
    ),
    "purification.small_explain": _claim(
        "Section 5.1",
        "one has to rely on adversarial training to remove dense mixtures to make the model robust",
        lambda evidence: explained_by(evidence, "small"),
        HALF,
        "gain of robust accuracy where the small coefficients of the clean network are set to 0, over that of adversarial "
        "training; error against PGD and along the labels",
        OF_MOST,
        OF_LARGE,
        at_least=True,
    ),
    "purification.mixture_explains": _claim(
        "Section 5.1",
        "one has to rely on adversarial training to remove dense mixtures to make the model robust",
        lambda evidence: explained_by(evidence, "mixture"),
        HALF,
        "the same where only the part of the small coefficients along w* is set to 0",
        OF_MOST,
        OF_LARGE,
        at_least=True,
    ),
    "purification.robust_error": _claim(
        "Theorems 5.1(c) and 5.3(b)",
        "adversarial training makes the network robust",
        _left_to_attacks,
        0.5,
        "error against PGD and along the labels, within the radius of training, after it relative to before",
        Constant("robust: at most", 0.5, "chosen"),
    ),
    "purification.from_scratch": _claim(
        "Figure 9",
        "adversarial training from random initialization should directly avoid learning dense mixtures",
        lambda evidence: mixture_at(evidence, scratch_end(evidence)),
        0.5,
        "mean dense mixture in units of k/d times the mean pure part",
        Constant("avoided: at most", 0.5, "chosen"),
    ),
    "section_7.mixture_returns": _claim(
        "Section 7",
        "gradient descent on the clean loss has an inductive bias towards a non-robust model, from robust ones, too",
        _mixture_returns,
        HALF,
        "mean dense mixture over mean pure part, after clean training again relative to after the first",
        Constant("returns: at least", HALF, "chosen"),
        at_least=True,
    ),
    "section_7.error_returns": _claim(
        "Section 7",
        "gradient descent on the clean loss has an inductive bias towards a non-robust model, from robust ones, too",
        _error_returns,
        HALF,
        "of the robust error that adversarial training has taken away, the part that clean training again brings back",
        Constant("returns: at least", HALF, "chosen"),
        at_least=True,
    ),
    "section_6_2.from_features": _claim(
        "Section 6.2",
        "even when the neurons are close to being pure features, the dense direction is accumulated",
        _from_dictionary,
        0.1,
        "clean training from w_i = M_i: mean dense mixture in units of k/d times the mean pure part",
        Constant("accumulated: at least", 0.1, "chosen"),
        at_least=True,
    ),
}
