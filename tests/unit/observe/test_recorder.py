"""Kept instants: which weights are held, how samples are summarised, and that a recorder can be put down and taken up."""

from __future__ import annotations

import numpy as np
import pytest

from flowsim.observe import QUANTILES, Instant, Setting, instant, recorder
from flowsim.solve import Passed


@pytest.fixture
def filled(recorder_of, moved, report_at):
    """A recorder that has kept the instants 0, 1, 2, …"""

    def make(scenario, instants: int):
        recording = recorder_of(scenario)
        for time in range(instants):
            recording.keep(Passed.of([(moved(recording.setting, time / 100), report_at(time / 100, steps=time))]))
        return recording

    return make


@pytest.mark.parametrize(
    ("snapshots", "held"),
    [("none", []), ("ends", [0, 10]), ("all", list(range(11))), (2, [0, 10]), (11, list(range(11)))],
)
def test_weights_are_held_at_the_instants_asked_for(small, filled, snapshots, held):
    kept = filled(small(observe__snapshots=snapshots), 11).trajectory(complete=True)
    assert kept.kept_weights.tolist() == held
    assert kept.direction.shape == (len(held), 6, 12)


@pytest.mark.parametrize("instants", [7, 50])
@pytest.mark.parametrize("wanted", [3, 4, 5, 7])
def test_a_number_of_snapshots_is_kept_with_both_ends_and_no_large_gap(small, filled, wanted, instants):
    held = (
        filled(small(observe={"times": instants, "snapshots": wanted}), instants).trajectory(complete=True).kept_weights
    )
    assert (len(held), held[0], held[-1]) == (wanted, 0, instants - 1)
    assert np.diff(held).max() <= 2 * (instants - 1) / (wanted - 1)


def test_weights_are_held_in_the_original_features(small, filled, moved):
    recording = filled(small(data__dimension=60, observe__snapshots="all"), 3)
    assert recording.setting.reduced.projected
    expected, _ = recording.setting.reduced.lift(moved(recording.setting, 0.02).direction)
    kept = recording.trajectory(complete=True)
    np.testing.assert_array_equal(kept.direction[2], expected)
    np.testing.assert_allclose(kept.direction[0], recording.setting.problem.hidden_direction, atol=1e-14)


def test_thinning_drops_every_other_instant_the_second_first(small, filled):
    recording = filled(small(observe__snapshots="all", flow__until={"loss": 0.1}), 7)
    recording.thin()
    kept = recording.trajectory(complete=True)
    np.testing.assert_array_equal(kept.time, [0.0, 0.02, 0.04, 0.06])
    np.testing.assert_array_equal(kept.numerics["steps"], [0, 2, 4, 6])
    assert {len(values) for values in kept.variables.values()} == {4}
    assert kept.kept_weights.tolist() == [0, 1, 2, 3]


def test_too_many_samples_are_summarised_by_the_quantiles_of_each_cluster(small, filled, moved, monkeypatch):
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 0)
    # merged samples count as often as they occur
    recording = filled(small(data__noise={"total": 0.0}, data__label_noise=0.25), 2)
    setting = recording.setting
    kept = recording.trajectory(complete=True)
    assert not {"margin", "loss_derivative"} & set(kept.variables)
    margin = Instant(setting, moved(setting, 0.01)).margin[setting.reduced.representative]
    for cluster in range(4):
        expected = np.quantile(margin[setting.problem.sample_cluster == cluster], QUANTILES)
        np.testing.assert_array_equal(kept.variables["margin_quantile"][1, cluster], expected)


def test_where_clusters_are_unknown_the_quantiles_are_of_all_samples(on_table, filled, monkeypatch):
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 0)
    kept = filled(on_table({"x": np.eye(4), "y": np.ones(4)}), 2).trajectory(complete=True)
    assert kept.variables["margin_quantile"].shape == (2, len(QUANTILES))


def test_a_cluster_without_samples_has_no_quantiles(on_table, filled, monkeypatch):
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 0)
    table = {"x": np.eye(4), "y": np.ones(4), "cluster": np.array([0, 0, 2, 2]), "centers": np.eye(4)[:3]}
    quantiles = filled(on_table(table), 2).trajectory(complete=True).variables["margin_quantile"]
    assert np.isnan(quantiles[:, 1]).all()
    assert np.isfinite(quantiles[:, [0, 2]]).all()


