"""For each claim of each paper there is a doctored case on which its verdict changes."""

from __future__ import annotations

from importlib import import_module

import pytest
from support.mutations import thinned, until

from flowsim.evaluate.findings import judged
from flowsim.papers import CLAIMS

PAPERS = tuple(dict.fromkeys(name.partition(".")[0] for name in CLAIMS))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_has_a_doctored_case(paper):
    known = import_module(f"support.mutations.{paper}")
    names = {name.removeprefix(f"{paper}.") for name in CLAIMS if name.startswith(f"{paper}.")}
    assert names - known.MUTATIONS.keys() == known.PENDING
    assert known.MUTATIONS.keys() <= names


#: What Li et al. assume, and limits of flows, make their cases large.
LARGE = {"li_2025": [pytest.mark.papers], "frei_vardi_2023": [pytest.mark.papers]}


@pytest.mark.parametrize("paper", [pytest.param(paper, marks=LARGE.get(paper, ())) for paper in PAPERS])
def test_on_its_doctored_case_the_verdict_of_a_claim_changes(paper):
    """One test for a paper, so that its cases are made once. What holds on all of a span neither holds nor fails of a run
    that stops in its middle, and it does not fail where only the first and the last instant were kept."""
    expected, found, hasty = {}, {}, {}
    for name, mutation in import_module(f"support.mutations.{paper}").MUTATIONS.items():
        claim, case = CLAIMS[f"{paper}.{name}"], mutation.case()
        expected[name] = (mutation.before, mutation.after)
        whole = judged(claim, case)
        found[name] = (whole.verdict, judged(mutation.claimed(claim), mutation.doctored(case)).verdict)
        if whole.verdict == "holds" and whole.window is not None:
            window, end = whole.window, case.trajectory["time"].values[-1]
            if window.begin < window.end < window.instants[-1]:
                middle = (window.begin + window.end) / 2 * end / window.instants[-1]
                hasty[name, "stopped"] = judged(claim, until(case, middle)).verdict
            hasty[name, "thinned"] = judged(claim, thinned(case, [0, -1])).verdict
    assert found == expected
    assert {key: verdict for key, verdict in hasty.items() if verdict == "fails"} == {}
    assert {key for key, verdict in hasty.items() if key[1] == "stopped" and verdict == "holds"} == set()
