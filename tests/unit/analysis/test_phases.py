"""Named instants of made-up trajectories whose crossings are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import flowsim  # noqa: F401  registers ds.flow
from flowsim.analysis import phases, target_cosine

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
    loss = np.array([8, 4, 2.0, 5, 3, 2, 1.5, 1, 1, 1])
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
