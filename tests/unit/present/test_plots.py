"""Every kind of plot: its labels, its legend, its colours, and how much of it there is."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

import flowsim
from flowsim.cli.page import text
from flowsim.cli.sparklines import Sheet
from flowsim.evaluate.spans import spans
from flowsim.present.kinds import KINDS, obstacles, plot
from flowsim.present.plots import cosines, phase_portrait, variable
from flowsim.present.source import Source
from flowsim.present.style import GREY, PALETTE

XOR = """
[data]
kind = "xor"
dimension = 2
samples = 40
noise = { total = 0.4 }
label_noise = 0.2
[model]
activation = "relu"
width = 8
bias = true
[init]
scale = 0.01
balanced = false
[loss]
kind = "logistic"
[flow]
method = "gradient_descent"
step = 0.2
iterations = 300
[observe]
times = 31
snapshots = 3
[evaluate]
robustness = { radii = [0.0, 0.3, 0.9], attacks = ["fgm", "strong"], samples = 30, compare = ["nearest"], steps = 20 }
"""


LONG_NAMES = {
    "alignment": "largest cosine between neuron and cluster centre",
    "norms": "natural log of the neuron's norm",
    "mass": "sum of squared norms of the neurons whose target is the cluster",
    "loss": "training loss",
    "kkt": "distance from a KKT point",
    "margins": "margin y f(x)",
    "loss_derivatives": "size of the derivative of the sample's loss in f",
    "variable": "training loss",
    "steps": "solver step size at the instant",
    "cosines": "neurons, by target cluster",
    "boundary": "feature 1",
    "robustness": "robust accuracy",
    "class_cosines": "centre of cluster",
    "data_cosines": "sample, by cluster",
    "phase_portrait": "cosine with the centre of cluster 2 (-1)",
}


#: See test_features.py.
OF_FEATURES = {
    "filters",
    "correlations",
    "exciting_inputs",
    "active_units",
    "density",
    "reconstructions",
    "lottery",
    "purity",
}


OVER_TIME = ("alignment", "norms", "mass", "loss", "margins", "loss_derivatives", "variable", "steps")


@pytest.fixture(scope="module")
def xor() -> xr.DataTree:
    """Descent on XOR data in two dimensions, some labels flipped."""
    return flowsim.run(flowsim.loads(XOR))


@pytest.fixture(scope="module")
def flow() -> xr.DataTree:
    """A pReLU network that aligns, grows and converges."""
    text = "[data]\ndimension=20\npositive=2\nnegative=2\nsamples=40\n[model]\nwidth=12\n[init]\nscale=1e-5\n"
    return flowsim.run(flowsim.loads(text + "[flow]\nuntil={time=150.0}\n"))


@pytest.fixture(scope="module")
def ensemble() -> xr.DataTree:
    text = "seed=[0, 4, 9]\n[data]\ndimension=8\npositive=2\nnegative=2\nsamples=16\n[model]\nwidth=5\n"
    return flowsim.run(flowsim.loads(text + "[flow]\nuntil={time=20.0}\n[observe]\ntimes=21"))


def colors(axes: Axes) -> set[str]:
    return {to_hex(line.get_color()).upper() for line in axes.get_lines()}


def names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - OF_FEATURES))
def test_axes_are_labelled_in_the_words_of_the_variables(draw, xor, kind):
    axes = draw(xor, kind)
    assert axes.get_ylabel().replace("\n", " ").startswith(LONG_NAMES[kind])
    assert axes.get_xlabel()
    if kind in OVER_TIME:
        assert axes.get_xlabel() == "iteration of descent"
        assert axes.get_xlim() == (0, 300)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - OF_FEATURES))
def test_no_legend_covers_data_and_nothing_is_cut_off(draw, xor, kind):
    axes = draw(xor, kind)
    if axes.get_legend() is not None:
        legend = axes.get_legend().get_window_extent()
        assert not legend.overlaps(axes.get_window_extent())
        assert axes.get_figure().bbox.x0 <= legend.x0
        assert legend.x1 <= axes.get_figure().bbox.x1
        assert legend.y0 >= axes.get_figure().bbox.y0


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - OF_FEATURES))
def test_colours_are_those_that_everybody_can_tell_apart(draw, xor, kind):
    assert colors(draw(xor, kind)) <= {*PALETTE, GREY, "#000000", "#404040"}


def test_a_part_too_narrow_to_be_seen_has_no_name_and_none_covers_another(draw):
    loss = np.select([np.arange(200) < 99, np.arange(200) < 100, np.arange(200) < 110], [1.0, 0.4, 0.2], 0.01)
    cosine = np.where(np.arange(200) < 98, 0.1, 1.0)[:, None, None]
    run = xr.Dataset(
        {
            "loss": ("time", loss),
            "log10_loss": ("time", np.log10(loss)),
            "cosine": (("time", "neuron", "cluster"), cosine),
        },
        {"time": np.arange(200.0), "target_cluster": ("neuron", [0])},
    )
    assert [span.name for span in spans(run)] == ["alignment", "growth", "convergence", "late"]
    axes = draw(run, "loss")
    assert [text.get_text() for text in axes.texts] == ["alignment", "convergence", "late"]
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(box.overlaps(other) for place, box in enumerate(boxes) for other in boxes[:place])


@pytest.mark.parametrize("kind", OVER_TIME)
def test_every_plot_over_time_has_the_parts_of_the_trajectory_behind_it(draw, flow, kind):
    axes = draw(flow, kind)
    parts = spans(flow.to_dataset())
    assert {text.get_text() for text in axes.texts} <= {span.name.replace("_", "-") for span in parts}
    assert axes.texts
    begins = [line.get_xdata()[0] for line in axes.get_lines() if line.get_linestyle() == ":" and line.get_lw() < 0.9]
    np.testing.assert_allclose(begins, [span.begin for span in parts[1:]])


def test_a_single_band_has_a_median_quartiles_and_extremes(draw, flow):
    axes = draw(flow, "alignment")
    best = flow.to_dataset().flow.best_cosine
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), best.median("neuron"))
    extremes, quartiles = (band.get_paths()[0].vertices[:, 1] for band in axes.collections[:2])
    assert (extremes.min(), extremes.max()) == (best.min(), best.max())
    assert quartiles.max() == pytest.approx(best.quantile(0.75, "neuron").max().item())


def test_a_band_for_each_target_is_over_the_neurons_that_have_it(draw, flow):
    run = flow.to_dataset()
    axes = draw(flow, "alignment", clusters=[1])
    own = run.flow.best_cosine.isel(neuron=np.flatnonzero(run["target_cluster"] == 1))
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), own.median("neuron"))
    assert len(names(draw(flow, "alignment", by_cluster=True))) == len(set(run["target_cluster"].values) - {-1})


def test_of_many_clusters_there_is_a_colour_for_each_label(draw):
    text = "[data]\ndimension=30\npositive=8\nnegative=8\nsamples=32\n[model]\nwidth=100\n"
    axes = draw(flowsim.run(flowsim.loads(text + "[flow]\nuntil={time=2.0}\n")), "mass")
    assert [name.split(" cl")[1] for name in names(axes)[:2]] == ["usters labelled +1", "usters labelled -1"]
    assert len(axes.get_lines()) > 14


def test_clean_and_flipped_labels_have_bands_of_their_own(draw, xor):
    axes, run = draw(xor, "margins"), xor.to_dataset()
    flipped = (run["label"] != run["clean_label"]).values
    assert names(axes) == [f"clean labels ({(~flipped).sum()})", f"flipped labels ({flipped.sum()})"]
    lines = [line.get_ydata() for line in axes.get_lines() if len(line.get_ydata()) == 31]
    np.testing.assert_allclose(lines[1], np.median(run["margin"].values[:, flipped], axis=1))


def test_the_heat_map_shows_the_whole_range_and_every_neuron_once(draw, flow):
    found = cosines.series(Source.of(flow), at=30.0)
    run = flow.to_dataset()
    assert sorted(found.neuron) == list(range(12))
    np.testing.assert_array_equal(found.cosine, run["cosine"].sel(time=30, method="nearest").values[found.neuron])
    targets = run["target_cluster"].values[found.neuron]
    assert targets.tolist() == sorted(targets, key=lambda target: (target < 0, target))
    image = draw(flow, "cosines").images[0]
    assert image.get_clim() == (-1, 1)
    luminance = image.get_cmap()(np.linspace(0, 1, 65))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance[:30]) > 0).all()  # a reader who sees no colours sees how far from 0 it is
    assert (np.diff(luminance[35:]) < 0).all()
    assert draw(flow, "cosines", at=0.0).get_title() == "flow time 0"


def test_the_portrait_has_a_trail_for_each_neuron_along_the_centres_asked_for(draw, flow):
    found = phase_portrait.series(Source.of(flow), clusters=(3, 0))
    np.testing.assert_array_equal(found.x, flow["cosine"][:, :, 3])
    np.testing.assert_array_equal(found.y, flow["cosine"][:, :, 0])
    trails = [line for line in draw(flow, "phase_portrait").get_lines() if len(line.get_xdata()) == len(flow["time"])]
    assert len([line for line in trails if line.get_lw() < 1]) >= 12
    with pytest.raises(flowsim.UsageError, match="two different clusters out of 0 to 3, not 1, 7"):
        plot(flow, "phase_portrait", clusters=[1, 7])


def test_the_boundary_is_where_the_network_changes_its_mind(draw, xor):
    from flowsim.present.plots import boundary

    found, problem = boundary.series(Source.of(xor)), flowsim.build(flowsim.loads(XOR))
    np.testing.assert_array_equal(found.samples, problem.inputs)
    columns = np.abs(found.x[:, None] - found.samples[:, 0]).argmin(axis=0)
    rows = np.abs(found.y[:, None] - found.samples[:, 1]).argmin(axis=0)
    margin = xor["margin"][-1].values
    at_samples = found.fields[0][rows, columns] * found.label
    sure = np.abs(margin) > 0.05  # a sample beside the boundary may have its grid point on the other side
    assert sure.sum() > 20
    assert (np.sign(at_samples) == np.sign(margin))[sure].all()
    assert draw(xor, "boundary", at=0.0).get_title() == "iteration of descent 0"


def test_of_several_outputs_every_class_has_its_boundary(draw):
    text = (
        '[data]\ndimension=2\npositive=1\nnegative=1\nsamples=8\nsupervision="cluster"\n[loss]\nkind="cross_entropy"\n'
    )
    run = flowsim.run(
        flowsim.loads(
            text + '[model]\nwidth=4\nactivation="relu"\n[flow]\nuntil={time=5.0}'
            "\n[evaluate]\nrobustness = { radii = [0.0, 0.5], samples = 10 }"
        )
    )
    from flowsim.present.plots import boundary

    fields = boundary.series(Source.of(run)).fields
    assert fields.shape[0] == 2
    np.testing.assert_array_equal(fields[0], -fields[1])
    # networks of several outputs have no certificates; these inputs are no images, and nothing of features was asked for
    impossible = {"kkt", "filters", "exciting_inputs", "active_units", "density", "reconstructions"}
    for kind, why in obstacles(run).items():
        assert bool(why) == (kind in impossible), kind
        if not why:
            draw(run, kind)


def test_weak_and_strong_attacks_stand_side_by_side_and_other_classifiers_have_the_strongest(draw, xor):
    axes, group = draw(xor, "robustness"), xor["robustness"]
    assert names(axes) == ["network, fgm", "network, strong", "nearest, strong"]
    found = [line.get_ydata() for line in axes.get_lines()]
    np.testing.assert_array_equal(found[0], group["robust_accuracy"].sel(classifier="network", attack="fgm"))
    np.testing.assert_array_equal(found[2], group["robust_accuracy"].sel(classifier="nearest", attack="strong"))


def test_between_what_is_certified_and_what_the_attack_leaves_there_is_a_band(draw, xor):
    group = xor["robustness"].to_dataset()
    certified = group["robust_accuracy"].min("attack") / 2
    axes = draw(Source(xor.to_dataset(), {"robustness": group.assign(certified_accuracy=certified)}), "robustness")
    assert names(axes)[0] == "network, certified to attacked"
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    of_network = group["robust_accuracy"].sel(classifier="network", attack="strong")
    assert (heights.min(), heights.max()) == (of_network.min() / 2, of_network.max())


@pytest.mark.filterwarnings("ignore:relu has a kink")
def test_networks_of_several_layers_and_linear_ones_are_drawn_as_far_as_they_have_what_it_takes(draw):
    from flowsim.present.plots import boundary, norms

    text = (
        "[data]\ndimension=2\npositive=1\nnegative=1\nsamples=24\n"
        '[flow]\nmethod="gradient_descent"\nstep=0.1\niterations=200\n'
    )
    deep = text + '[init]\nscale=0.5\n[model]\nkind="mlp"\nwidths=[8, 6]\nbias=true\n'
    features = text + '[model]\nkind="ntk_features"\nthreshold=0.3\nsmoothing=0.5\n'
    for scenario in (deep, features, text + '[model]\nkind="linear"\n[loss]\nkind="logistic"\n'):
        run = flowsim.run(flowsim.loads(scenario))
        found = boundary.series(Source.of(run))
        columns = np.abs(found.x[:, None] - found.samples[:, 0]).argmin(axis=0)
        rows = np.abs(found.y[:, None] - found.samples[:, 1]).argmin(axis=0)
        margin = run["margin"][-1].values
        sure = np.abs(margin) > 0.05
        assert sure.sum() > 10
        assert (np.sign(found.fields[0][rows, columns] * found.label) == np.sign(margin))[sure].all()
        assert norms.series(Source.of(run)).bands
        for kind, why in obstacles(run).items():
            if not why:
                draw(run, kind)


def test_neurons_without_targets_are_sorted_by_the_centre_they_end_closest_to(draw):
    text = '[data]\ndimension=6\npositive=2\nnegative=1\nsamples=24\n[model]\nkind="mlp"\nwidths=[7, 5]\n'
    run = flowsim.run(flowsim.loads(text + '[flow]\nmethod="gradient_descent"\nstep=0.1\niterations=50\n'))
    assert "target_cluster" not in run
    found = cosines.series(Source.of(run))
    closest = run["cosine"].isel(time=-1).argmax("cluster").values[found.neuron]
    assert (np.diff(closest) >= 0).all()
    assert "the centre that they end closest to" in draw(run, "cosines").get_ylabel()
    assert all(name.startswith("closest to") for name in names(draw(run, "phase_portrait")))


def test_an_ensemble_is_summarised_or_one_member_is_picked(draw, ensemble):
    run = ensemble.to_dataset()
    np.testing.assert_allclose(draw(ensemble, "loss").get_lines()[0].get_ydata(), run["loss"].median("seed"))
    of_one = draw(ensemble, "loss", seed=4).get_lines()[0].get_ydata()
    np.testing.assert_array_equal(of_one, run["loss"].sel(seed=4))
    pooled = draw(ensemble, "alignment").get_lines()[0].get_ydata()
    np.testing.assert_allclose(pooled, run.flow.best_cosine.median(["seed", "neuron"]))
    needing_one = {kind for kind, why in obstacles(ensemble).items() if "choose its seed" in why}
    of_weights = {"filters", "correlations", "lottery", "purity", "class_cosines", "data_cosines"}
    assert needing_one - of_weights == {"cosines", "phase_portrait", "steps", "boundary"}
    for kind in needing_one - {"boundary", "filters", "class_cosines"}:
        draw(ensemble, kind, seed=9)


def test_a_member_that_has_not_run_is_left_out(draw, ensemble):
    ran = ensemble.to_dataset()
    kept = ran.map(lambda values: values.where(ran["seed"] != 4) if "seed" in values.dims else values)
    signs = ran["neuron_sign"].where(ran["seed"] != 4, 0), ran["target_cluster"].where(ran["seed"] != 4, -1)
    kept = kept.assign_coords(neuron_sign=signs[0], target_cluster=signs[1])
    names_of = [label for label in names(draw(kept, "norms")) if "void" not in label]
    counts = [int(label.rpartition("(")[2][:-1]) for label in names_of]
    assert sum(counts) == int(((ran["target_cluster"] >= 0) & (ran["seed"] != 4)).sum())
    for kind in ("alignment", "mass", "loss", "margins"):
        of_others = draw(ran.sel(seed=[0, 9]), kind).get_lines()[0].get_ydata()
        np.testing.assert_allclose(draw(kept, kind).get_lines()[0].get_ydata(), of_others)
    with pytest.raises(flowsim.UsageError, match="member of seed 4 has not run"):
        plot(kept, "loss", seed=4)


def test_a_log_axis_of_time_leaves_time_0_out(draw, flow):
    axes = draw(flow, "loss", log_time=True)
    assert axes.get_xscale() == "log"
    assert axes.get_xlim()[0] == flow["time"][1]


@pytest.mark.parametrize("seed", [0, [0, 1]], ids=["single", "ensemble"])
@pytest.mark.parametrize("loss", ["loss", "log10_loss"])
def test_the_loss_of_held_out_samples_is_beside_the_training_loss(seed, loss, small, draw):
    test = {"loss": "test_loss", "log10_loss": "log10_test_loss"}[loss]
    asked = {"data__test": {"samples": 30}, "observe__variables": [loss, test, "test_accuracy"]}
    run = flowsim.run(small(seed=seed, **asked))
    axes = draw(run, "loss", **({} if seed == 0 else {"seed": 1}))
    names = [line.get_label() for line in axes.get_lines()]
    assert [name for name in names if not name.startswith("_")] == ["training samples", "held-out samples"]
    assert "training" not in axes.get_ylabel()
    chosen = run[test] if seed == 0 else run[test].sel(seed=1)
    assert any(np.array_equal(line.get_ydata(), chosen) for line in axes.get_lines())
    shown = [
        line for line in text(run, Sheet()).splitlines() if line.startswith(("  log10_test_loss ", "  test_accuracy "))
    ]
    assert len(shown) == (2 if test == "log10_test_loss" else 1)


@pytest.mark.parametrize(("largest", "scale"), [(1.001, "linear"), (100.0, "log")])
def test_a_log_axis_is_for_what_reaches_over_more_than_its_ticks(draw, flow, largest, scale):
    root = flow.to_dataset()
    root["loss"] = root["loss"].copy(data=np.geomspace(1.0, largest, root.sizes["time"]))
    assert draw(root.drop_vars("log10_loss"), "loss").get_yscale() == scale


def test_a_run_in_stages_has_its_stages_behind_it(draw):
    text = "[data]\ndimension=8\npositive=1\nnegative=1\nsamples=16\n[model]\nwidth=5\n[observe]\ntimes=5\n"
    stage = '[[stage]]\nname="{}"\nmethod="gradient_descent"\nstep=0.1\niterations={}\n'
    run = flowsim.run(flowsim.loads(text + stage.format("first", 20) + stage.format("second", 30)))
    assert [(part.name, part.begin, part.end) for part in Source.of(run).parts] == [
        ("first", 0.0, 20.0),
        ("second", 20.0, 50.0),
    ]
    assert [part.end for part in Source.of(run, by_time=True).parts] == pytest.approx([2.0, 5.0])
    axes = draw(run, "loss")
    assert {"first", "second"} <= {text.get_text() for text in axes.texts}


def test_a_group_that_is_not_there_is_answered_with_what_makes_it(flow):
    with pytest.raises(flowsim.UsageError, match=r"group robustness.*\[evaluate\.robustness\]"):
        plot(flow, "robustness")
    with pytest.raises(flowsim.UsageError, match="draw from the file"):
        plot(flow.to_dataset(), "robustness")


def test_a_plot_can_be_one_of_several_in_a_figure(flow):
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    assert flow.to_dataset().flow.plot.norms(ax=right) is right
    assert right.get_lines()
    assert not left.get_lines()


def test_a_huge_run_is_summarised_before_it_is_drawn(draw):
    generator, time = np.random.default_rng(0), np.arange(2000.0)
    cosine = generator.uniform(-1, 1, (2000, 400, 3))
    known = {"target_cluster": np.arange(400) % 3, "neuron_sign": np.ones(400)}
    run = xr.Dataset(
        {"cosine": (("time", "neuron", "cluster"), cosine)},
        {"time": time, "cluster_label": ("cluster", [1, 1, 1]), **{k: ("neuron", v) for k, v in known.items()}},
    )
    assert len(draw(run, "alignment").get_lines()[0].get_xdata()) == 500
    assert "200 of 400 neurons" in draw(run, "phase_portrait").get_legend().get_title().get_text()


def test_unknown_kinds_and_options_are_answered_with_what_there_is(flow):
    with pytest.raises(flowsim.UsageError, match='"margin"; did you mean "margins"'):
        plot(flow, "margin")
    with pytest.raises(flowsim.UsageError, match="loss: takes no at; it takes seed, log_time"):
        plot(flow, "loss", at=3.0)
    with pytest.raises(flowsim.UsageError, match="cosines: takes no log_time; it takes at, seed"):
        plot(flow, "cosines", log_time=True)
    with pytest.raises(AttributeError, match="no plot is called 'rum'"):
        _ = flow.to_dataset().flow.plot.rum
    assert dir(flow.to_dataset().flow.plot) == sorted(KINDS)


def test_any_variable_has_a_line_for_each_of_few_entries_and_a_band_of_many(flow):
    source = Source.of(flow)
    masses = variable.series(source, of="cluster_mass")
    assert [band.label for band in masses.bands] == [f"cluster {cluster}" for cluster in range(4)]
    for cluster, band in enumerate(masses.bands):
        np.testing.assert_array_equal(band.median, flow["cluster_mass"].values[masses.clock.index, cluster])
    (cosines,) = variable.series(source, of="cosine").bands
    assert (cosines.label, cosines.count) == ("all 48 entries", 48)
    medians = np.median(flow["cosine"].values.reshape(len(flow["time"]), -1), axis=1)
    np.testing.assert_allclose(cosines.median, medians[masses.clock.index])


def test_entries_are_called_what_their_coordinate_calls_them_and_empty_ones_are_left_out():
    text = "[data]\nsamples=8\npositive=1\nnegative=1\n[model]\nwidth=4\n[flow]\nuntil={time=1.0}\n[observe]\ntimes=3\n"
    run = flowsim.run(flowsim.loads(text + 'variables = ["leaf_norm", "sharpness"]\neigenvalues = 2'))
    run["sharpness"][:, 1] = np.nan
    found = [variable.series(Source.of(run), of=name) for name in ("leaf_norm", "sharpness")]
    assert [[band.label for band in bands.bands] for bands in found] == [["hidden", "output"], ["eigenvalue 0"]]


def test_a_variable_that_was_not_kept_is_answered_with_the_nearest(flow):
    with pytest.raises(flowsim.UsageError, match=r'variable: no variable over time is called los; did you mean "loss"'):
        plot(flow, "variable", of="los", interactive=False)