@pytest.mark.parametrize("snapshots", ["none", "ends", "all", 3, 7])
@pytest.mark.parametrize("loose", [False, True], ids=["cut at an instant", "cut between instants"])
def test_a_recorder_taken_up_again_ends_with_what_it_would_have_had(
    small, filled, recorder_of, moved, report_at, snapshots, loose
):
    scenario = small(observe={"times": 50, "snapshots": snapshots, "variables": ["log_norm"]})
    whole = filled(scenario, 50).trajectory(complete=True)
    for cut in range(1, 50, 6):
        first = filled(scenario, cut)
        if loose:
            first.keep(Passed.of([(moved(first.setting, cut / 100 - 0.005), report_at(cut / 100 - 0.005))]))
        second = recorder_of(scenario)
        second.restore(first.trajectory(complete=False), drop_last=loose)
        for time in range(cut, 50):
            second.keep(Passed.of([(moved(second.setting, time / 100), report_at(time / 100, steps=time))]))
        again = second.trajectory(complete=True)
        np.testing.assert_array_equal(again.time, whole.time)
        np.testing.assert_array_equal(again.numerics["steps"], whole.numerics["steps"])
        np.testing.assert_array_equal(again.variables["log_norm"], whole.variables["log_norm"])
        np.testing.assert_array_equal(again.kept_weights, whole.kept_weights, err_msg=f"cut at {cut}")
        np.testing.assert_array_equal(again.direction, whole.direction)


def test_the_phase_goes_from_alignment_over_growth_to_convergence(small, recorder_of, moved, report_at):
    recording = recorder_of(small(init__scale=1e-3))
    assert recording.phase == "start"
    recording.keep(Passed.of([(moved(recording.setting, 0.0), report_at(0.0))]))
    assert recording.phase == "alignment"
    # masses grow like e^2t: tenfold at ln(10)/2 = 1.15
    recording.keep(Passed.of([(moved(recording.setting, 1.1), report_at(1.1))]))
    assert recording.phase == "alignment"
    recording.keep(Passed.of([(moved(recording.setting, 1.2), report_at(1.2))]))
    assert recording.phase == "growth"


@pytest.mark.parametrize(
    ("instants", "at_once", "seen"),
    [(6, 1, 7), (7, 1, 8), (6, 4, 6), (7, 4, 7), (6, 5, 6), (7, 5, 7), (6, 100, 4), (7, 100, 5)],
)
def test_what_waits_is_dropped_unseen(small, filled, moved, report_at, noted, monkeypatch, at_once, seen, instants):
    def thinned(at_once: int):
        monkeypatch.setattr(Setting, "batch", at_once)
        recording = filled(small(observe__snapshots="all", flow__until={"loss": 0.1}), instants)
        recording.thin()
        later = moved(recording.setting, 0.2)
        recording.keep(Passed.of([(later, report_at(0.2, steps=20))]))
        assert recording.log_loss == Instant(recording.setting, later).log_loss
        return recording.trajectory(complete=True)

    expected = thinned(1)
    noted.clear()
    found = thinned(at_once)
    assert sum(noted) == seen
    assert (
        found.kept_weights.tolist() == expected.kept_weights.tolist() == list(range(instants // 2 + instants % 2 + 1))
    )
    np.testing.assert_array_equal(found.direction, expected.direction)
    for name, values in expected.variables.items():
        np.testing.assert_array_equal(found.variables[name], values, err_msg=name)


@pytest.fixture
def noted(monkeypatch) -> list[int]:
    """How many instants were observed, batch by batch."""
    observed, observe = [], recorder.Selection.observe

    def noting(selection, many):
        observed.append(len(many.time))
        return observe(selection, many)

    monkeypatch.setattr(recorder.Selection, "observe", noting)
    return observed


@pytest.mark.parametrize(
    ("loss", "until", "at_once"),
    [("square", {"time": 20.0}, []), ("logistic", {"loss": 1e-9}, []), ("logistic", {"kkt": 1e-9}, [1] * 11)],
    ids=["time", "loss", "kkt"],
)
def test_instants_are_observed_together_unless_a_stop_condition_watches_each(
    small, filled, noted, loss, until, at_once
):
    recording = filled(small(model={"activation": "relu"}, loss__kind=loss, flow__until=until), 11)
    assert recording.setting.batch > 11
    assert noted == at_once
    assert len(recording.trajectory(complete=True).variables["loss"]) == 11
    assert noted == (at_once or [11])


def test_waiting_instants_are_no_more_than_a_batch(small, filled, monkeypatch):
    monkeypatch.setattr(instant, "BATCH_BYTES", 1)
    recording = filled(small(), 3)
    assert {len(values) for values in recording._variables.values()} == {3}
