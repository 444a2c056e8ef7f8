"""Several results in one dataset: what differs, clocks, and neurons that are or are not the same ones."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from support.made import ensemble, made, on_loss_clock, without

import flowsim
from flowsim.evaluate.spans import STAGES, spans


def saying(text: str, **sizes: int) -> xr.DataTree:
    tree = made(**sizes)
    tree.attrs["scenario"] = text
    return tree


def test_the_keys_in_which_runs_differ_are_canonical_and_have_defaults():
    one, other = '[model]\nactivation = "relu"\n', "[model]\nwidth = 9\n[data]\nnoise = { total = 0.3 }\n"
    found = flowsim.side_by_side([saying(one), saying(other)])["setting"]
    assert {str(key): found.sel(key=key).values.tolist() for key in found["key"].values} == {
        "model.activation": ['"relu"', '"prelu"'],
        "model.width": ["50", "9"],
        "model.degree": ["", "3.0"],
        "data.noise.total": ["0.1", "0.3"],
    }


def test_curves_are_those_of_each_run_at_its_own_instants():
    first, second = made(), made(seed=1, neurons=4, clusters=2, instants=7)
    found = flowsim.side_by_side([first, second])
    for place, tree in enumerate((first, second)):
        curve = found["curve"].isel(run=place, instant=slice(tree.sizes["time"]))
        np.testing.assert_array_equal(curve.sel(quantity="best_cosine"), tree["cosine"].max("cluster").median("neuron"))
        np.testing.assert_array_equal(curve.sel(quantity="smallest_margin"), tree["margin"].min("sample"))
        np.testing.assert_array_equal(curve["log_loss"], tree["log10_loss"])
        np.testing.assert_array_equal(curve["time"], tree["time"])
    assert found["curve"].isel(run=1, instant=slice(7, None)).isnull().all()


def test_on_the_clock_of_the_phases_each_part_has_a_fifth():
    tree = made()
    found = flowsim.side_by_side([tree, on_loss_clock()])
    names = [*STAGES]
    for place, clock in enumerate(("time", "log10_time")):
        run = (tree, on_loss_clock())[place].to_dataset()
        parts, at = spans(run, bool(place)), run[clock].values
        assert len(parts) > 1
        for part in parts:
            share = found["progress"].values[place][at == part.end]
            np.testing.assert_allclose(share, (names.index(part.name) + 1) / len(names), rtol=1e-12)
        assert (np.diff(found["progress"].values[place]) >= 0).all()
    assert (found["progress"].values[:, 0] == 0).all()


def test_claims_and_phases_of_any_run_are_there_and_empty_where_a_run_has_none():
    groups = {f"/{name}": node.to_dataset(inherit=False) for name, node in made().children.items() if name != "claims"}
    bare = xr.DataTree.from_dict({"/": made().to_dataset(), **groups})
    found = flowsim.side_by_side([made(), bare])
    assert found["verdict"].sel(claim="paper.one").values.tolist() == ["holds", ""]
    assert found["measured"].sel(claim="paper.two").values[0] == 0.5
    assert np.isnan(found["measured"].values[1]).all()
    np.testing.assert_array_equal(found["phase_instant"].values[0], made()["phases"]["instant"])


def test_of_an_ensemble_medians_are_told_or_a_member_is():
    tree = ensemble()
    both = flowsim.side_by_side([tree, tree])
    expected = tree["cosine"].max("cluster").isel(seed=[0, 1]).median(("seed", "neuron"))
    np.testing.assert_allclose(both["curve"].sel(quantity="best_cosine")[0], expected, rtol=1e-12)
    assert "choose its seed" in str(both["why_not_matched"].values[1])
    member = flowsim.side_by_side([tree, tree], seed=5)
    expected = tree["cosine"].sel(seed=5).max("cluster").median("neuron")
    np.testing.assert_array_equal(member["curve"].sel(quantity="best_cosine")[0], expected)
    assert (member["distance"][1] == 0).all()


def test_neurons_are_matched_only_where_they_are_the_same(small):
    run, wide = flowsim.run(small()), flowsim.run(small(model__width=8))
    rough = flowsim.run(small(flow__rtol=1e-4))
    found = flowsim.side_by_side([run, rough, wide])
    assert found["why_not_matched"].values.tolist() == ["", "", "a has 6 neurons and b has 8"]
    apart = flowsim.compare(run, rough)
    for name in ("angle", "cosine_difference", "log_norm_difference"):
        assert found["distance"].sel(measure=name)[1] == np.abs(apart[name]).max() > 0
    assert np.isnan(found["distance"].values[2]).all()


@pytest.mark.parametrize("left_out", [("cosine",), ("log10_loss", "loss"), ("log_norm", "margin")])
def test_what_runs_lack_is_empty(left_out):
    found = flowsim.side_by_side([made(), without(made(), *left_out)])
    assert found["curve"].isel(run=0).notnull().any("instant").all()
    assert not found["curve"].isel(run=1).notnull().any("instant").all()
