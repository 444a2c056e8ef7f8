"""Plots of what layers learn, from a run in three stages: the second draws a layer anew, and freezes the one below."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.kinds.trees import in_float64
from flowsim.present.features import DRAWN, Kept, cosines, mosaic
from flowsim.present.kinds import obstacles, plot
from flowsim.present.plots import (
    active_units,
    correlations,
    density,
    exciting_inputs,
    filters,
    lottery,
    purity,
    reconstructions,
)
from flowsim.present.source import Source

OF_FEATURES = {
    "filters": "",
    "correlations": "units, a row for each layer",
    "exciting_inputs": "a row for each unit",
    "active_units": "share of active units",
    "density": "squared norm of what is left",
    "reconstructions": "inputs, what features make of them",
    "lottery": "|cosine| with own weights at the end of robust",
    "purity": "|cosine| of a unit with features",
}
STAGE = {"method": "sgd", "step": 0.05, "batch": 20, "iterations": 4}
FROZEN = {"conv_1": 0.0, "norm_1_*": 0.0}
SCENARIO = {
    "data": {"kind": "digits", "supervision": "cluster", "samples": 60, "test": {"fraction": 0.3}},
    "model": {"kind": "conv", "channels": [4, 6], "norm": "batch"},
    "init": {"shape": "he"},
    "loss": {"kind": "cross_entropy"},
    "stage": [
        {**STAGE, "name": "robust", "attack": {"kind": "fgm", "radius": 0.5}},
        {**STAGE, "name": "clean", "rates": FROZEN, "redraw": ["conv_2", "norm_2_*", "output"]},
        {**STAGE, "name": "adversarial", "rates": FROZEN, "attack": {"kind": "fgm", "radius": 0.5}},
    ],
    "observe": {"times": 2, "variables": ["loss"], "snapshots": "all"},
    "evaluate": {
        "features": {"units": 5, "starts": 2, "steps": 100, "samples": 100},
        "density": {"radius": 0.5, "penalties": [0.02, 0.2], "samples": 3},
    },
}
ENDS = ["start", "robust", "clean", "adversarial"]


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return flowsim.run(flowsim.Scenario(SCENARIO))


@pytest.fixture(scope="module")
def source(run) -> Source:
    return Source.of(run)


def preactivations(case: flowsim.Case, at: int) -> dict[str, np.ndarray]:
    """At the training samples, layer by layer."""
    params, network = case.params_at(at), case.problem.network
    found = in_float64(network.preactivations)(params, case.problem.inputs)
    return {name: np.asarray(array) for name, array in found.items()}


@pytest.mark.parametrize("kind", OF_FEATURES)
def test_axes_are_labelled_and_legends_cover_nothing(run, kind):
    axes = plot(run, kind, interactive=False)
    axes.get_figure().draw_without_rendering()
    assert axes.get_ylabel().replace("\n", " ").startswith(OF_FEATURES[kind])
    assert axes.get_xlabel()
    if axes.get_legend() is not None:
        assert not axes.get_legend().get_window_extent().overlaps(axes.get_window_extent())


def test_a_frozen_layer_stays_and_one_that_is_drawn_anew_begins_elsewhere(run):
    conv_1, conv_2 = (run[name].values for name in ("conv_1", "conv_2"))
    assert not np.array_equal(conv_1[0], conv_1[1])
    np.testing.assert_array_equal(conv_1[1], conv_1[2])
    np.testing.assert_array_equal(conv_1[1], conv_1[3])
    drawn = run["redrawn/conv_2"].values[0]
    assert run["redrawn/redrawing_stage"].values.tolist() == ["clean"]
    # as [init] draws, but not what it drew at time 0; and the stage has begun there, not where the one before ended
    assert drawn.std() == pytest.approx(conv_2[0].std(), rel=0.2)
    assert np.abs(drawn - conv_2[0]).max() > 0.1
    assert np.abs(conv_2[2] - drawn).max() < np.abs(conv_2[2] - conv_2[1]).max()
    np.testing.assert_array_equal(run["redrawn/norm_2_scale"].values[0], 1.0)


def test_filters_are_the_first_layers_at_the_ends(run, source):
    found = filters.series(source)
    assert list(found.at) == ENDS
    np.testing.assert_array_equal(found.tiles, run["conv_1"].values)


def test_correlations_leave_out_frozen_layers_and_begin_where_a_layer_was_drawn(run, source):
    found = correlations.series(source).of
    assert list(found) == ["conv_2", "output"]
    drawn, clean, robust = (
        rows.reshape(6, -1) for rows in (run["redrawn/conv_2"].values[0], *run["conv_2"].values[2:])
    )
    pairs = found["conv_2"]
    assert list(pairs) == [f"{DRAWN}, clean", f"{DRAWN}, adversarial", "clean, adversarial", "different units, clean"]
    for pair, (a, b) in zip(pairs, [(drawn, clean), (drawn, robust), (clean, robust)], strict=False):
        np.testing.assert_allclose(
            pairs[pair], np.abs((a * b).sum(1)) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        )
    assert len(pairs["different units, clean"]) == 15


def test_inputs_excite_their_unit_more_than_any_sample_of_their_norm_does(run, source):
    case, group = flowsim.reopen(run), run["features"]
    inputs, response = group["exciting_input"].values.astype(float), group["excitation"].values
    size = np.linalg.norm(case.problem.inputs, axis=1).mean()
    # the first layer is linear but for the normalisation, so there is but one such input
    first = inputs[-1, 0, :4]
    np.testing.assert_allclose(np.linalg.norm(first, axis=-1), size, rtol=0.02)
    assert cosines(first[:, 0], first[:, 1]).min() > 0.99
    middle = first[:, 0].reshape(4, 8, 8)[:, 3:6, 3:6]
    np.testing.assert_allclose(cosines(middle.reshape(4, 9), run["conv_1"].values[-1].reshape(4, 9)), 1.0, atol=1e-3)
    seen = preactivations(case, -1)["conv_2"]
    assert np.all(response[-1, 1, :5].max(axis=1) > seen[:, :5, 2, 2].max(axis=0))
    # a layer of 4 channels has no fifth
    assert np.isnan(inputs[:, 0, 4]).all()
    assert len(exciting_inputs.series(source).rows) == 9
    assert len(exciting_inputs.series(source, of="conv_1").rows) == 4
    with pytest.raises(flowsim.UsageError, match="there are conv_1, conv_2"):
        exciting_inputs.series(source, of="conv_9")


def test_active_units_are_those_above_zero(run, source):
    case, found = flowsim.reopen(run), active_units.series(source)
    assert found.layers == ("conv_1", "conv_2")
    assert found.share.shape == (4, 2)
    seen = preactivations(case, 1)
    assert found.share[1] == pytest.approx([(seen[name] > 0).mean() for name in found.layers])


def test_smaller_penalties_use_more_features_and_leave_less(source):
    found = density.series(source)
    assert list(found.at) == ENDS
    for share, left in (found.inputs, found.perturbations):
        assert np.all(share[:, 0] > share[:, 1])
        assert np.all(left[:, 0] < left[:, 1])


def test_reconstructions_are_those_whose_residuals_are_told(run, source):
    found, group = reconstructions.series(source), run["density"]
    assert len(found.rows) == 1 + 2 * len(ENDS)
    assert found.tiles.shape == (9, 3, 1, 8, 8)
    inputs, made, moved = np.split(found.tiles.reshape(9, 3, 64), [1, 5])
    np.testing.assert_allclose(inputs.mean(axis=2), 0, atol=1e-7)
    for rows in (inputs, moved):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=2), 1, rtol=1e-6)
    # the same minimum found from elsewhere, until coefficients change by a part of 1e-4
    left = ((made - inputs) ** 2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(left, group["input_residual"].sel(penalty=0.02), rtol=0.02)


def test_tickets_end_where_they_end_and_winners_are_the_largest(run, source):
    found = lottery.series(source)
    np.testing.assert_allclose(found.cosine[1], 1.0)
    size = np.linalg.norm(run["conv_1"].values[1].reshape(4, -1), axis=1)
    assert np.flatnonzero(found.won).tolist() == [size.argmax()]


def test_purity_is_measured_against_the_end(source):
    own, others = purity.series(source).bands
    np.testing.assert_allclose(own.quantiles[:, -1], 1.0)
    assert own.median[0] < 1
    assert np.all(others.median < own.median)


def test_purity_of_sparse_coding_is_that_of_its_features():
    asked = ["pure_part", "dense_mixture"]
    keys = {
        "data": {"kind": "sparse_coding", "dimension": 6, "sparsity": 2.0, "samples": 20},
        "model": {"width": 4},
        "flow": {"until": {"time": 1.0}},
        "observe": {"times": 3, "variables": asked},
    }
    source = Source.of(flowsim.run(flowsim.Scenario(keys)))
    assert [band.label for band in purity.series(source).bands] == ["pure part", "dense mixture"]


def test_what_a_plot_needs_is_named():
    keys = {"data": {"dimension": 5, "samples": 12}, "model": {"width": 3}, "flow": {"until": {"time": 0.1}}}
    run = flowsim.run(flowsim.Scenario(keys))
    assert "evaluate.features" in obstacles(run)["exciting_inputs"]
    assert "evaluate.density" in obstacles(run)["density"]
    assert "sees images" in obstacles(run)["filters"]
    bare = flowsim.run(flowsim.Scenario({**keys, "observe": {"snapshots": "none"}}))
    assert "observe.snapshots" in obstacles(bare)["correlations"]


def test_the_page_shows_what_layers_of_images_have_learned(run, tmp_path):
    flowsim.write_report(run, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    # and data_cosines
    assert page.count('<figure class="picture"><img src="data:image/png;base64,') == len(OF_FEATURES) + 1
    bare = run.drop_nodes(["features", "density"])
    flowsim.write_report(bare, tmp_path / "bare.html")
    page = (tmp_path / "bare.html").read_text(encoding="utf-8")
    assert page.count('<figure class="picture">') == len(OF_FEATURES) - 4 + 1


def test_neurons_of_images_are_filters():
    keys = {"data": {"kind": "digits", "samples": 20}, "model": {"width": 3}, "flow": {"until": {"time": 0.1}}}
    run = flowsim.run(flowsim.Scenario(keys))
    np.testing.assert_array_equal(Kept.of(Source.of(run)).filters.reshape(2, 3, 64), run["direction"].values)


def test_a_mosaic_shows_each_image_between_black_and_white():
    tiles = np.zeros((1, 2, 1, 2, 2))
    tiles[0, 0, 0] = [[4.0, 0.0], [0.0, -2.0]]
    found = mosaic(tiles)
    np.testing.assert_array_equal(found[:2, :2, 0], [[1.0, 0.5], [0.5, 0.25]])
    np.testing.assert_array_equal(found[:2, 3:5], 0.5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stage[0].redraw": ["output"]}, "stage[0].redraw: the first stage begins with what"),
        ({"stage[1].redraw": ["cnv_2"]}, 'stage[1].redraw[0]: unknown array; did you mean "conv_2"'),
        ({"stage[1].rates": {"con_*": 0.0}}, "stage[1].rates.con_*: unknown array"),
        ({"evaluate.features.layers": ["conv_3"]}, 'evaluate.features.layers[0]: no hidden layer is called "conv_3"'),
        ({"model": {"kind": "mlp"}}, "stage[1].redraw: only for networks"),
    ],
)
def test_what_does_not_go_is_answered(changes, said):
    with pytest.raises(flowsim.ScenarioError) as raised:
        flowsim.run(flowsim.Scenario(SCENARIO).replace(changes))
    assert said in str(raised.value)
