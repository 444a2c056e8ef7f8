"""Named instants of made-up trajectories whose crossings are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.evaluate import phases, target_cosine

TIME = np.arange(10.0)


def trajectory(target=(0, 1), **variables) -> xr.Dataset:
    """10 instants; cosine: for each neuron its cosine with its target over time, the other centre being at -1."""
    dims = {"cosine": ("time", "neuron", "cluster"), "log_norm": ("time", "neuron"), "log10_loss": ("time",)}
    if "cosine" in variables:
        cosine = np.full((10, len(target), 2), -1.0)
        for neuron, (cluster, values) in enumerate(zip(target, variables["cosine"], strict=True)):
            cosine[:, neuron, cluster if cluster >= 0 else 0] = values
        variables["cosine"] = cosine
    return xr.Dataset(
        {name: (dims[name], np.asarray(values)) for name, values in variables.items()},
        {"time": TIME, "target_cluster": ("neuron", list(target))},
    )


def step(at: float, low=0.0, high=1.0) -> np.ndarray:
    """low before the time, high from it on"""
    after = at <= TIME
    return np.where(after, high, low)


def instants(run: xr.Dataset, **thresholds) -> dict[str, float]:
    found = phases(run, **thresholds)
    return dict(zip(found["phase"].values.tolist(), found["instant"].values.tolist(), strict=True))


def test_alignment_is_when_the_last_targeted_neuron_has_aligned():
    found = instants(trajectory(cosine=[step(3), step(7)]))
    assert found["alignment"] == 7


def test_neurons_without_a_target_do_not_count():
    found = instants(trajectory((0, -1), cosine=[step(3), step(99)]))
    assert found["alignment"] == found["median_alignment"] == 3


def test_medians_are_over_the_targeted_or_over_all_neurons():
    run = trajectory((0, 1, 0, -1, -1), cosine=[step(2), step(4), step(6), step(7), step(8)])
    found = instants(run)
    assert (found["alignment"], found["median_alignment"], found["median_best_alignment"]) == (6, 4, 6)


def test_a_neuron_that_turns_away_again_was_not_aligned():
    cosine = step(2)
    cosine[5] = 0.5
    assert instants(trajectory(cosine=[cosine, step(1)]))["alignment"] == 6


def test_what_is_not_reached_by_the_end_has_no_instant():
    cosine = step(2)
    cosine[-1] = 0.5
    found = instants(trajectory(cosine=[cosine, step(1)], log_norm=np.zeros((10, 2)), log10_loss=np.zeros(10)))
    assert np.isnan([found["alignment"], found["growth"], found["convergence"]]).all()


def test_neurons_aligned_from_the_start_are_aligned_at_time_0():
    assert instants(trajectory(cosine=[step(0), step(0)]))["alignment"] == 0


def test_the_threshold_is_reached_at_equality_and_named_in_the_definition():
    run = trajectory(cosine=[step(3, high=0.95), step(5, low=0.8)])
    assert instants(run)["alignment"] == 5
    assert instants(run, aligned=0.8)["alignment"] == 3
    assert np.isnan(instants(run, aligned=0.96)["alignment"])
    definitions = phases(run, aligned=0.8)["definition"]
    assert all("0.8" in str(text) for text in definitions.sel(phase=["alignment", "median_alignment"]).values)


def test_growth_is_the_first_time_the_whole_mass_is_tenfold():
    # the second neuron alone brings it there, from twice its part
    log_norm = np.log(np.column_stack([np.ones(10), step(4, 1.0, 19**0.5 + 1e-12)]))
    assert instants(trajectory(log_norm=log_norm))["growth"] == 4
    log_norm = np.log(np.column_stack([np.ones(10), step(4, 1.0, 19**0.5 - 1e-6)]))
    assert np.isnan(instants(trajectory(log_norm=log_norm))["growth"])


@pytest.mark.parametrize("scale", [-690.0, -1e5, 300.0])
def test_growth_is_relative_whatever_the_scale(scale):
    assert instants(trajectory(log_norm=np.column_stack([step(4, scale, scale + 2)] * 2)))["growth"] == 4


def test_convergence_is_when_the_loss_is_within_a_factor_of_its_final_value_for_good():
    loss = np.array([8, 4, 2.0, 5, 3, 1.9, 1.5, 1, 1, 1])
    run = trajectory(log10_loss=np.log10(loss))
    assert instants(run)["convergence"] == 5
    assert instants(run, converged=4.0)["convergence"] == 4
    assert "factor 4" in str(phases(run, converged=4.0)["definition"].sel(phase="convergence").item())


@pytest.mark.parametrize("log_loss", [np.zeros(10), np.linspace(0, -0.2, 10), np.linspace(-1, 0, 10)])
def test_a_loss_that_never_fell_by_the_factor_has_not_converged(log_loss):
    assert np.isnan(instants(trajectory(log10_loss=log_loss))["convergence"])


def test_a_loss_of_10_to_the_minus_5000_converges_like_any_other():
    assert instants(trajectory(log10_loss=step(6, 0.0, -5000.0)))["convergence"] == 6


def test_only_phases_of_the_variables_at_hand_are_found():
    assert set(instants(trajectory(log10_loss=step(6, 0.0, -1.0)))) == {"half_loss", "convergence"}
    assert instants(xr.Dataset(coords={"time": TIME})) == {}
    assert set(instants(trajectory((-1, -1), cosine=[step(1), step(2)]))) == {"median_best_alignment"}


def test_the_accessor_asks_the_same_questions():
    run = trajectory((0, -1, 1), cosine=[step(3), step(4), step(5)], log10_loss=step(6, 0.0, -1.0))
    xr.testing.assert_identical(run.flow.phases, phases(run))
    xr.testing.assert_identical(run.flow.target_cosine, target_cosine(run))
    np.testing.assert_array_equal(run.flow.target_cosine, np.column_stack([step(3), step(5)]))
    np.testing.assert_array_equal(run.flow.best_cosine, np.column_stack([step(3), step(4), step(5)]))


def classified(cosine, target=(0, 1), sign=(1, -1), label=(1, -1), active=None) -> xr.Dataset:
    """10 instants of neurons with signs and clusters with labels; cosine, active (time, neuron, cluster)."""
    variables = {"cosine": (("time", "neuron", "cluster"), np.asarray(cosine, dtype=float))}
    if active is not None:
        variables["active_fraction"] = (("time", "neuron", "cluster"), np.asarray(active, dtype=float))
    known = {"target_cluster": ("neuron", list(target)), "neuron_sign": ("neuron", list(sign))}
    return xr.Dataset(variables, {"time": TIME, **known, "cluster_label": ("cluster", list(label))})


def moving(first, second, at: float) -> np.ndarray:
    """(time, cluster): one row of cosines before the time, another from it on"""
    return np.where((at <= TIME)[:, None], second, first)


def test_the_burn_in_ends_with_the_last_change_of_a_targeted_neuron_s_own_nearest_centre():
    fixed = moving([0.5, 0.1, 0.0], [0.5, 0.1, 0.0], 0)
    turning = moving([0.4, 0.3, 0.9], [0.3, 0.4, 0.9], 6)  # the third centre is of the other label
    run = classified(np.stack([fixed, turning], axis=1), target=(0, 0), sign=(1, 1), label=(1, 1, -1))
    assert instants(run)["burn_in"] == 6
    of_void = classified(np.stack([fixed, turning], axis=1), target=(0, -1), sign=(1, 1), label=(1, 1, -1))
    assert instants(of_void)["burn_in"] == 0


def test_a_change_at_the_very_end_is_not_seen_to_last():
    late = moving([0.4, 0.3], [0.3, 0.4], 9)
    assert np.isnan(instants(classified(late[:, None], target=(0,), sign=(1,), label=(1, 1)))["burn_in"])


def test_neurons_average_once_their_own_cosines_are_nearly_equal_and_are_left_out_where_they_never_are():
    averaging = moving([0.8, 0.1, 0.0], [0.7, 0.65, 0.0], 4)[:, None]
    assert instants(classified(averaging, target=(0,), sign=(1,), label=(1, 1, -1)))["averaging"] == 4
    apart = moving([0.8, 0.1, 0.0], [0.9, 0.1, 0.0], 4)[:, None]
    assert "averaging" not in instants(classified(apart, target=(0,), sign=(1,), label=(1, 1, -1)))


def test_activation_is_shared_once_every_sample_activates_all_neurons_of_its_class():
    active = np.stack([moving([0.5, 1.0], [1.0, 0.0], 3), moving([0.0, 0.2], [0.0, 1.0], 5)], axis=1)
    assert instants(classified(np.zeros((10, 2, 2)), active=active))["shared_activation"] == 5


def test_xor_has_phases_of_its_own():
    positive = moving([0.3, -0.3, 0.1, -0.1], [0.8, -0.8, 0.1, -0.1], 2)
    negative = moving([0.1, -0.1, 0.1, -0.1], [0.1, -0.1, 0.6, -0.6], 3)
    active = np.stack([moving([0.5, 0.5, 1, 1], [1, 0, 1, 1], 4), moving([1, 1, 1, 0], [1, 1, 1, 0], 0)], axis=1)
    cosine = np.stack([positive, negative], axis=1)
    found = instants(classified(cosine, target=(0, 2), sign=(1, -1), label=(1, 1, -1, -1), active=active))
    assert (found["amplification"], found["gate_alignment"]) == (3, 4)
    askew = cosine.copy()
    askew[..., 1] += 0.1
    assert "amplification" not in instants(classified(askew, target=(0, 2), label=(1, 1, -1, -1), active=active))


def test_separation_is_when_every_sample_is_right_for_good():
    accuracy = np.array([0.5, 1, 0.9, 1, 1, 1, 1, 1, 1, 1])
    run = xr.Dataset({"accuracy": ("time", accuracy)}, {"time": TIME})
    assert instants(run) == {"separation": 3}


def test_phases_of_one_aligned_neuron_are_those_of_the_logistic_curve(on_table):
    """z = |w|^2 follows z' = 2 z (1 - z): the mass is tenfold, the loss (1 - z)^2/2 half, at times that are known."""
    one = {"x": [[1.0, 0.0]], "y": [1.0], "cluster": [0], "centers": [[1.0, 0.0]]}
    scenario = on_table(
        one,
        model__activation="relu",
        model__width=1,
        init__shape="nudged",
        init__nudge=1.0,
        init__scale=1e-2,
        init__signs="half",
        flow__rtol=1e-9,
        flow__until={"time": 10.0},
        observe__times=10_001,
    )
    found = flowsim.run(scenario)["phases"]["instant"].to_series()
    start = float((flowsim.build(scenario).hidden ** 2).sum())

    def reaches(mass):
        return 0.5 * np.log(mass / (1 - mass) * (1 - start) / start)

    exact = {"growth": reaches(10 * start), "half_loss": reaches(1 - (1 - start) / 2**0.5)}
    for name, time in exact.items():
        assert time - 1e-6 <= found[name] <= time + 1.001e-3
    assert found["alignment"] == found["burn_in"] == 0
