"""Claims from the scenario to the page: names, the group `claims`, `flowsim show`."""

from __future__ import annotations

import json

import pytest
import xarray as xr

import flowsim
from flowsim.cli import main
from flowsim.evaluate.claim import selected
from flowsim.papers import CLAIMS, evaluate

CLAIMED = """
[data]
dimension = 60
samples = 40
radius = "sqrt_dimension"
noise = { per_coordinate = 1.0 }
[model]
activation = "relu"
width = 4
output = "fixed"
output_weight = 0.5
[init]
signs = "half"
[loss]
kind = "logistic"
[flow]
until = { time = 0.2 }
[observe]
times = 3
variables = ["loss"]
[evaluate]
claims = ["li_2025.lemma_5_3", "li_2025.theorem_4_7"]
"""


def test_a_scenario_may_name_every_theorem_there_is():
    theorems = {".".join(name.split(".")[:2]) for name in CLAIMS}
    assert set(CLAIMS.words()) == theorems | {name.split(".")[0] for name in theorems}


def test_a_misspelt_claim_is_answered_with_the_nearest_one():
    with pytest.raises(flowsim.ScenarioError) as error:
        flowsim.loads('[evaluate]\nclaims = ["frei_2022", "li_2025.theorem_45"]', name="a.toml")
    expected = 'a.toml:2: evaluate.claims[1]: "li_2025.theorem_45" is not allowed; did you mean "li_2025.theorem_4_5"?'
    assert str(error.value).startswith(expected)


def test_a_claim_that_is_named_twice_is_an_error():
    with pytest.raises(flowsim.ScenarioError, match=r'evaluate.claims\[1\]: "frei_2022" is named twice'):
        flowsim.loads('[evaluate]\nclaims = ["frei_2022", "frei_2022"]')


def test_an_ensemble_is_not_held_against_claims():
    with pytest.raises(flowsim.ScenarioError, match=r"evaluate.claims: a run of a single seed"):
        flowsim.loads('seed = [0, 1]\n[evaluate]\nclaims = ["li_2025"]')


def test_a_name_stands_for_all_below_it():
    claims = dict.fromkeys(["a.x", "a.x.one", "a.xx.one", "b.x"], CLAIMS["li_2025.lemma_5_5"])
    assert list(selected(claims, ["a.x"])) == ["a.x", "a.x.one"]
    assert list(selected(claims, ["a"])) == ["a.x", "a.x.one", "a.xx.one"]
    assert list(selected(claims, ["b", "a.xx"])) == ["a.xx.one", "b.x"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("claims") / "run.nc"
    flowsim.run(flowsim.loads(CLAIMED), file)
    return file


def test_the_file_holds_the_findings_and_what_they_were_followed_by(file):
    with flowsim.open(file) as tree:
        found = tree["claims"].to_dataset()
        assert set(found["verdict"].values) == {"outside", "not_applicable"}
        assert {"margin_gap", "margin", "log_norm"} <= set(tree.data_vars)
        row = found.sel(claim="li_2025.lemma_5_3.margin_gap")
        assert row["where"] == "Li et al. 2025, Lemma 5.3"
        assert row["prediction"] == "at most 1"
        assert (float(row["bound"]), bool(row["holds"])) == (1.0, False)
        assert row["measured"] == tree["margin_gap"][1:].max()
        assert found["premise_margin"].dims == ("claim", "premise")
        for variable in found.variables.values():
            assert variable.attrs["long_name"]
            assert variable.attrs["units"] == "1"


def test_a_stored_file_is_held_against_its_own_and_other_claims(file):
    with flowsim.open(file) as tree:
        xr.testing.assert_identical(evaluate(tree).load(), tree["claims"].to_dataset(inherit=False).load())
        other = evaluate(tree, ["li_2025.theorem_4_5"])
        assert len(other["claim"]) == 7
        with pytest.raises(flowsim.ScenarioError, match="did you mean"):
            evaluate(tree, ["li_2025.theorem_4_55"])


def test_what_was_not_kept_over_time_is_seen_at_the_kept_weights(file):
    """The same measurement from the weights at the ends as from the variable."""
    with flowsim.open(file) as tree:
        kept = tree.to_dataset()
        ends = kept.drop_vars(["margin_gap"]).isel(time=[0, -1])
        bare = xr.DataTree(ends.assign_attrs(kept.attrs))
        found = evaluate(bare, ["li_2025.lemma_5_3"]).sel(claim="li_2025.lemma_5_3.margin_gap")
        assert float(found["measured"]) == pytest.approx(float(kept["margin_gap"][-1]), rel=1e-9)


def test_show_says_what_holds(file, capsys):
    assert main(["show", str(file)]) == 0
    page = capsys.readouterr().out
    assert "  li_2025.lemma_5_3.margin_gap: outside; 0." in page
    assert "predicted at most 1" in page
    assert "li_2025.theorem_4_7.clean_accuracy: not_applicable" in page
    assert "because: it speaks of networks with an output per cluster" in page
    assert main(["show", "--json", str(file)]) == 0
    claims = json.loads(capsys.readouterr().out)["claims"]
    assert claims["li_2025.lemma_5_3.margin_gap"]["verdict"] == "outside"
    assert claims["li_2025.theorem_4_7.clean_accuracy"]["measured"] is None
