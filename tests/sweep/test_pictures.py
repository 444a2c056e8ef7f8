"""Slopes, pictures and the page of a sweep, from datasets with known numbers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from support.made_sweep import NOISE as OF_MADE
from support.made_sweep import WORD, made_sweep
from support.sweeps import BASE, GRID

import flowsim
from flowsim.cli import main
from flowsim.cli.sparklines import Sheet
from flowsim.cli.sweep_page import summary, text
from flowsim.evaluate.rates import FoundRate, layout
from flowsim.evaluate.scaling import scaling
from flowsim.present.sweeps import KINDS, numbers, plot, write_report
from flowsim.present.sweeps.points import points
from flowsim.present.sweeps.table import table
from flowsim.results import write
from flowsim.scenario.toml import inline

NOISE = "data.noise.total"


def made(slope: float = 2.0, factor: float = 3.0, spread: float = 0.0) -> xr.Dataset:
    """y = factor noise^slope, times exp(±spread) for the two seeds; `growth` = factor + slope log noise."""
    noise = np.geomspace(0.01, 1.0, 5)
    wobble = np.exp(spread * np.array([-1.0, 1.0]))
    power = factor * noise[:, None] ** slope * wobble
    instants = np.stack([factor + slope * np.log(noise)[:, None] + 0 * wobble, np.full((5, 2), np.nan)], axis=-1)
    points = (NOISE, "seed")
    return xr.Dataset(
        {
            "final_loss": (points, power),
            "phase_instant": ((*points, "phase"), instants),
            "seconds": (points, np.ones((5, 2))),
            "status": (points, np.where(power > power.max() / 2, "non_finite", "done")),
            "exit_code": (points, np.where(power > power.max() / 2, 3, 0)),
        },
        {NOISE: noise, "seed": [0, 1], "phase": ["growth", "alignment"]},
        {"sweep_keys": f"{NOISE}\nseed", "title": "<made> & more", "scenario": "", "flowsim_version": "0"},
    )


@given(st.floats(-5, 5), st.floats(1e-3, 1e3))
def test_a_power_law_is_recovered(slope, factor):
    fit = scaling(made(slope, factor), "final_loss", NOISE)
    assert fit.slope == pytest.approx(slope, abs=1e-9)
    assert math.exp(fit.intercept) == pytest.approx(factor, rel=1e-9)
    np.testing.assert_allclose(fit.line(fit.x), fit.y, rtol=1e-9)


def test_dimensions_of_one_place_are_no_obstacle():
    dataset = made()
    lone, both = (dataset["final_loss"].expand_dims(classifier=names) for names in (["network"], ["network", "bayes"]))
    assert dataset.assign(median_radius=lone).flow.scaling("median_radius", over=NOISE).slope == pytest.approx(2.0)
    dataset = dataset.assign(median_radius=both)
    with pytest.raises(flowsim.UsageError, match='no number of a point is called "median_radius"'):
        dataset.flow.scaling("median_radius", over=NOISE)


def test_a_law_in_the_logarithm_is_recovered_from_a_phase():
    fit = made(-0.7, 4.0).flow.scaling("growth", over=NOISE, law="log")
    assert (fit.slope, fit.intercept) == pytest.approx((-0.7, 4.0))


def test_the_interval_is_that_of_ordinary_least_squares():
    dataset = made(spread=0.3)
    fit = scaling(dataset, "final_loss", NOISE, confidence=0.9)
    # by the formulas of a textbook: s^2 = RSS/(n-2), Var(slope) = s^2/Sxx; t(0.95, 8) = 1.859548
    x = np.repeat(np.log(dataset[NOISE].values), 2)
    y = np.log(dataset["final_loss"].values.ravel())
    centred = x - x.mean()
    slope = centred @ y / (centred @ centred)
    rest = y - y.mean() - slope * centred
    half = 1.859548 * math.sqrt(rest @ rest / 8 / (centred @ centred))
    assert fit.interval == pytest.approx((slope - half, slope + half), rel=1e-6)


def test_the_interval_holds_the_slope_as_often_as_it_says():
    random, hits = np.random.default_rng(0), 0
    for _ in range(300):
        dataset = made(1.0, 1.0)
        dataset["final_loss"] = dataset["final_loss"] * np.exp(0.2 * random.standard_normal((5, 2)))
        low, high = scaling(dataset, "final_loss", NOISE, confidence=0.8).interval
        hits += low <= 1.0 <= high
    assert abs(hits / 300 - 0.8) < 4 * math.sqrt(0.8 * 0.2 / 300)


@pytest.mark.parametrize(
    ("name", "over", "message"),
    [
        ("final_los", NOISE, 'did you mean "final_loss"'),
        ("final_loss", "data.noise.totl", f'did you mean "{NOISE}"'),
        ("alignment", NOISE, "a slope needs three points"),
        ("final_loss", "seed", f'also depends on "{NOISE}"'),
    ],
)
def test_what_cannot_be_fitted_is_answered(name, over, message):
    with pytest.raises(flowsim.UsageError, match=message.replace("(", r"\(")):
        made().flow.scaling(name, over)


def test_points_without_a_logarithm_are_left_out_and_counted():
    dataset = made()
    dataset["final_loss"][0, 0] = 0.0
    dataset["final_loss"][1, 1] = np.nan
    fit = scaling(dataset, "final_loss", NOISE)
    assert (fit.left_out, len(fit.x)) == (2, 8)
    assert "2 left out" in str(fit)


def test_a_table_has_quartiles_over_all_that_is_not_drawn():
    found = table(made(spread=0.3), "final_loss", NOISE)
    expected = np.quantile(made(spread=0.3)["final_loss"].values, (0.25, 0.5, 0.75), axis=1)
    np.testing.assert_allclose(found.quartiles[:, 0], expected)
    assert (found.count, found.rest) == (2, ("seed",))
    whole = table(made(), "final_loss", NOISE, "seed")
    np.testing.assert_array_equal(whole.quartiles[1], made()["final_loss"].values.T)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_what_is_there(kind):
    axes = plot(made(), kind, by="seed", interactive=False)
    assert axes.get_xlabel() == NOISE
    if kind == "heat":
        np.testing.assert_array_equal(axes.collections[0].get_array(), made()["final_loss"].values.T)
        return
    lines = [line for line in axes.get_lines() if str(line.get_label()).startswith("seed")]
    assert len(lines) == 2
    if kind == "lines":
        np.testing.assert_array_equal(lines[1].get_ydata(), made()["final_loss"].values[:, 1])
    else:
        assert "slope 2 [" in str(lines[0].get_label())


def test_what_the_page_draws_are_the_points_of_the_sweep():
    sweep = made_sweep()
    found = points(sweep)
    by_key = {key["key"]: [key["names"][at] for at in key["at"]] for key in found["keys"]}
    noise = {key["key"]: key for key in found["keys"]}[OF_MADE]
    stacked = sweep.stack(all_points=sweep["status"].dims)
    assert by_key[WORD] == list(stacked[WORD].values)  # words in the order of the scenario
    np.testing.assert_array_equal(noise["numbers"][noise["at"]], stacked[OF_MADE])
    assert [found["endings"]["names"][at] for at in found["endings"]["at"]] == list(stacked["status"].values)
    values = {one["key"]: one["values"] for one in found["numbers"]}
    assert [*values] == ["final_loss", "final_accuracy", "alignment", "growth", "seconds"]
    np.testing.assert_array_equal(values["final_loss"], stacked["final_loss"])
    np.testing.assert_array_equal(values["growth"], stacked["phase_instant"].sel(phase="growth"))
    curves = {one["key"]: np.array(one["values"]) for one in found["trajectories"]["curves"]}
    np.testing.assert_array_equal(curves["loss"], stacked["loss"].T)
    best = stacked["cosine"].max("cluster").median("neuron")
    np.testing.assert_allclose(curves["best_cosine"], best.transpose("all_points", "time"))


def test_shares_of_the_parts_are_those_of_each_points_own_run(swept):
    """Of the exponential loss, which has no end, the late phase begins once the samples are separated."""
    keys = {"loss.kind": ["square", "exponential"], "data.noise.total": [0.1]}
    result = swept(f"[sweep]\ntrajectories = ['loss']\ngrid = {inline(keys)}\n", flow__until={"time": 300.0})
    scenario = flowsim.loads(BASE, overrides={"flow.until": {"time": 300.0}, "data.noise.total": 0.1})
    runs = [flowsim.run(scenario.replace({"loss.kind": kind}), progress=False) for kind in keys["loss.kind"]]
    with flowsim.open_sweep(result.folder) as dataset:
        found = points(dataset)["trajectories"]
    own = flowsim.side_by_side(runs)
    assert own["progress"].max("instant").values.tolist() == [0.4, 1.0]
    for (at, share), time, progress in zip(found["progress"], own["time"], own["progress"], strict=True):
        np.testing.assert_allclose(np.interp(time, at, share), progress, atol=1e-12)


def test_a_page_of_many_points_keeps_fewer_instants_and_points_of_their_trajectories(monkeypatch):
    monkeypatch.setattr("flowsim.present.sweeps.points.MOST_KEPT", 100)
    monkeypatch.setattr("flowsim.present.sweeps.points.MOST_INSTANTS", 5)
    monkeypatch.setattr("flowsim.present.sweeps.points.LEAST_INSTANTS", 1)
    found = points(made_sweep(instants=9))["trajectories"]
    assert len(found["time"]) == 5
    assert found["points"][[0, -1]].tolist() == [0, 39]  # 10 of 40, evenly chosen
    (loss,) = (np.array(one["values"]) for one in found["curves"] if one["key"] == "loss")
    assert loss.shape == (10, 5)
    stacked = made_sweep(instants=9)["loss"].values.reshape(40, 9)
    np.testing.assert_array_equal(loss, stacked[found["points"]][:, ::2])


def test_the_page_stands_alone_and_escapes(tmp_path):
    pytest.importorskip("plotly")
    write_report(made(), tmp_path / "r.html", name="sweep.nc")
    page = (tmp_path / "r.html").read_text()
    assert "&lt;made&gt; &amp; more" in page
    assert "<made>" not in page
    assert "8 of 10 points are done; 2 non_finite" in page
    assert "<h3>final_loss</h3>" in page
    assert "<h3>alignment</h3>" not in page  # no point reached it
    assert "<h3>seconds</h3>" in page
    for reference in ('src="http', 'href="http', "@import"):
        assert reference not in page
    ids = [part.partition('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


def test_the_commands_do_the_same(within, tmp_path, monkeypatch, capsys):
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(BASE + GRID)
    assert main(["check", "s.toml"]) == 0
    assert "sweep        6 points: 2 data.noise.total x 3 seed" in capsys.readouterr().out
    assert main(["sweep", "s.toml", "-o", "out"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err.splitlines()) == ("", ["6 of 6 points are done, 0 failed; 6 ran now", "out/sweep.nc"])
    assert main(["sweep", "s.toml", "-o", "out"]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["sweep", "s.toml", "-o", "out", "--resume", "--json"]) == 0
    assert '"ran": 0' in capsys.readouterr().out
    assert main(["plot", "out/sweep.nc", "heat", "--by", "seed", "-o", "h.svg"]) == 0
    assert main(["plot", "out/sweep.nc", "heat", "--by", "seed", "--at", "3"]) == 2
    assert "heat: takes no at; it takes of, over, by, law" in capsys.readouterr().err
    assert main(["plot", "out/sweep.nc", "heats"]) == 2
    assert 'did you mean "heat"' in capsys.readouterr().err
    assert main(["report", "out/sweep.nc", "-o", "r.html"]) == 0
    capsys.readouterr()
    assert main(["show", "out/sweep.nc"]) == 0
    shown = capsys.readouterr().out
    assert main(["show", "out"]) == 0  # the folder is as good as the file
    assert capsys.readouterr().out == shown
    assert "points       6 of 6 are done" in shown
    assert main(["report", "out/sweep.nc", "out/sweep.nc", "-o", "r2.html"]) == 2
    assert main(["sweep", "s.toml", "-o", "x", "--set", 'sweep.grid={"model.widht" = [1]}']) == 2
    assert 'did you mean "width"' in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    assert (tmp_path / "h.svg").read_text().count("<svg") == 1


def test_a_sweep_in_text_and_for_machines_has_quartiles_of_what_its_points_have():
    found = json.loads(json.dumps(summary(made()), allow_nan=False))
    loss = made()["final_loss"].values
    there = loss[np.isfinite(loss)]
    spread = found["numbers"]["final_loss"]
    quartiles = [spread[name] for name in ("lower_quartile", "median", "upper_quartile")]
    np.testing.assert_allclose(quartiles, np.quantile(there, (0.25, 0.5, 0.75)))
    assert spread["points"] == len(there)
    assert "alignment" not in found["numbers"]  # no point reached it
    assert (found["points"], found["done"], len(found["failed"])) == (10, 8, 2)
    page = text(made(), Sheet())
    assert "points       8 of 10 are done" in page
    assert page.count("non_finite") == 2
    assert f"final_loss                         {np.median(there):.5g} [" in page


def test_rates_of_a_file_are_told_as_those_in_memory(tmp_path):
    dataset = made().assign(layout([FoundRate("a.b", flowsim.Rate("data.noise.total", 2.0), "", None, "too few")]))
    write(xr.DataTree(dataset), tmp_path / "sweep.nc")
    with flowsim.open_sweep(tmp_path / "sweep.nc") as read:
        assert summary(read)["rates"] == summary(dataset)["rates"] != {}


def test_medians_over_test_samples_are_among_the_numbers():
    radius = made()["final_loss"].rename("median_attacked_radius")
    assert "median_attacked_radius" in numbers(made().assign(median_attacked_radius=radius))


def test_run_says_that_a_sweep_is_for_another_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(BASE + GRID)
    assert main(["run", "s.toml"]) == 0
    assert "its [sweep] is for flowsim sweep" in capsys.readouterr().err
