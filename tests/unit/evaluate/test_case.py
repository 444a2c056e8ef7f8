"""From a result back to what ran: the same problem, weights, network and evaluations, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from support.reopened import check_evaluations, check_problem, same

import flowsim
from flowsim.observe import Instant
from flowsim.papers import evaluate
from flowsim.sweep import sweep


def test_of_a_tree_in_memory_it_is_the_same(small):
    scenario = small(evaluate={"distance": {"to": "ideal"}, "robustness": {"radii": [0.1], "samples": 5}})
    tree = flowsim.run(scenario)
    check_problem(flowsim.reopen(tree), scenario)
    check_evaluations(tree, tree)


def test_the_network_is_that_of_the_last_margins(small):
    case = flowsim.reopen(flowsim.run(small(observe__snapshots=3)))
    problem = case.problem
    last = case.trajectory["margin"].values[-1]
    np.testing.assert_allclose(problem.targets * case.network(problem.inputs), last, rtol=1e-10)
    start = case.network_at(0)(problem.inputs)
    np.testing.assert_allclose(problem.targets * start, case.trajectory["margin"].values[0], rtol=1e-10)
    with pytest.raises(flowsim.UsageError, match="weights were kept 3 times, so from 0 to 2"):
        case.network_at(3)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"kind": "mlp", "widths": [4, 3], "activation": "tanh"}, "init.scale": 0.3},
        {"data.supervision": "cluster", "loss.kind": "cross_entropy", "model.width": 8},
        {
            "model": {"kind": "mlp", "widths": [4, 3], "activation": "tanh"},
            "init.scale": 0.3,
            "data.supervision": "cluster",
            "loss.kind": "cross_entropy",
        },
    ],
    ids=["deep", "classes", "deep classes"],
)
def test_networks_of_every_kind_are_functions_of_the_inputs(changes, small):
    case = flowsim.reopen(flowsim.run(small(**{key.replace(".", "__"): value for key, value in changes.items()})))
    outputs, problem = case.network(case.problem.inputs), case.problem
    assert outputs.shape == ((24,) if problem.outputs == 1 else (24, problem.outputs))
    last = case.trajectory["margin"].values[-1]
    if problem.outputs == 1:
        np.testing.assert_allclose(problem.targets * outputs, last, rtol=1e-9)
    else:
        own = problem.targets.astype(int)[:, None] == np.arange(problem.outputs)
        lead = outputs[own] - np.where(own, -np.inf, outputs).max(axis=1)
        np.testing.assert_allclose(lead, last, rtol=1e-9)
    assert case.network.scores(problem.inputs).shape == (24, problem.outputs)


@pytest.mark.parametrize(
    "changes",
    [
        {"model.bias": True},
        {"model.activation": "tanh", "init.scale": 0.1},
        {"model": {"kind": "linear", "bias": True}, "loss": {"kind": "logistic"}},
        {
            "model": {
                "kind": "symmetric_relu",
                "width": 6,
                "threshold": 0.02,
                "growth": 1e-3,
                "cap": 0.1,
                "smoothing": 0.5,
            }
        },
        {"data.supervision": "cluster", "loss.kind": "cross_entropy", "model": {"activation": "relu", "width": 8}},
    ],
    ids=["bias", "tanh", "linear", "moving threshold", "classes"],
)
def test_any_network_is_a_function_of_a_tree_of_its_parameters(changes, small):
    """By the formulas in JAX at every kept instant, as by those in NumPy."""
    import jax

    case = flowsim.reopen(flowsim.run(small(observe__snapshots=3, **changes)))
    x = case.problem.inputs
    with jax.enable_x64(True):
        for index in range(3):
            apply, params = case.apply_at(index), case.params_at(index)
            here = np.squeeze(Instant(case.setting, case.weights_at(index)).outputs)
            # sums of a dozen products, each rounded otherwise
            np.testing.assert_allclose(np.asarray(apply(params, x)).T, here, rtol=0, atol=1e-13 * np.abs(here).max())


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "linear", "bias": True},
        {"kind": "symmetric_relu", "width": 4, "threshold": 0.02, "smoothing": 0.5},
    ],
    ids=lambda model: model["kind"],
)
def test_networks_on_the_fast_road_flow_as_plain_functions_too(model, small):
    changes = {"model": model, "loss": {"kind": "logistic"}, "flow.until": {"time": 5.0}}
    case = flowsim.reopen(flowsim.run(small(observe__snapshots="all", **changes)))
    problem, times = case.problem, case.trajectory.sizes["time"]
    plain = flowsim.flow(
        case.apply_at(0),
        case.params_at(0),
        problem.inputs,
        problem.targets,
        loss="logistic",
        until={"time": 5.0},
        times=times,
        snapshots="all",
    )
    fast, rtol = case.params_at(-1)["hidden"], case.scenario.flow.rtol
    np.testing.assert_allclose(plain["hidden"][-1], fast, rtol=0, atol=20 * rtol * np.abs(fast).max())
    np.testing.assert_allclose(plain["loss"], case.trajectory["loss"], rtol=20 * rtol)


def test_a_member_of_an_ensemble_is_the_run_of_its_seed(small):
    ensemble = flowsim.run_ensemble(small(), [3, 5])
    with pytest.raises(flowsim.UsageError, match="choose its seed; there are 3, 5"):
        flowsim.reopen(ensemble)
    with pytest.raises(flowsim.UsageError, match="seed 4 is not in this ensemble; there are 3, 5"):
        flowsim.distance(ensemble, seed=4)
    case, alone = flowsim.reopen(ensemble, seed=5), small(seed=5)
    assert case.seed == 5
    assert case.scenario.model_dump() == alone.model_dump()
    check_problem(case, alone)
    of_one = ensemble.isel(seed=[1])
    check_problem(flowsim.reopen(of_one), alone)
    single = flowsim.run(alone)
    np.testing.assert_array_equal(case.trajectory["time"], single["time"].to_numpy())
    asked = {"radii": [0.1, 0.4], "samples": 20}
    found, expected = flowsim.robustness(ensemble, asked, seed=5), flowsim.robustness(single, asked)
    np.testing.assert_allclose(found["attacked_radius"], expected["attacked_radius"], rtol=1e-4)
    assert evaluate(ensemble, ["min_vidal_2025"], seed=5).sizes["claim"] > 0


def test_of_a_member_that_stopped_early_the_last_instant_and_weights_are_those_where_it_stopped(small):
    until = {"time": 300.0, "log10_loss": -1.0}
    case = flowsim.reopen(flowsim.run_ensemble(small(flow__until=until), [0, 1]), seed=1)
    alone = flowsim.reopen(flowsim.run(small(flow__until=until, seed=1)))
    time = case.trajectory["time"].values
    assert 0 < time[-1] < 300
    for name in ("time", "log10_loss", "log_norm", "margin"):
        np.testing.assert_allclose(case.trajectory[name].values[-1], alone.trajectory[name].values[-1], rtol=1e-6)
    assert case.weights.time.tolist() == [0.0, time[-1]]
    problem = case.problem
    margin = case.trajectory["margin"].values[-1]
    np.testing.assert_allclose(problem.targets * case.network(problem.inputs), margin, rtol=1e-9)


def test_a_stage_is_the_part_of_the_run_that_it_took(small):
    first = {"name": "clean", "until": {"time": 5.0}}
    later = {"name": "attacked", "until": {"time": 3.0}, "attack": {"kind": "fgm", "norm": "l2", "radius": 0.1}}
    without_flow = small().source.text.partition("[flow]")[0]
    scenario = flowsim.loads(without_flow, overrides={"stage": [first, later], "observe.times": 5})
    tree = flowsim.run(scenario)
    clean, attacked = (flowsim.reopen(tree, stage=name) for name in ("clean", "attacked"))
    assert [float(clean.trajectory["time"][index]) for index in (0, -1)] == [0.0, 5.0]
    assert [float(attacked.trajectory["time"][index]) for index in (0, -1)] == [5.0, 8.0]
    assert attacked.weights.time.tolist() == [5.0, 8.0]
    assert attacked.scenario.flow.attack.radius == 0.1
    assert clean.scenario.model_dump() == scenario.stages[0].model_dump()
    check_problem(attacked, scenario)
    np.testing.assert_array_equal(clean.network(np.eye(12)), attacked.network_at(0)(np.eye(12)))
    with pytest.raises(flowsim.UsageError, match='no stage "dirty" has run; there are clean, attacked'):
        flowsim.reopen(tree, stage="dirty")


def test_a_point_of_a_sweep_is_the_run_of_its_values(small, within, tmp_path):
    grid = {"data.noise.total": [0.1, 0.2], "seed": [0, 1]}
    sweep(small(sweep={"grid": grid}), tmp_path / "sweep")
    case = flowsim.reopen(tmp_path / "sweep", point={"data.noise.total": 0.2, "seed": np.int64(1)})
    alone = small(data__noise={"total": 0.2}, seed=1)
    check_problem(case, alone)
    assert flowsim.distance(case)["distance"] > 0
    with pytest.raises(flowsim.UsageError, match="is the folder of a sweep; "):
        flowsim.distance(tmp_path / "sweep")
    with pytest.raises(flowsim.UsageError, match="2 points are seed = 0; there are"):
        flowsim.reopen(tmp_path / "sweep", point={"seed": 0})
    with pytest.raises(flowsim.UsageError, match="no points are seed = 7; there are"):
        flowsim.reopen(tmp_path / "sweep", point={"seed": 7})


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_table_is_not_read_again(order, on_table, tmp_path):
    x = np.random.default_rng(1).standard_normal((9, 4))
    arrays = {"x": np.asarray(x, order=order), "y": np.sign(x[:, 0]), "cluster": (x[:, 0] > 0).astype(int)}
    scenario = on_table(arrays, flow__until={"time": 2.0})
    built = flowsim.build(scenario)
    flowsim.run(scenario, tmp_path / "run.nc")
    (tmp_path / "table.npz").unlink()
    case = flowsim.reopen(tmp_path / "run.nc")
    for name in ("inputs", "targets", "centers", "sample_cluster", "cluster_label", "hidden"):
        same(getattr(case.problem, name), getattr(built, name))


@pytest.mark.parametrize("seed", [0, [0, 1]], ids=["single", "ensemble"])
def test_centres_from_a_file_are_not_read_again(seed, small, tmp_path):
    np.save(tmp_path / "centers.npy", np.asfortranarray(np.random.default_rng(2).standard_normal((4, 12))))
    scenario = small(data__centers=str(tmp_path / "centers.npy"), seed=seed)
    built = flowsim.build(scenario.members[0])
    tree = flowsim.run(scenario)
    (tmp_path / "centers.npy").unlink()
    case = flowsim.reopen(tree, seed=0)
    same(case.problem.inputs, built.inputs)
    same(case.problem.centers, built.centers)
    assert flowsim.robustness(case, {"radii": [0.1], "samples": 10}).attrs["samples"] == "fresh"
    gone = tree.copy()
    del gone["data"]
    with pytest.raises(flowsim.UsageError, match="it has no group data"):
        flowsim.limit(gone, seed=0)


@pytest.mark.parametrize(
    ("change", "known_by"),
    [
        ("seed = 0\n", "log_norm"),
        ("scale = ", "log_norm"),
        ("total = ", "margin"),
        ("samples = ", "label"),
    ],
)
def test_another_problem_than_the_one_that_ran_is_refused(change, known_by, small):
    scenario = small(seed=0, data__noise={"total": 0.1}, init__scale=1e-3, data__samples=24)
    tree = flowsim.run(scenario)
    other = {
        "seed = 0\n": {"seed": 1},
        "scale = ": {"init.scale": 1e-2},
        "total = ": {"data.noise.total": 0.2},
        "samples = ": {"data.samples": 28},
    }[change]
    tree.attrs["scenario"] = flowsim.loads(tree.attrs["scenario"], overrides=other).source.text
    tree.attrs["seed"] = other.get("seed", 0)
    with pytest.raises(flowsim.UsageError, match=f"is not the one that ran: .*{known_by}.* at time 0 are others"):
        flowsim.robustness(tree, {"radii": [0.1]})


def test_what_needs_no_problem_does_without_a_scenario_that_can_be_read(small, tmp_path):
    tree = flowsim.run(small(), tmp_path / "run.nc")
    tree.attrs["scenario"] += "\n[gone]\nkey = 1\n"
    tree.attrs["flowsim_version"] = "0.0.9"
    case = flowsim.reopen(tree)
    assert case.trajectory.sizes["time"] == 11
    assert "seed 0" in repr(case)
    assert not flowsim.compare(tree, tmp_path / "run.nc")["cosine_difference"].any()
    for ask in (flowsim.limit, flowsim.distance, lambda tree: flowsim.robustness(tree, {"radii": [0.1]})):
        with pytest.raises(flowsim.UsageError, match=r"cannot read the scenario of flowsim 0\.0\.9: gone: ") as caught:
            ask(tree)
        assert "\n" not in str(caught.value)


def test_what_is_no_result_is_answered_in_one_line(small, tmp_path):
    tree = flowsim.run(small(observe__snapshots="none"))
    (tmp_path / "text.nc").write_text("no NetCDF")
    xr.Dataset({"a": ("b", [1.0])}).to_netcdf(tmp_path / "foreign.nc")
    wrong = {
        tmp_path / "text.nc": "not a NetCDF file",
        tmp_path / "foreign.nc": "not a result of flowsim",
        tmp_path / "missing.nc": "no such file",
        tmp_path: "is a folder",
        3: "a result is the path of a file or a DataTree, not int",
    }
    ways = [
        flowsim.reopen,
        flowsim.limit,
        flowsim.distance,
        evaluate,
        lambda result: flowsim.robustness(result, {"radii": [0.1]}),
        lambda result: flowsim.density(result, 0.1),
        lambda result: flowsim.compare(result, tree),
        lambda result: flowsim.transfer(tree, result, [0.1]),
        lambda result: flowsim.write_report(result, tmp_path / "page.html"),
    ]
    for way in ways:
        for result, words in wrong.items():
            if way is ways[-1] and result == 3:
                continue  # a sequence is meant
            with pytest.raises(flowsim.UsageError, match=words) as caught:
                way(result)
            assert "\n" not in str(caught.value)
        with pytest.raises(flowsim.UsageError, match="a Dataset is a trajectory alone"):
            way([tree.to_dataset()] if way is ways[-1] else tree.to_dataset())
    for way in (
        flowsim.distance,
        lambda result: flowsim.density(result, 0.1),
        lambda result: flowsim.reopen(result).network,
    ):
        with pytest.raises(flowsim.UsageError, match="the weights were not kept"):
            way(tree)


def test_all_analyses_take_a_file_a_tree_and_a_case(small, tmp_path):
    asked = {"radii": [0.1], "samples": 10}
    tree = flowsim.run(small(observe__snapshots="ends"), tmp_path / "run.nc")
    ways = [
        flowsim.limit,
        flowsim.distance,
        lambda result: evaluate(result, ["min_vidal_2025"]),
        lambda result: flowsim.robustness(result, asked),
        lambda result: flowsim.density(result, 0.1, samples=3),
        lambda result: flowsim.compare(result, result),
        lambda result: flowsim.transfer(result, result, [0.1], samples=10),
    ]
    for way in ways:
        expected = way(tree)
        for result in (tmp_path / "run.nc", str(tmp_path / "run.nc"), flowsim.reopen(tree)):
            xr.testing.assert_identical(way(result), expected)
    for number, result in enumerate((tree, flowsim.reopen(tree), [tmp_path / "run.nc", tree])):
        flowsim.write_report(result, tmp_path / f"{number}.html")
