"""The parts of a trajectory, and each neuron's history."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import flowsim
from flowsim.evaluate.neurons import neurons
from flowsim.evaluate.spans import STAGES, Span, spans

TIME = np.arange(20.0)


def falling(half: float, converged: float, aligned: float | None = None, **attributes) -> xr.Dataset:
    """A loss that halves and converges at these times, of one neuron that is aligned from a time on."""
    loss = np.where(converged <= TIME, 0.01, np.where(half <= TIME, 0.4, 1.0))
    run = xr.Dataset({"log10_loss": ("time", np.log10(loss))}, {"time": TIME}, attributes)
    if aligned is not None:
        run["cosine"] = (("time", "neuron", "cluster"), np.where(aligned <= TIME, 1.0, 0.1)[:, None, None])
        run = run.assign_coords(target_cluster=("neuron", [0]))
    return run


def test_each_part_begins_where_the_one_before_it_ends():
    assert spans(falling(8, 12, aligned=5)) == (
        Span("alignment", 0, 5),
        Span("growth", 5, 8),
        Span("convergence", 8, 12),
        Span("late", 12, 19),
    )


def test_what_is_not_reached_goes_on_to_the_end():
    assert [(span.name, span.end) for span in spans(falling(99, 99, aligned=5))] == [("alignment", 5), ("growth", 19)]
    assert spans(xr.Dataset({"log10_loss": ("time", np.zeros(20))}, {"time": TIME})) == ()


def test_neurons_that_align_after_the_loss_has_halved_end_no_part():
    assert [span.name for span in spans(falling(8, 12, aligned=15))] == ["growth", "convergence", "late"]


def test_a_loss_without_a_minimum_is_late_once_it_has_halved_and_every_margin_is_positive():
    run = falling(8, 12, scenario='[loss]\nkind = "logistic"')
    run["accuracy"] = ("time", np.where(TIME >= 10, 1.0, 0.9))
    assert spans(run)[1:] == (Span("convergence", 8, 10), Span("late", 10, 19))
    run["accuracy"] = ("time", np.where(TIME >= 2, 1.0, 0.9))
    assert spans(run) == (Span("growth", 0, 8), Span("late", 8, 19))


@given(half=st.integers(0, 25), converged=st.integers(0, 25), aligned=st.integers(0, 25))
def test_parts_follow_each_other_without_gaps_in_the_order_of_the_stages(half, converged, aligned):
    found = spans(falling(half, converged, aligned))
    order = [[*STAGES].index(span.name) for span in found]
    assert order == sorted(set(order))
    edges = [edge for span in found for edge in (span.begin, span.end)]
    assert edges == sorted(edges)
    assert edges[1:-1:2] == edges[2::2]
    assert not found or (edges[0], edges[-1]) == (TIME[0], TIME[-1])


def test_a_part_is_a_dataset_of_its_instants():
    run = falling(8, 12, aligned=5).assign_coords(snapshot=("snapshot", [0.0, 6.0, 19.0]))
    assert run.flow.phase("growth")["time"].values.tolist() == [5, 6, 7, 8]
    assert run.flow.phase("growth")["snapshot"].values.tolist() == [6]


def test_a_part_that_is_not_there_is_answered_with_those_that_are():
    run = falling(8, 12, aligned=5)
    with pytest.raises(flowsim.UsageError, match='no part "burn_in"; it has alignment, growth, convergence, late'):
        run.flow.phase("burn_in")
    with pytest.raises(flowsim.UsageError, match='did you mean "growth"'):
        run.flow.phase("grwoth")


def of_two_seeds(first: xr.Dataset, second: xr.Dataset) -> xr.Dataset:
    return xr.concat([first, second], xr.IndexVariable("seed", [3, 5]))


def test_of_an_ensemble_the_parts_end_at_medians_and_one_member_is_taken_by_its_seed():
    both = of_two_seeds(falling(8, 12), falling(10, 16))
    assert [span.end for span in spans(both)] == [9, 14, 19]
    assert both.flow.phase("convergence", seed=5)["time"].values[[0, -1]].tolist() == [10, 16]
    with pytest.raises(flowsim.UsageError, match="choose its seed; there are 3, 5"):
        both.flow.phase("growth")
    with pytest.raises(flowsim.UsageError, match="seed 4 is not in this ensemble"):
        both.flow.phase("growth", seed=4)


def test_a_member_ends_where_it_stopped():
    stopped = falling(8, 12)
    stopped["log10_loss"][15:] = np.nan
    both = of_two_seeds(stopped, falling(8, 12))
    assert both.flow.phase("late", seed=3)["time"].values[-1] == 14


def three_neurons() -> xr.Dataset:
    """One that is aligned from 4 on, one that changes from its first to its second own centre, one in the void region."""
    cosine = np.zeros((20, 3, 3))
    cosine[:, 0, 0] = np.where(TIME >= 4, 0.99, 0.2)
    cosine[:, 1, 0], cosine[:, 1, 1] = np.where(TIME >= 7, 0.2, 0.3), np.where(TIME >= 7, 0.6, 0.1)
    cosine[:, 2] = -0.5, -0.4, -0.3
    known = {"target_cluster": [0, 0, -1], "neuron_sign": [1, 1, 1]}
    return xr.Dataset(
        {"cosine": (("time", "neuron", "cluster"), cosine)},
        {
            "time": TIME,
            **{name: ("neuron", values) for name, values in known.items()},
            "cluster_label": ("cluster", [1, 1, -1]),
        },
    )


def test_every_neuron_has_its_history():
    table = three_neurons().flow.neurons
    assert table["changes"].tolist() == [0, 1, 0]
    assert table["target"].tolist() == [0, 0, -1]
    assert table["final_cluster"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(table["alignment_time"], [4, np.nan, np.nan])
    np.testing.assert_array_equal(neurons(three_neurons(), aligned=0.55)["alignment_time"], [4, 7, np.nan])


def test_a_neuron_that_turns_away_in_the_end_was_not_aligned():
    run = three_neurons()
    run["cosine"][-1, 0, 0] = 0.5
    assert np.isnan(run.flow.neurons["alignment_time"][0])


def test_histories_need_cosines():
    with pytest.raises(flowsim.UsageError, match="need cosine"):
        _ = three_neurons().drop_vars("cosine").flow.neurons
