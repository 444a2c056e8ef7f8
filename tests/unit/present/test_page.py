"""The report's builder, without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
import xarray as xr
from support.made import ensemble, made, tiny, without

import flowsim
from flowsim.present.page.build import page
from flowsim.present.page.curves import OWN_CURVES, Absent, Figure, figures
from flowsim.present.page.fit import over_input
from flowsim.present.page.frames import FRAMES, NEURONS, UNIT, frames
from flowsim.present.run import Run
from flowsim.present.source import MAX_INSTANTS

pytest.importorskip("plotly")

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Outline(HTMLParser):
    """Checks that elements are nested, and remembers what matters of them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data + " "


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    return found


def unpacked(text: str, key: str) -> str:
    packed = re.search(rf'id="{key}">([^<]*)</script>', text)
    assert packed
    return gzip.decompress(base64.b64decode(packed[1])).decode()


def numbers(text: str) -> list[dict[str, Any]]:
    return json.loads(unpacked(text, "numbers"))


def run_of(tree: xr.DataTree, name: str = "made.nc", seed: int | None = None) -> Run:
    return Run.of(name, tree, seed)


def test_a_page_is_sound_and_says_what_matters():
    text = page([run_of(made())])
    found = outline(text)
    assert "a <made> run & more" in found.text
    assert "Claims: 1 hold, 1 fail" in found.text
    for words in (
        "done",
        "reached time 10",
        "paper.two",
        "fails",
        "b <= 1 (0.1, margin 0.9)",
        "b = 0.1 (chosen)",
        "Theorem 2",
        "median_alignment",
        "a < b",
    ):
        assert words in found.text
    plots = [attributes for _, attributes in found.elements if attributes.get("class") == "plot"]
    assert len(plots) == 10
    assert all(plot["role"] == "img" and len(plot["aria-label"] or "") > 20 for plot in plots)


