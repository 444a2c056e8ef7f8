"""Data with the targets of a teacher: that they are what they say, and what is said where keys don't go together."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim


def build(**sections):
    return flowsim.build(flowsim.Scenario({"loss": {"kind": "square"}, **sections}))


def test_the_correlation_of_white_inputs_and_targets_has_the_teacher_s_singular_values():
    data = {"kind": "linear_teacher", "dimension": 6, "outputs": 4, "strengths": [3.0, 0.5], "samples": 30}
    problem = build(data=data, model={"kind": "deep_linear"})
    np.testing.assert_allclose(problem.inputs.T @ problem.inputs / 30, np.eye(6), atol=1e-12)
    found = np.linalg.svd(problem.targets.T @ problem.inputs / 30, compute_uv=False)
    np.testing.assert_allclose(found, [3, 0.5, 0, 0], atol=1e-12)


def test_a_sparse_teacher_has_norm_1_and_as_many_entries_as_asked_for():
    problem = build(data={"kind": "sparse_regression", "dimension": 10, "sparsity": 4, "samples": 12})
    beta = np.linalg.lstsq(problem.inputs, problem.targets)[0]
    np.testing.assert_allclose(np.sort(beta), [0] * 6 + [0.5] * 4, atol=1e-12)


@pytest.mark.parametrize("measurements", ["gaussian", "entries", "commuting"])
def test_measurements_are_of_one_matrix_of_the_singular_values_asked_for(measurements):
    data = {"kind": "matrix_sensing", "size": 4, "strengths": [2.0, 1.0], "samples": 16, "measurements": measurements}
    problem = build(data=data, model={"kind": "matrix_factorization"})
    matrix = np.linalg.lstsq(problem.inputs, problem.targets)[0].reshape(4, 4)
    np.testing.assert_allclose(np.linalg.svd(matrix, compute_uv=False), [2, 1, 0, 0], atol=1e-10)
    np.testing.assert_allclose(problem.inputs @ matrix.ravel(), problem.targets, atol=1e-10)
    measured = problem.inputs.reshape(-1, 4, 4)
    commute = np.allclose(measured[0] @ measured[1], measured[1] @ measured[0])
    assert commute == (measurements == "commuting") or measurements == "entries"


@pytest.mark.parametrize(("exponent", "degree"), [(1, 1), (2, 2), (3, 3), (4, 4)])
def test_a_single_index_teacher_sees_the_normalised_hermite_polynomial_of_its_direction(exponent, degree):
    problem = build(data={"kind": "single_index", "dimension": 3, "exponent": exponent, "samples": 200})
    (direction,) = problem.centers
    polynomial = np.polynomial.hermite_e.hermeval(problem.inputs @ direction, np.eye(degree + 1)[degree])
    np.testing.assert_allclose(np.linalg.norm(direction), 1)
    np.testing.assert_allclose(problem.targets**2, polynomial**2 / [1, 2, 6, 24][degree - 1], atol=1e-10)


def test_a_prompt_s_answers_and_target_are_of_one_task():
    data = {"kind": "in_context_regression", "dimension": 2, "examples": 3, "samples": 5}
    problem = build(data=data, model={"kind": "linear_attention", "examples": 3})
    for prompt, target in zip(problem.inputs.reshape(5, 3, 4), problem.targets, strict=True):
        task, error, *_ = np.linalg.lstsq(prompt[:2, :3].T, prompt[2, :3])
        np.testing.assert_allclose(error, 0, atol=1e-20)
        np.testing.assert_allclose(task @ prompt[:2, 3], target)
        assert prompt[2, 3] == 0


def test_held_out_samples_are_of_the_same_teacher_and_not_those_that_are_trained_on():
    data = {"kind": "sparse_regression", "dimension": 5, "sparsity": 2, "samples": 8, "test": {"samples": 9}}
    problem = build(data=data)
    beta = np.linalg.lstsq(problem.inputs, problem.targets)[0]
    np.testing.assert_allclose(problem.test.inputs @ beta, problem.test.targets, atol=1e-12)
    assert not np.isin(problem.test.inputs, problem.inputs).any()


@pytest.mark.parametrize("kind", ["linear_teacher", "sparse_regression", "single_index"])
def test_with_a_seed_of_their_own_runs_of_several_seeds_share_a_teacher(kind):
    first, second = (build(seed=seed, data={"kind": kind, "dimension": 6, "samples": 30, "seed": 7}) for seed in (0, 1))
    assert not np.isin(first.inputs, second.inputs).any()
    if kind == "single_index":
        np.testing.assert_array_equal(first.centers, second.centers)
    else:
        found = [np.linalg.lstsq(problem.inputs, problem.targets)[0] for problem in (first, second)]
        np.testing.assert_allclose(*found, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[data]\nkind = "linear_teacher"\nstrengths = [1.0, 2.0]', 3, "2 singular values of a matrix of 1 rows"),
        ('[data]\nkind = "linear_teacher"\nsamples = 5', 3, "5 samples cannot be white in 10 dimensions"),
        ('[data]\nkind = "points"\nx = [[1.0], [2.0, 3.0]]\ny = [1.0, 1.0]', 3, "x[1]: has 2 features"),
        ('[data]\nkind = "points"\nx = [[1.0]]\ny = [1.0, 1.0]', 4, "has 2 targets, x has 1 samples"),
        ('[data]\nkind = "sparse_regression"\ndimension = 3\nsparsity = 4', 4, "4 entries of 3"),
        ('[data]\nkind = "in_context_regression"\nvariances = [1.0]', 3, "has 1 numbers, x has 5 entries"),
        ('[init]\nshape = "aligned"', 2, '"aligned" is not for model.kind = "two_layer"'),
        ('[data]\nkind = "single_index"\n[loss]\nkind = "logistic"', 4, "is for labels +1/-1"),
        ('[data]\nkind = "points"\nx = [[1.0]]\ny = [2.0]\n[loss]\nkind = "exponential"', 6, "has real targets"),
        ('[data]\nkind = "linear_teacher"\noutputs = 2', 1, '"two_layer" has one output, and targets have 2 entries'),
        ('[data]\nkind = "single_index"\n[model]\nkind = "matrix_factorization"', 4, "10 features are not the entries"),
        ('[data]\nkind = "single_index"\n[model]\nkind = "linear_attention"', 3, "a prompt of 21 columns"),
        ('[model]\nkind = "matrix_factorization"\nsymmetric = true\ndepth = 3', 4, "W W^T is of depth 2"),
    ],
)
def test_keys_that_do_not_go_together_are_answered_at_their_line(text, line, message):
    with pytest.raises(flowsim.ScenarioError) as refused:
        flowsim.build(flowsim.loads(text, name="a.toml"))
    assert f"a.toml:{line}:" in str(refused.value)
    assert message in str(refused.value)


def test_labels_that_a_scenario_lists_are_for_any_loss():
    problem = build(data={"kind": "points", "x": [[1.0], [2.0]], "y": [1.0, -1.0]}, loss={"kind": "logistic"})
    np.testing.assert_array_equal(problem.targets, [1, -1])


def test_points_may_be_held_out_of_a_list():
    data = {"kind": "points", "x": [[1.0], [2.0], [3.0], [4.0]], "y": [1.0, 2.0, 3.0, 4.0], "test": {"fraction": 0.25}}
    problem = build(data=data)
    assert (len(problem.targets), len(problem.test.targets)) == (3, 1)
    np.testing.assert_array_equal(np.sort([*problem.targets, *problem.test.targets]), [1, 2, 3, 4])
    np.testing.assert_array_equal(problem.test.inputs[:, 0], problem.test.targets)
