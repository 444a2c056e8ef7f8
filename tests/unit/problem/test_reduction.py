"""The exact reduction: when it pays, what it merges, and what it must not."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.problem import reduce, reduction


def reduced(scenario: flowsim.Scenario, **options: bool):
    return reduce(flowsim.build(scenario), **options)


def table(x, y=None, **more):
    x = np.asarray(x, dtype=float)
    return {
        "x": x,
        "y": np.where(np.arange(len(x)) % 2, 1.0, -1.0) if y is None else np.asarray(y, dtype=float),
        **more,
    }


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("options", "rank"),
    [
        ({"data__dimension": 40}, 24),
        ({"data__dimension": 26}, 24),
        ({"data__noise": {"total": 0.0}}, 4),
        ({"data__noise": {"total": 0.0}, "data__centers": "random_sphere", "data__radius": 1e-8}, 4),
    ],
    ids=["more features than samples", "just", "no noise", "no noise and tiny data"],
)
def test_neurons_move_in_the_span_of_the_data_and_one_direction_each(small, options, rank, bias):
    result = reduced(small(model__bias=bias, **options))
    assert result.projected
    assert result.direction.shape == (6, rank + 1 + bias)
    assert result.inputs.shape[1] == rank + 1 + bias


@pytest.mark.parametrize(
    "options",
    [{}, {"data__dimension": 25}, {"data__dimension": 24}, {"data__dimension": 4, "data__noise": {"total": 0.0}}],
    ids=["full rank", "one feature to save", "as many features as samples", "as many centres as features"],
)
def test_where_the_span_is_no_smaller_the_features_stay(small, options):
    result = reduced(small(**options))
    assert not result.projected
    np.testing.assert_array_equal(result.direction, result.problem.hidden_direction)


def test_features_that_are_always_zero_are_left_out(on_table):
    x = np.random.default_rng(0).standard_normal((30, 6))
    x[:, [1, 3, 5]] = 0
    result = reduced(on_table(table(x)))
    assert result.direction.shape[1] == 3 + 1
    # one such feature saves nothing: its place is taken by the direction outside
    x[:, [1, 3]] = 1 + x[:, [0, 2]] ** 2
    assert not reduced(on_table(table(x))).projected


def test_data_that_are_all_zero_span_nothing(on_table):
    result = reduced(on_table(table(np.zeros((3, 4)))))
    np.testing.assert_allclose(result.direction, np.ones((5, 1)), rtol=1e-14)
    assert (result.inputs == 0).all()


def test_each_part_can_be_switched_off(small):
    scenario = small(data__noise={"total": 0.0})
    assert (reduced(scenario).projected, reduced(scenario).merged) == (True, 20)
    assert (reduced(scenario, project=False).projected, reduced(scenario, project=False).merged) == (False, 20)
    assert (reduced(scenario, merge=False).projected, reduced(scenario, merge=False).merged) == (True, 0)


def test_equal_samples_become_one_with_the_sum_of_their_weights(on_table):
    result = reduced(on_table(table([[1, 2], [3, 4], [1, 2], [1, 2]], y=[1, 1, 1, 1])))
    np.testing.assert_array_equal(result.inputs, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(result.sample_weight, [0.75, 0.25])
    np.testing.assert_array_equal(result.representative, [0, 1, 0, 0])
    assert result.merged == 2


def test_minus_zero_is_zero(on_table):
    assert reduced(on_table(table([[0.0, 1.0], [-0.0, 1.0]], y=[0.0, -0.0]))).merged == 1


def test_equal_inputs_with_different_targets_stay_apart(on_table):
    assert reduced(on_table(table([[1, 2], [1, 2]], y=[1, -1]))).merged == 0


def test_label_noise_splits_a_cluster_in_two(small):
    result = reduced(small(data__noise={"total": 0.0}, data__label_noise=0.25, data__samples=400))
    # four centres, each with right and flipped labels
    assert len(result.targets) == 8


def test_merged_samples_stand_for_every_sample(small):
    result = reduced(small(data__noise={"total": 0.0}, data__label_noise=0.25), project=False)
    np.testing.assert_array_equal(result.inputs[result.representative], result.problem.inputs)
    np.testing.assert_array_equal(result.targets[result.representative], result.problem.targets)
    np.testing.assert_allclose(
        np.bincount(result.representative, result.problem.sample_weight), result.sample_weight, rtol=1e-14
    )


@pytest.mark.parametrize("at_a_time", [1, 30, 10**6])
def test_a_basis_is_found_some_rows_at_a_time(monkeypatch, at_a_time):
    monkeypatch.setattr(reduction, "AT_A_TIME", at_a_time)
    flat = np.random.default_rng(0).standard_normal((50, 3)) @ np.random.default_rng(1).standard_normal((3, 8))
    basis = reduction._span(flat)
    assert basis.shape == (8, 3)
    np.testing.assert_allclose(flat @ basis @ basis.T, flat, atol=1e-13)
