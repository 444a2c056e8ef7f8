"""From a claim and a run to a verdict: what comes before what, what is shown with it, and how a window is covered."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from flowsim import Constant, NotApplicable, NotCovered, Premise, Window
from flowsim.evaluate.claim import Claim
from flowsim.evaluate.findings import Finding, judged, layout, wary
from flowsim.evaluate.global_error import FACTOR
from flowsim.evaluate.verdicts import VERDICTS, counted, rows

MET, UNMET = Premise("d >= 4", 5.0, 4.0, at_least=True), Premise("k <= 2", 3.0, 2.0)
KEPT = np.linspace(0.0, 10.0, 21)


def claim(**changes: object) -> Claim:
    """At most 2, and 1 is measured"""
    return replace(Claim("p. 1", "a number is at most 2", lambda evidence: 1.0, 2.0), **changes)


def verdict(**changes: object) -> str:
    return judged(claim(**changes), None).verdict


def not_applicable(evidence):
    raise NotApplicable("there is none")


def not_kept(evidence):
    raise NotCovered("nothing was kept")


@pytest.mark.parametrize(
    ("measured", "bound", "at_least", "found", "prediction"),
    [
        (1.0, 2.0, False, "holds", "at most 2"),
        (2.0, 2.0, False, "holds", "at most 2"),
        (2.1, 2.0, False, "fails", "at most 2"),
        (2.0, 2.0, True, "holds", "at least 2"),
        (1.9, 2.0, True, "fails", "at least 2"),
        (np.nan, 2.0, False, "not_covered", "at most 2"),
        (np.nan, 2.0, True, "not_covered", "at least 2"),
        (1.0, np.nan, False, "not_covered", ""),
    ],
)
def test_a_prediction_holds_up_to_and_at_its_bound_and_what_is_no_number_says_nothing(
    measured, bound, at_least, found, prediction
):
    finding = judged(claim(measure=lambda evidence: measured, bound=bound, at_least=at_least), None)
    assert (finding.verdict, finding.prediction) == (found, prediction)


def test_an_unmet_premise_is_outside_whatever_is_measured():
    for measured in (1.0, 3.0, math.nan):
        assert verdict(measure=lambda evidence, m=measured: m, premises=lambda evidence: [MET, UNMET]) == "outside"
    finding = judged(claim(premises=lambda evidence: [MET, UNMET]), None)
    assert finding.note == "k <= 2: 3, off by 1 from 2"
    assert finding.measured == 1.0
    assert verdict(premises=lambda evidence: [MET]) == "holds"


def test_what_comes_first_decides():
    """not_applicable, then outside, vacuous, not_covered, and only then what was measured."""
    doubtful = {"premises": lambda evidence: [UNMET], "trivial": 1.0, "measure": not_kept}
    assert verdict(**{**doubtful, "bound": not_applicable}) == "not_applicable"
    assert verdict(**{**doubtful, "premises": not_applicable}) == "not_applicable"
    assert verdict(**doubtful) == "outside"
    assert verdict(**{**doubtful, "premises": lambda evidence: [MET]}) == "vacuous"
    assert verdict(premises=lambda evidence: [MET], measure=not_kept) == "not_covered"


@pytest.mark.parametrize(
    ("measured", "in_companion", "said"),
    [
        (1.99, 1.9899, ""),
        (1.99, 1.984, f"the run's error could turn this: 1.99 is known to {FACTOR * 0.006:.1g}"),
        (1.99, 2.001, "the run's error could turn this: in its companion the verdict is fails (2.001)"),
        (2.0, 2.0, ""),
        (1.0, math.nan, "the run's error could turn this: in its companion the verdict is not_covered (no number)"),
    ],
)
def test_a_verdict_that_the_error_could_turn_says_so(measured, in_companion, said):
    run, other = (judged(claim(measure=lambda evidence, m=m: m), None) for m in (measured, in_companion))
    assert wary(run, other) == replace(run, note=said)


def test_so_does_one_whose_premise_the_error_could_turn():
    def found(value: float) -> Finding:
        return judged(claim(premises=lambda evidence: [Premise("k <= 2", value, 2.0)]), None)

    told = f"could turn the premise k <= 2: its margin is known to {FACTOR * 0.01:.1g}"
    assert told in wary(found(1.98), found(1.97)).note
    assert wary(found(1.98), found(1.979)).note == ""
    assert "in its companion the verdict is outside (1)" in wary(found(1.98), found(2.01)).note


def test_a_bound_beyond_what_is_trivial_is_vacuous():
    assert verdict(trivial=1.0) == verdict(trivial=2.0) == "vacuous"
    assert verdict(trivial=2.5) == "holds"
    assert verdict(trivial=lambda evidence: 2.5, measure=lambda evidence: 2.2) == "fails"
    assert verdict(at_least=True, bound=0.0, trivial=0.0) == "vacuous"
    assert verdict(at_least=True, bound=0.5, trivial=0.0) == "holds"


def test_where_a_run_has_not_got_to_what_is_trivial_nothing_is_vacuous():
    assert verdict(trivial=not_kept) == "holds"
    assert verdict(trivial=not_applicable) == "not_applicable"


def test_what_is_not_covered_may_have_a_number_as_far_as_the_run_went():
    def still_falling(evidence):
        raise NotCovered("it still falls", 3.0)

    found = judged(claim(measure=still_falling), None)
    assert (found.verdict, found.measured, found.note) == ("not_covered", 3.0, "it still falls")
    assert math.isnan(judged(claim(measure=not_kept), None).measured)


def test_a_bound_just_above_0_is_told_in_words():
    assert judged(claim(bound=5e-324, at_least=True), None).prediction == "more than 0"


def test_a_part_of_a_window_can_refute_and_cannot_confirm():
    for end, within, past in ((10.0, "holds", "fails"), (10.1, "not_covered", "fails")):
        span = {"span": lambda evidence, end=end: Window(5.0, end, KEPT)}
        assert verdict(**span) == within
        assert verdict(**span, measure=lambda evidence: 3.0) == past
    unseen = {"span": lambda evidence: Window(5.1, 5.4, KEPT)}  # what is measured cannot be of that
    assert verdict(**unseen) == verdict(**unseen, measure=lambda evidence: 3.0) == "not_covered"
    at = {"span": lambda evidence: Window(11.0, 11.0, KEPT)}
    assert verdict(**at) == verdict(**at, measure=lambda evidence: 3.0) == "not_covered"
    assert verdict(span=lambda evidence: Window(10.0, 10.0, KEPT)) == "holds"


@given(
    kept=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    begin=st.floats(0.0, 0.9),
    length=st.floats(0.05, 1.0),
    parts=st.integers(1, 12),
)
def test_a_covered_window_has_an_instant_in_every_stretch_of_a_part_s_length(kept, begin, length, parts):
    window = Window(begin, begin + length, np.sort(kept), parts)
    stretches = begin + np.linspace(0, length * (1 - 1 / parts), 200)
    hit = [
        any(at - 1e-9 <= instant <= at + length / parts + 1e-6 for instant in (*kept, begin, begin + length))
        for at in stretches
    ]
    if not window.missing:
        assert all(hit)
        assert max(kept) >= begin + length - 1e-9
    elif max(kept) >= begin + length:
        assert window.gap > length / parts or not len(window.inside)


def test_a_window_says_what_it_lacks():
    assert "the run ends at 10" in Window(5.0, 12.0, KEPT).missing
    assert "5 of it are without a kept instant, more than 0.5" in Window(5.0, 10.0, np.array([0.0, 10.0])).missing
    assert "nothing was kept there" in Window(5.1, 5.2, KEPT).missing


@pytest.mark.parametrize(
    ("premise", "margin", "met"),
    [
        (Premise("a", 1.0, 2.0), 1.0, True),
        (Premise("a", 3.0, 2.0), -1.0, False),
        (Premise("a", 2.0 * (1 + 1e-12), 2.0), pytest.approx(0, abs=1e-11), True),
        (Premise("a", math.nan, 2.0), pytest.approx(math.nan, nan_ok=True), False),
        (Premise("a", -math.inf, -math.inf), 0.0, True),
        (Premise.fact("it is so", True), 0.0, True),
        (Premise.fact("it is so", False), -1.0, False),
    ],
)
def test_a_premise_has_a_margin(premise, margin, met):
    assert (premise.margin, premise.met) == (margin, met)


def test_the_group_holds_premises_constants_and_spans_and_gives_them_back(tmp_path):
    full = judged(
        claim(
            premises=lambda evidence: [MET],
            constants=(Constant("C", None, "fitted"), Constant("delta", 0.05, "chosen")),
            span=lambda evidence: Window(5.0, 10.0, KEPT),
        ),
        None,
    )
    bare = judged(claim(premises=lambda evidence: [UNMET]), None)
    layout({"paper.full": full, "paper.bare": bare}).to_netcdf(tmp_path / "claims.nc")
    with xr.open_dataset(tmp_path / "claims.nc") as group:
        assert group["premise_margin"].sel(claim="paper.full", premise="d >= 4") == 1.0
        assert np.isnan(group["premise_margin"].sel(claim="paper.bare", premise="d >= 4"))
        first, second = rows(group)
        assert first["premises"] == [("d >= 4", 5.0, 4.0, 1.0)]
        assert first["constants"] == [("C", 1.0, "fitted"), ("delta", 0.05, "chosen")]
        assert (first["span_begin"], first["span_end"], first["span_instants"]) == (5.0, 10.0, 11.0)
        assert second["premises"] == [("k <= 2", 3.0, 2.0, -1.0)]
        assert second["constants"] == []
        assert list(group["verdict"].values) == ["holds", "outside"]


def test_no_findings_are_a_group_that_can_be_written(tmp_path):
    empty = layout({})
    empty.to_netcdf(tmp_path / "empty.nc")
    with xr.open_dataset(tmp_path / "empty.nc") as again:
        assert again.sizes["claim"] == 0
        assert set(again.data_vars) == set(empty.data_vars)


def test_a_premise_that_is_there_twice_is_a_mistake():
    with pytest.raises(ValueError, match="d >= 4"):
        judged(claim(premises=lambda evidence: [MET, MET]), None)


def test_verdicts_are_counted_in_one_order():
    assert tuple(VERDICTS) == ("holds", "fails", "not_covered", "vacuous", "outside", "not_applicable")
    assert counted(["outside", "holds", "not_covered", "holds"]) == "2 hold, 1 not covered, 1 outside"