def test_a_page_asks_nothing_of_the_network():
    text = page([run_of(made())])
    for _, attributes in outline(text).elements:
        for name in ("src", "href", "srcset", "action", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:"))
    assert "http" not in re.sub(r'<script type="application/gzip".*?</script>', "", text)
    assert "url(" not in text
    assert "@import" not in text


def test_what_is_drawn_is_what_the_run_says():
    tree = made()
    (drawn,) = numbers(page([run_of(tree)]))
    by_key = {figure["key"]: figure for figure in drawn["figures"]}
    np.testing.assert_allclose(by_key["loss"]["curves"][0]["y"], tree["log10_loss"], rtol=1e-5)
    best = tree["cosine"].max("cluster")
    band, median = by_key["alignment"]["curves"]
    np.testing.assert_allclose(median["y"], best.median("neuron"), rtol=1e-5)
    np.testing.assert_allclose(band["low"], best.quantile(0.25, "neuron"), rtol=1e-5)
    np.testing.assert_allclose(band["high"], best.quantile(0.75, "neuron"), rtol=1e-5)
    assert [curve["name"] for curve in by_key["mass"]["curves"]] == [
        "cluster 0 (+)",
        "cluster 1 (−)",
        "cluster 2 (+)",
        "neurons with no target",
    ]
    assert [phase["name"] for phase in drawn["phases"]] == sorted(
        (phase["name"] for phase in drawn["phases"]),
        key=lambda name: float(tree["phases"]["instant"].sel(phase=name)),
    )


def test_frames_hold_every_cosine_of_a_small_run_sorted_by_the_last_centre():
    tree = made(neurons=7, clusters=3)
    found = frames(run_of(tree))
    assert isinstance(found, dict)
    packed = np.frombuffer(base64.b64decode(found["cosine"]), "<i2").reshape(12, 7, 3) / UNIT
    assert sorted(found["neurons"]) == list(range(7))
    np.testing.assert_allclose(packed, tree["cosine"].values[:, found["neurons"]], atol=1 / UNIT)
    ends = packed[-1].argmax(axis=1)
    assert (np.diff(ends) >= 0).all()
    np.testing.assert_allclose(
        found["size"], np.exp(tree["log_norm"].values[:, found["neurons"]] - tree["log_norm"].values.max())
    )


def test_a_large_run_makes_a_small_page():
    tree = made(samples=5000, neurons=200, clusters=20, instants=400)
    text = page([run_of(tree)])
    assert len(text.encode()) < 10_000_000
    (drawn,) = numbers(text)
    assert len(drawn["frames"]["at"]) == FRAMES
    mass = next(figure for figure in drawn["figures"] if figure["key"] == "mass")
    assert tree.sizes["cluster"] > OWN_CURVES > len(mass["curves"])


def test_a_run_of_many_neurons_and_instants_is_thinned_from_end_to_end():
    run = run_of(made(samples=4, neurons=1000, clusters=40, instants=1000))
    found = frames(run)
    assert isinstance(found, dict)
    assert len(found["neurons"]) <= NEURONS
    assert (found["at"][0], found["at"][-1]) == (0.0, 10.0)
    assert run.trajectory.sizes["time"] == MAX_INSTANTS


@pytest.mark.parametrize(
    ("left_out", "absent"),
    [
        (["cosine"], {"alignment", "frames"}),
        (["log_norm"], {"norms"}),
        (["log10_loss", "loss"], {"loss"}),
        (["margin", "loss_derivative"], {"margins", "loss_derivatives"}),
        (["cluster_mass", "void_mass", "accuracy"], {"mass", "accuracy"}),
    ],
    ids=lambda names: "-".join(sorted(names)),
)
def test_what_a_file_lacks_is_named_and_the_rest_is_shown(left_out, absent):
    found = outline(page([run_of(without(made(), *left_out))]))
    said = {attributes["data-absent"] for _, attributes in found.elements if "data-absent" in attributes}
    # a square loss has no KKT certificates
    assert said == absent
    assert left_out[0] in found.text


@pytest.mark.parametrize(
    "names", [["loss"], ["cosine"], ["loss", "log_norm", "margin"]], ids=lambda names: "-".join(names)
)
@pytest.mark.parametrize("tree", [made(), ensemble()], ids=["run", "ensemble"])
def test_what_somebody_has_kept_of_a_result_is_shown(tree, names):
    """Some variables of the root group, no other group, and no attribute but the version."""
    part = tree.to_dataset()[names]
    part.attrs = {"flowsim_version": "0.1.0"}
    text = page([run_of(xr.DataTree(part))])
    keys = {"loss": ["loss"], "cosine": ["alignment"], "loss-log_norm-margin": ["loss", "norms", "margins"]}
    assert [figure["key"] for figure in numbers(text)[0]["figures"]] == keys["-".join(names)]
    words = outline(text).text
    for said in ("the file does not say how the run ended", "No claims:", "Solver step size: not shown"):
        assert said in words
    assert ("Neurons through time: not shown" in words) == (names != ["cosine"])


def test_phases_are_found_again_where_their_group_is_gone():
    tree = made()
    assert run_of(xr.DataTree(tree.to_dataset())).phases == run_of(tree).phases != []


def test_quantiles_per_cluster_stand_in_for_samples():
    tree = made()
    quantile = np.array([0.0, 0.5, 1.0])
    values = np.arange(12.0)[:, None, None] + np.array([0.0, 10.0, 20.0])[:, None] + quantile
    root = tree.to_dataset().drop_vars("margin")
    root = root.assign(margin_quantile=(("time", "cluster", "quantile"), values)).assign_coords(quantile=quantile)
    run = run_of(xr.DataTree.from_dict({"/": root}))
    drawn = {figure.key: figure for figure in figures(run) if isinstance(figure, Figure)}
    whole, medians, middle = drawn["margins"].curves
    np.testing.assert_array_equal(whole["low"], np.arange(12.0))
    np.testing.assert_array_equal(whole["high"], np.arange(12.0) + 21)
    np.testing.assert_array_equal(medians["high"], np.arange(12.0) + 20.5)
    np.testing.assert_array_equal(middle["y"], np.arange(12.0) + 10.5)


def test_runs_stand_side_by_side_under_their_names():
    found = outline(page([run_of(made(), "a.nc"), run_of(made(seed=1), "b.nc")]))
    assert {"heat-0", "heat-1", "loss-0", "loss-1"} <= set(found.ids)
    assert "a.nc" in found.text
    assert "b.nc" in found.text


def test_several_runs_begin_with_what_differs_and_are_drawn_on_one_axis():
    first, second = made(), made(seed=1, neurons=4, clusters=2, instants=7)
    first.attrs["scenario"], second.attrs["scenario"] = "[model]\nwidth = 6\n", "[model]\nwidth = 4\n"
    text = page([run_of(first, "a.nc"), run_of(second, "b.nc")])
    found = outline(text)
    assert "model.width 6 4" in " ".join(found.text.split())
    assert "The neurons of a.nc and b.nc are not matched: a has 6 neurons and b has 4" in found.text
    assert "✓ holds (0.05)" in found.text
    drawn = json.loads(unpacked(text, "beside"))
    assert [clock["key"] for clock in drawn["clocks"]] == ["time", "log_time", "log_loss", "progress"]
    (best,) = (quantity for quantity in drawn["quantities"] if quantity["key"] == "best_cosine")
    expected = second["cosine"].max("cluster").median("neuron")
    np.testing.assert_allclose(best["curves"][1][:7], expected, rtol=1e-5)
    assert best["curves"][1][7:] == [None] * 5
    assert {f"overlaid-{quantity['key']}" for quantity in drawn["quantities"]} <= set(found.ids)


def test_a_single_run_has_no_comparison():
    assert json.loads(unpacked(page([run_of(made())]), "beside")) is None


def test_the_head_says_what_ran_and_the_title_is_the_user_s_own_words():
    tree = made()
    tree.attrs |= {
        "title": "pReLU neurons align",
        "scenario": '[model]\nactivation = "relu"\n[loss]\nkind = "square"\n',
    }
    text = page([run_of(tree)])
    assert "<h1>relu, 6 neurons, square loss</h1>" in text
    assert "<title>relu, 6 neurons, square loss</title>" in text
    assert "Title in the scenario: “pReLU neurons align”" in text


def test_sizes_of_loss_derivatives_are_drawn_on_a_log_axis():
    tree = made()
    (drawn,) = numbers(page([run_of(tree)]))
    (figure,) = (figure for figure in drawn["figures"] if figure["key"] == "loss_derivatives")
    assert figure["log"]
    median = next(curve for curve in figure["curves"] if "y" in curve)
    np.testing.assert_allclose(median["y"], np.abs(tree["loss_derivative"]).median("sample"), rtol=1e-5)


def test_of_real_targets_residuals_take_the_place_of_margins():
    root, target = made().to_dataset(), np.linspace(0.5, 2.0, 40)
    output = root["margin"].values  # of any size
    root = root.assign(margin=(("time", "sample"), output * target)).assign_coords(label=("sample", target))
    tree = xr.DataTree(root.assign_attrs(scenario='[loss]\nkind = "square"\n'))
    drawn = {figure.key: figure for figure in figures(run_of(tree))}
    assert "margins" not in drawn
    median = next(curve for curve in drawn["residuals"].curves if "y" in curve)
    np.testing.assert_allclose(median["y"], np.median(output - target, axis=1), rtol=1e-12)


def test_a_regression_in_one_dimension_shows_its_network_over_x(small):
    points = {"kind": "points", "x": [[-1.0], [0.5], [1.0]], "y": [1.0, 0.25, 1.0]}
    run = flowsim.run(small(data=points, flow__until={"time": 1.0}, observe={"times": 3, "snapshots": "ends"}))
    figure = over_input(run_of(run))
    assert figure is not None
    start, end, samples = figure.curves
    assert (samples["at"].tolist(), samples["y"].tolist()) == ([-1.0, 0.5, 1.0], [1.0, 0.25, 1.0])
    norm, direction = np.exp(run["log_norm"].values), run["direction"].values[..., 0]
    for curve, place in ((start, 0), (end, -1)):
        # pReLU of degree 3, which is as homogeneous as ReLU: |w| max(<u, x>, 0)^3
        hidden = norm[place] * np.maximum(figure.at[:, None] * direction[place], 0.0) ** 3
        output = hidden @ run["output_weight"].values[place]
        np.testing.assert_allclose(curve["y"], output, rtol=1e-9, atol=1e-12 * np.abs(output).max())
    assert over_input(run_of(made())) is None


def test_neurons_that_did_not_align_are_listed_with_the_reason():
    root = made().to_dataset()
    cosine, target = root["cosine"].copy(), root["target_cluster"].values.copy()
    target[0] = -1
    cosine[-1, 3] = [0.0, 0.2, 0.0]
    tree = xr.DataTree(root.assign(cosine=cosine).assign_coords(target_cluster=("neuron", target)))
    words = " ".join(outline(page([run_of(tree)])).text.split())
    assert "4 of 6 neurons are aligned with their target centre at the end" in words
    assert "void region 1 0 no centre pulls it at the start" in words
    assert "on its way 1 3 it had not got to its target" in words


def test_phases_that_were_not_reached_have_no_number():
    root = made().to_dataset()
    tree = xr.DataTree(root.assign(cosine=root["cosine"] / 2))
    phases = run_of(tree).phases
    reached = [phase for phase in phases if np.isfinite(phase.instant)]
    assert [phase.number for phase in phases] == [*range(1, len(reached) + 1), *[None] * (len(phases) - len(reached))]
    assert len(phases) > len(reached) > 1
    text = page([run_of(tree)])
    assert re.findall(r'<li value="(\d+)">', text) == [str(phase.number) for phase in reached]
    assert text.count("not reached</span>") == len(phases) - len(reached)


def test_an_ensemble_is_summarised_over_its_members_that_ran():
    tree = ensemble()
    text = page([run_of(tree, "e.nc")])
    (drawn,) = numbers(text)
    alignment = next(figure for figure in drawn["figures"] if figure["key"] == "alignment")
    pooled = tree["cosine"].max("cluster").isel(seed=[0, 1]).median(("seed", "neuron"))
    np.testing.assert_allclose(alignment["curves"][1]["y"], pooled, rtol=1e-5)
    words = outline(text).text
    assert "An ensemble of 3 members" in words
    assert "reached by 2 of 3 members" in words


def test_a_member_of_an_ensemble_is_a_run():
    tree = ensemble()
    (drawn,) = numbers(page([run_of(tree, "e.nc", 5)]))
    loss = next(figure for figure in drawn["figures"] if figure["key"] == "alignment")
    expected = tree["cosine"].sel(seed=5).max("cluster").median("neuron")
    np.testing.assert_allclose(loss["curves"][1]["y"], expected, rtol=1e-5)


@pytest.mark.parametrize(("seed", "words"), [(4, "there are 3, 5, 8"), (8, "has not run")])
def test_a_member_that_is_not_there_is_refused(seed, words):
    with pytest.raises(flowsim.UsageError, match=words):
        run_of(ensemble(), "e.nc", seed)


def test_a_single_run_has_no_members():
    with pytest.raises(flowsim.UsageError, match="is a single run"):
        run_of(made(), seed=0)


def test_numbers_that_are_not_finite_leave_gaps():
    tree = made()
    tree["log10_loss"][0] = -np.inf
    tree["log_norm"][:, 0] = -np.inf
    (drawn,) = numbers(page([run_of(tree)]))
    loss = next(figure for figure in drawn["figures"] if figure["key"] == "loss")
    assert loss["curves"][0]["y"][0] is None
    assert None not in loss["curves"][0]["y"][1:]


def test_what_is_about_to_underflow_is_0_and_masses_are_shown_by_their_logs():
    (drawn,) = numbers(page([run_of(tiny())]))
    by_key = {figure["key"]: figure for figure in drawn["figures"]}
    for curve in by_key["margins"]["curves"]:
        assert {value for name in ("y", "low", "high") for value in curve.get(name, [])} == {0.0}
    of_first = tiny()["log_cluster_mass"].isel(cluster=0)
    assert not by_key["mass"]["log"]
    np.testing.assert_allclose(by_key["mass"]["curves"][0]["y"], of_first, rtol=1e-5)


def test_a_loss_clock_takes_the_place_of_time():
    tree = made()
    root = tree.to_dataset().assign_coords(
        log10_time=("time", np.linspace(0, 1, 12), {"long_name": "log10 of flow time"})
    )
    drawn = [figure for figure in figures(run_of(xr.DataTree.from_dict({"/": root}))) if not isinstance(figure, Absent)]
    assert {figure.x for figure in drawn} == {"log10 of flow time"}
    np.testing.assert_array_equal(drawn[0].at, np.linspace(0, 1, 12))


def test_without_plotly_the_page_says_what_to_install(tmp_path):
    made().to_netcdf(tmp_path / "a.nc")
    code = (
        "import sys; sys.modules['plotly'] = None\nfrom flowsim.cli import main\n"
        f"sys.exit(main(['report', {str(tmp_path / 'a.nc')!r}, '-o', {str(tmp_path / 'a.html')!r}]))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "pip install 'flowsim[report]'" in answer.stderr
    assert not (tmp_path / "a.html").exists()


def test_iterations_and_outputs_are_told_where_there_are_any():
    root = (
        made()
        .to_dataset()
        .assign_coords(iteration=("time", 7 * np.arange(12)), neuron_output=("neuron", [0, 0, 0, 1, 1, 1]))
    )
    found = frames(run_of(xr.DataTree.from_dict({"/": root})))
    assert isinstance(found, dict)
    np.testing.assert_array_equal(found["iteration"], 7 * np.arange(12))
    assert found["names"] == [f"{neuron} (output {neuron // 3})" for neuron in found["neurons"]]


def robust(certified: bool = False) -> xr.DataTree:
    """A made result with a group `robustness`: two attacks on a network and on one classifier beside it."""
    accuracy = np.array([[[1.0, 0.9, 0.8], [1.0, 0.5, 0.1]], [[1.0, 1.0, 1.0], [1.0, 1.0, 0.6]]])
    group = xr.Dataset(
        {
            "robust_accuracy": (("classifier", "attack", "radius"), accuracy),
            "attacked_radius": (("classifier", "test_sample"), [[0.1, 0.5, 0.6], [1.1, np.inf, np.inf]]),
        },
        {
            "classifier": ["network", "<nearest>"],
            "attack": ["pgd", "strong"],
            "radius": ("radius", [0.0, 0.5, 1.0], {"long_name": "largest size of a perturbation, l2"}),
        },
        {"norm": "l2", "samples": "fresh"},
    )
    if certified:
        group["certified_accuracy"] = ("classifier", "radius"), [[1.0, 0.2, 0.0], [1.0, 1.0, 0.6]]
    return made().assign({"robustness": xr.DataTree(group)})


def test_robust_accuracies_are_a_figure_over_the_radius_and_a_table():
    text = page([run_of(robust())])
    found = outline(text)
    assert "3 fresh samples" in found.text
    assert "<nearest>" in found.text
    assert "robustness-0" in found.ids
    figure = numbers(text)[0]["over_radius"]
    assert figure["at"] == [0.0, 0.5, 1.0]
    assert {curve["name"]: curve["y"] for curve in figure["curves"]} == {
        "network, pgd": [1.0, 0.9, 0.8],
        "network, strong": [1.0, 0.5, 0.1],
        "<nearest>, strong": [1.0, 1.0, 0.6],
    }
    assert "network: half of the samples lost at 0.5." in figure["said"]


def test_what_is_certified_is_a_band_unless_it_is_all_there_is_to_know():
    bands = [curve for curve in numbers(page([run_of(robust(True))]))[0]["over_radius"]["curves"] if "low" in curve]
    assert [(band["name"], band["low"]) for band in bands] == [("network, certified to attacked", [1.0, 0.2, 0.0])]


def test_a_run_without_robustness_beside_one_with_it_has_an_empty_column():
    text = page([run_of(made(), "a.nc"), run_of(robust(), "b.nc")])
    assert [run["over_radius"] is None for run in numbers(text)] == [True, False]
    assert "robustness-1" in outline(text).ids
    assert "robustness-1" not in outline(page([run_of(made(), "a.nc"), run_of(made(), "b.nc")])).ids


def test_the_curve_of_held_out_samples_is_beside_that_of_the_training_loss(small):
    asked = {"data__test": {"samples": 30}, "observe__variables": ["loss", "test_loss"]}
    run = flowsim.run(small(**asked))
    (figure,) = [figure for figure in figures(run_of(run)) if figure.key == "loss"]
    assert [curve["name"] for curve in figure.curves] == ["training loss", "held-out samples"]
    np.testing.assert_allclose(figure.curves[1]["y"], run["test_loss"], rtol=1e-6)
