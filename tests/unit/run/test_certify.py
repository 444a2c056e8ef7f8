"""The errors that a certified run states: they hold, they are close, and nothing else of the run changes."""

from __future__ import annotations

import signal
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from support.degenerate import opposite
from support.sweeps import fly_here

import flowsim
from flowsim.evaluate.claim import CLAIMS, Claim
from flowsim.evaluate.evidence import Evidence
from flowsim.evaluate.global_error import FACTOR, LAST_DIGITS, NEIGHBOUR, stated, worst
from flowsim.evaluate.undetermined import ELSEWHERE, named, undetermined
from flowsim.present.kinds import drawn_series, plot
from flowsim.present.page.build import write_report
from flowsim.present.page.curves import figures
from flowsim.present.run import Run
from flowsim.present.source import Source
from flowsim.problem import Data, Weights
from flowsim.results import layout, open_point
from flowsim.run import companion
from flowsim.run.prepare import Prepared
from flowsim.run.progress import Standing
from flowsim.solve import advance

#: More than this many rounding errors of a variable of order 1 are not the reference's.
ROUNDING = 1e-13


def errors(tree: xr.DataTree) -> xr.Dataset:
    return tree["error"].to_dataset(inherit=False)


def truth(scenario: flowsim.Scenario, tree: xr.DataTree) -> xr.DataTree:
    """The same flow at 1e-12, at the instants that the run has kept."""
    times = tree["time"].to_numpy()
    asked = {"flow.rtol": 1e-12, "flow.certify": False, "flow.until": {"time": float(times[-1])}}
    clock = {"flow.clock": "loss"} if "log10_time" in tree.coords else {}
    return flowsim.run(
        scenario.replace({**asked, **clock, "observe.times": times.tolist(), "observe.spacing": "linear"})
    )


def shares(scenario: flowsim.Scenario) -> tuple[float, float, float]:
    """(covered, close, cost) of a certified run: shares of variables at instants whose largest error is within the stated
    one, and at least a thirtieth of it; evaluations in those of the run alone."""
    scenario = scenario.replace({"flow.certify": True})
    tree = flowsim.run(scenario)
    exact, covered, close = truth(scenario, tree), [], []
    for name, error in errors(tree).data_vars.items():
        if error.dims[:1] != ("time",) or name not in exact:
            continue
        true = np.abs(tree[name].to_numpy() - exact[name].to_numpy()).reshape(len(error), -1).max(axis=1)
        least = ROUNDING * np.maximum(1.0, np.abs(exact[name].to_numpy()).reshape(len(error), -1).max(axis=1))
        largest = error.values.reshape(len(error), -1).max(axis=1)
        covered.append(true <= np.maximum(largest, least))
        close.append(largest <= 30 * np.maximum(true, least))
    told = errors(tree).attrs
    assert told["companion_ended"] == ""
    cost = (told["evaluations"] + told["companion_evaluations"]) / told["evaluations"]
    return float(np.mean(covered)), float(np.mean(close)), float(cost)


KINDS = {
    "smooth": {"flow__rtol": 1e-5},
    "a kink": {"model__activation": "relu", "flow__rtol": 1e-5},
    "until a loss, cartesian": {
        "flow": {"rtol": 1e-4, "coordinates": "cartesian", "until": {"loss": 0.3}, "clock": "time"},
        "observe__times": 12,
    },
    "loss clock": {
        "loss__kind": "exponential",
        "model__activation": "relu",
        "flow": {"rtol": 1e-4, "until": {"log10_loss": -30.0}},
        "observe__times": 12,
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_error_is_within_the_stated_one_and_not_far_below(small, kind):
    covered, close, cost = shares(small(**KINDS[kind]))
    assert covered >= 0.98
    assert close >= 0.8
    assert cost <= 2.5


def test_every_variable_has_its_error_and_the_run_is_the_same_as_without(small):
    scenario = small(loss__kind="exponential", flow={"until": {"log10_loss": -400.0}, "rtol": 1e-4})
    alone, tree = flowsim.run(scenario), flowsim.run(scenario.replace({"flow.certify": True}))
    assert not np.isfinite(tree["time"].to_numpy()[-1])  # no float is that time
    found = errors(tree)
    for group in ("/", "/kkt"):
        run, other = (one[group].to_dataset(inherit=False) for one in (tree, alone))
        assert run.drop_attrs().equals(other.drop_attrs())
        for name, variable in run.data_vars.items():
            assert found[name].dims == variable.dims
            assert found[name].attrs["units"] == variable.attrs["units"]
            assert variable.attrs["long_name"] in found[name].attrs["long_name"]
            there = ~np.isnan(variable.values)
            assert (found[name].values[there] >= 0).all()
            assert np.isnan(found[name].values[~there]).all()
            assert found[name].attrs["worst"] == np.nanmax(found[name].values)
    # log10 of the loss is in the hundreds, and known to a few units of the tolerance
    assert np.isfinite(found["log10_loss"]).all()
    assert 1e-6 < found["log10_loss"].attrs["worst"] < 0.1
    assert (tree["numerics"].to_dataset() == alone["numerics"].to_dataset()).all()


def test_the_errors_of_an_ensemble_are_those_of_its_members(small):
    keys = {"flow.certify": True, "model.activation": "relu", "observe.snapshots": 3}
    together = flowsim.run(small().replace({**keys, "seed": [3, 5]}))
    for seed in (3, 5):
        alone = errors(flowsim.run(small().replace({**keys, "seed": seed})))
        mine = errors(together).assign_coords(seed=together["seed"].values).sel(seed=seed)
        for name, error in alone.data_vars.items():
            np.testing.assert_array_equal(mine[name].values, error.values, err_msg=str(name))


def test_a_point_of_a_sweep_has_its_own_errors(small, tmp_path):
    """Points that were run together are members of one ensemble, of whose largest errors each says nothing."""
    keys = {"flow.certify": True, "flow.rtol": 1e-3, "sweep.grid": {"seed": [3, 5]}}
    fly_here(small().replace(keys), tmp_path / "s")
    for seed in (3, 5):
        tree = open_point(tmp_path / "s", {"seed": seed})
        alone = flowsim.run(small().replace({"flow.certify": True, "flow.rtol": 1e-3, "seed": seed}))
        assert worst(tree["error"].to_dataset())["loss"][0] == errors(alone)["loss"].attrs["worst"]
        assert (
            "worst" not in tree["error/loss"].attrs
            or tree["error/loss"].attrs["worst"] == worst(alone["error"].to_dataset())["loss"][0]
        )


def test_stages_are_certified_as_a_whole(small):
    """The second stage starts from the first one's error, and is followed to where the run ended."""
    parts = [
        {"name": "loose", "rtol": 1e-2, "until": {"loss": 0.4}},
        {"name": "tight", "rtol": 1e-8, "until": {"time": 1.0}, "certify": True},
    ]
    keys = {**small().to_dict(), "init": {"scale": 0.1}, "observe": {"times": 6}}
    del keys["flow"]
    tree = flowsim.run({**keys, "stage": parts})
    found, last = errors(tree), float(tree["time"][tree["stage"].to_numpy() == "loose"][-1])
    exact = [
        {"name": "loose", "rtol": 1e-12, "until": {"time": last}},
        {**parts[1], "rtol": 1e-12, "certify": False},
    ]
    other = flowsim.run({**keys, "stage": exact})
    true = abs(float(tree["log10_loss"][-1]) - float(other["log10_loss"][-1]))
    assert true > 1e-6  # far more than the second stage's own
    assert true <= float(found["log10_loss"][-1]) <= 100 * true


def diagonal(params, x):
    return x @ (params["u"] ** 2 - params["v"] ** 2)


def test_a_function_of_a_tree_is_certified(small):
    random = np.random.default_rng(0)
    x, start = random.standard_normal((12, 5)), {"u": np.full(5, 1e-3), "v": np.full(5, 1e-3)}
    asked = {"until": {"time": 20.0}, "units": "entries", "times": 8, "snapshots": "all"}
    observe = {"w": lambda params: jnp.tanh(params["u"])}
    tree = flowsim.flow(diagonal, start, x, x[:, 0], rtol=1e-4, certify=True, observe=observe, **asked)
    exact = flowsim.flow(diagonal, start, x, x[:, 0], rtol=1e-12, observe=observe, **asked)
    for name in ("u", "w"):
        true = np.abs(tree[name].to_numpy() - exact[name].to_numpy()).max(axis=1)
        largest = errors(tree)[name].values.max(axis=1)
        assert (true <= largest + ROUNDING).all()
        assert largest.max() <= 30 * true.max()


def test_a_neuron_on_a_boundary_that_repels_it_is_named():
    """x and -x, both with the label that a positive neuron likes: on <w, x> = 0 it may leave to either side."""
    x, y = opposite(1.0, 1.0)
    hidden = np.array([[0.0, 0.1], [0.1, 0.05]]) if x.shape[1] == 2 else np.eye(x.shape[1])[1:2] * 0.1
    weights = Weights.exactly(
        hidden / np.linalg.norm(hidden, axis=1, keepdims=True),
        np.log(np.linalg.norm(hidden, axis=1)),
        np.ones(len(hidden)),
        np.log(np.linalg.norm(hidden, axis=1)),
        bias=False,
    )
    keys = {"model": {"activation": "relu"}, "flow": {"until": {"time": 5.0}, "certify": True}, "observe": {"times": 5}}
    tree = flowsim.run(keys, data=Data(x, y), init=weights)
    assert errors(tree)["undetermined"].values[0] == 1
    assert "neuron 0 (starts on a boundary" in errors(tree).attrs["undetermined"]
    against = flowsim.run(keys, data=Data(x, -y), init=weights)
    assert not errors(against)["undetermined"].values.any()  # there it is held


#: Whose place a claim of these tests takes.
CLAIM = "min_vidal_2025.equation_4"
LONG = {"flow.certify": True, "observe.snapshots": 3, "observe.times": 9}
CUT = {
    "a kink": {**LONG, "model.activation": "relu"},
    "beyond all floats": {
        **LONG,
        "loss.kind": "exponential",
        "flow.until": {"log10_loss": -400.0},
        "flow.rtol": 1e-3,
    },
    "diffrax": {**LONG, "flow.engine": "diffrax", "flow.rtol": 1e-3},
}


@pytest.mark.parametrize(("kind", "chunk"), [("a kink", 3), ("beyond all floats", 1), ("diffrax", 1)])
def test_a_run_that_is_cut_short_in_its_companion_goes_on(small, tmp_path, monkeypatch, kind, chunk):
    scenario, file = small().replace(CUT[kind]), tmp_path / "a.nc"
    whole, looks = flowsim.run(scenario), []

    def interrupt(standing: Standing) -> None:
        looks.extend([standing] * standing.phase.startswith("companion"))
        if len(looks) == chunk:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(advance, "MOST_ATTEMPTS", 6)
    cut = flowsim.run(scenario, file, progress=interrupt)
    assert cut.attrs["status"] == "interrupted"
    assert "companion" in cut.attrs["status_cause"]
    assert "error" not in cut.children
    assert cut["checkpoint"].attrs["seconds"] > 0
    monkeypatch.setattr(companion, "seconds_of", lambda tree: 1e6)
    resumed = flowsim.run(scenario, file, resume=True)
    assert_same_errors(resumed, whole)
    assert resumed["companion"].attrs["wall_time"] > 1e6


def test_stages_that_are_cut_short_in_the_companion_of_the_second_go_on(small, tmp_path, monkeypatch):
    keys = {**small().to_dict(), "init": {"scale": 0.1}, "observe": {"times": 6, "snapshots": 3}}
    del keys["flow"]
    first = {"name": "first", "until": {"time": 3.0}, "rtol": 1e-3, "certify": True}
    descent = {"name": "descent", "method": "gradient_descent", "step": 0.1, "iterations": 8}
    scenario = flowsim.Scenario({**keys, "stage": [first, descent, {**first, "name": "third"}]})
    whole, looks, file = flowsim.run(scenario), [], tmp_path / "a.nc"

    def interrupt(standing: Standing) -> None:
        word, *share = standing.phase.split()
        if word == "companion" and not looks and int(share[0].rstrip("%")) >= 70:  # of 3 x 6 instants
            looks.append(standing)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(advance, "MOST_ATTEMPTS", 2)
    assert flowsim.run(scenario, file, progress=interrupt).attrs["status"] == "interrupted"
    with flowsim.open(file) as cut:
        assert int(cut["checkpoint"].attrs["began_stage"]) == 2
    assert_same_errors(flowsim.run(scenario, file, resume=True), whole)


def assert_same_errors(tree: xr.DataTree, other: xr.DataTree) -> None:
    assert tree.attrs["status"] == other.attrs["status"] == "done"
    assert set(tree.children) == set(other.children)
    for group in ("companion", "error"):
        one, two = (each[group].to_dataset(inherit=False) for each in (tree, other))
        assert one.drop_attrs().identical(two.drop_attrs())


def test_claims_are_asked_of_the_companion_too(small, tmp_path, monkeypatch):
    """Of a run as it ends, and of its file later; where the bound is as near as the error, the verdict says so."""
    scenario = small(evaluate__claims=[CLAIM], flow__certify=True, flow__rtol=1e-3)
    bound = 0.0

    def ending(evidence: Evidence) -> float:
        return float(evidence.trajectory["log10_loss"][-1])

    asked = Claim("nowhere", "the loss at the end", ending, lambda evidence: bound)
    monkeypatch.setitem(CLAIMS._known, CLAIM, asked)
    far = flowsim.run(scenario, tmp_path / "a.nc")["claims"]
    assert list(far["note"].to_numpy()) == [""]
    bound = float(far["measured"].to_numpy()[0]) * (1 + 1e-12)
    assert "the run's error could turn this" in str(flowsim.run(scenario)["claims/note"].to_numpy()[0])
    with flowsim.open(tmp_path / "a.nc") as tree:
        again = flowsim.evaluate(tree, {"claims": [CLAIM]})
        assert "the run's error could turn this" in str(again["claims/note"].to_numpy()[0])


def test_plots_and_pages_have_bands_of_the_error(small, tmp_path):
    """Of a single curve its error, of quartiles what they may be at most."""
    scenario = small(flow__rtol=1e-2, flow__certify=True)
    tree = flowsim.run(scenario, tmp_path / "a.nc")
    values, known = tree["log10_loss"].to_numpy(), errors(tree)["log10_loss"].values
    (band,) = drawn_series(Source.of(tree), "variable", {"of": "log10_loss"}).bands
    np.testing.assert_array_equal(
        band.quantiles, [values - known, values - known, values, values + known, values + known]
    )
    assert len(plot(tree, "loss", interactive=False).collections) > len(
        plot(flowsim.run(scenario.replace({"flow.certify": False})), "loss", interactive=False).collections
    )
    norms = drawn_series(Source.of(tree), "norms", {}).bands[0].quantiles
    plain = drawn_series(Source.of(tree.to_dataset()), "norms", {}).bands[0].quantiles
    assert (norms[:2] < plain[:2])[:, 1:].all()
    assert (norms[3:] > plain[3:])[:, 1:].all()
    np.testing.assert_array_equal(norms[2], plain[2])
    page = tmp_path / "a.html"
    write_report(tmp_path / "a.nc", page)
    assert "Estimated errors" in page.read_text()
    loss = next(figure for figure in figures(Run.of("a", tree)) if figure.key == "loss")
    assert [curve["name"] for curve in loss.curves] == ["estimated error", "training loss"]


def test_the_companion_stops_at_no_goal(small):
    """It may meet one before the run did."""
    scenario = small(flow__until={"loss": 0.4, "alignment": 0.999, "steps": 900})
    kept = layout.trajectory_of(flowsim.run(scenario))
    (part,) = companion.Companion(Prepared(scenario), kept).parts
    assert part.flow.until.goals == {"time": float(kept.time[-1])}
    assert part.flow.rtol == scenario.flow.rtol / 4


def test_a_neuron_that_ends_elsewhere_in_the_companion_is_named(small):
    scenario = small(model__activation="relu")
    prepared, kept = Prepared(scenario), layout.trajectory_of(flowsim.run(scenario))
    other = replace(kept, direction=kept.direction.copy())
    other.direction[-1, 2] *= -1.0  # on the other side of all samples
    other.direction[-1, 3] += 1e-3  # far more than any error of this run, and yet the same place
    found = undetermined(prepared.setting, kept, other)
    assert list(found) == [0, 0, ELSEWHERE, 0, 0, 0]
    assert named(found) == "neuron 2 (ends elsewhere in the companion run)"
    assert named(np.array([found, 0 * found]), [7, 9]).startswith("seed 7, neuron 2 (")


def test_descent_makes_no_error_of_steps(small):
    with pytest.raises(flowsim.ScenarioError, match="certify: only with method"):
        small(flow={"method": "gradient_descent", "step": 0.1, "iterations": 3, "certify": True})


def test_where_two_runs_cross_their_neighbours_tell():
    values, near = np.array([1.0, 1.0, 1.0, 1.0, 1.0]), np.array([1.0, 1.1, 1.0, 0.9, 0.9])
    apart = 0.1 * np.array([0.0, 1.0, NEIGHBOUR, 1.0, 1.0])
    np.testing.assert_allclose(stated(values, near), FACTOR * apart + LAST_DIGITS)


def test_what_decays_has_an_error_that_does():
    values = np.exp(-5.0 * np.arange(10.0))
    np.testing.assert_allclose(stated(values, values * 1.01)[1:] / values[1:], 0.01 * FACTOR, rtol=1e-6)


def test_what_the_companion_lacks_is_unknown_and_what_is_no_number_has_no_error():
    found = stated(np.array([1.0, 2.0, np.nan, np.inf]), np.array([1.0, np.nan, np.nan, np.inf]))
    assert found[0] == LAST_DIGITS
    assert found[1] == np.inf
    assert np.isnan(found[2])
    assert found[3] == 0
