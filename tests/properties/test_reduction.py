"""The exact reduction keeps every number the flow depends on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import flowsim
from flowsim.kinds.samples import Samples
from flowsim.problem import Problem, Reduced, reduce


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Problems with features that depend on each other, equal samples, equal inputs with other targets, any scale."""
    samples, features, rank = draw(st.integers(1, 12)), draw(st.integers(1, 12)), draw(st.integers(0, 4))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    distinct = generator.standard_normal((draw(st.integers(1, samples)), min(rank, features)))
    directions = generator.standard_normal((min(rank, features), features))
    inputs = (distinct @ directions)[generator.integers(len(distinct), size=samples)]
    inputs *= 10.0 ** draw(st.integers(-12, 12))
    targets = generator.choice([1.0, -1.0], samples)
    centers = generator.standard_normal((3, features))
    cluster = generator.integers(3, size=samples)
    model = f"[data]\npositive = 1\nnegative = 0\nsamples = 1\ndimension = {features}\n[model]\nwidth = 4\n"
    overrides = {"model.bias": draw(st.booleans()), "seed": draw(st.integers(0, 9))}
    plain = flowsim.build(flowsim.loads(model, overrides=overrides))
    return replace(
        plain,
        samples=Samples.supervised(
            "class",
            inputs=inputs,
            label=targets,
            sample_cluster=cluster,
            centers=centers,
            cluster_label=np.array([1, -1, 1]),
        ),
        sample_weight=generator.random(samples),
    )


def pre_activations(reduced: Reduced) -> np.ndarray:
    """(n, m) of the original samples."""
    return (reduced.inputs @ reduced.direction.T)[reduced.representative]


def augmented(problem: Problem) -> np.ndarray:
    ones = np.ones((len(problem.inputs), int(problem.bias)))
    return np.concatenate([problem.inputs, ones], axis=1)


def close(actual, expected, size):
    np.testing.assert_allclose(actual, expected, atol=1e-12 * max(size, 1e-300), rtol=0)


@given(problem=problems())
def test_inner_products_between_neurons_and_samples_are_preserved(problem):
    size = np.linalg.norm(augmented(problem), axis=1).max()
    close(pre_activations(reduce(problem)), augmented(problem) @ problem.weights.direction.T, size)


@given(problem=problems())
def test_weights_lifted_and_lowered_again_are_the_same(problem):
    reduced = reduce(problem)
    back = reduced.lower(*reduced.lift(reduced.direction))
    assert back.shape == reduced.direction.shape
    close(back, reduced.direction, 1.0)


@given(problem=problems())
def test_inner_products_between_samples_are_preserved(problem):
    reduced = reduce(problem)
    gram = (reduced.inputs @ reduced.inputs.T)[np.ix_(reduced.representative, reduced.representative)]
    expected = augmented(problem) @ augmented(problem).T
    close(gram, expected, np.abs(expected).max())


@given(problem=problems())
def test_inner_products_between_neurons_and_centres_are_preserved(problem):
    reduced = reduce(problem)
    expected = problem.hidden_direction @ problem.centers.T
    close(reduced.center_products(reduced.direction), expected, np.linalg.norm(problem.centers, axis=1).max())


@given(problem=problems())
def test_the_norms_of_neurons_are_preserved(problem):
    reduced = reduce(problem)
    close(np.linalg.norm(reduced.direction, axis=1), np.ones(4), 1.0)
    close(reduced.feature_norms(reduced.direction), np.linalg.norm(problem.hidden_direction, axis=1), 1.0)


@given(problem=problems())
def test_lifting_the_start_gives_the_start(problem):
    reduced = reduce(problem)
    direction, bias = reduced.lift(reduced.direction)
    close(direction, problem.hidden_direction, 1.0)
    close(bias, problem.hidden_bias_direction, 1.0)


@given(problem=problems(), seed=st.integers(0, 2**32))
def test_a_neuron_that_moved_along_the_data_is_lifted_to_where_it_moved(problem, seed):
    # w <- w + sum_i a_i x_i, which is all that a gradient can do, in the reduced and in the original coordinates
    reduced = reduce(problem)
    pull = np.random.default_rng(seed).standard_normal((4, len(reduced.targets)))
    pull /= max(np.abs(reduced.inputs).max(), 1e-300)
    direction, bias = reduced.lift(reduced.direction + pull @ reduced.inputs)
    original = problem.weights.direction + pull @ augmented(problem)[first_of_each_group(reduced)]
    close(direction, original[:, : problem.inputs.shape[1]], np.abs(original).max())
    if problem.bias:
        close(bias, original[:, -1], np.abs(original).max())


def first_of_each_group(reduced: Reduced) -> np.ndarray:
    return np.unique(reduced.representative, return_index=True)[1]


@given(problem=problems())
def test_merging_joins_equal_samples_and_no_others(problem):
    reduced = reduce(problem)
    rows = np.column_stack([problem.inputs, problem.targets])
    for index, row in enumerate(rows):
        equal = (rows == row).all(axis=1)
        np.testing.assert_array_equal(equal, reduced.representative == reduced.representative[index])
        assert reduced.targets[reduced.representative[index]] == problem.targets[index]
        np.testing.assert_allclose(
            reduced.sample_weight[reduced.representative[index]], problem.sample_weight[equal].sum(), rtol=1e-13
        )


@given(problem=problems())
def test_a_reduced_problem_is_never_larger(problem):
    reduced = reduce(problem)
    assert reduced.direction.shape[1] <= problem.weights.direction.shape[1]
    assert len(reduced.targets) <= len(problem.targets)
    assert reduced.projected == (reduced.direction.shape[1] < problem.weights.direction.shape[1])
    if reduced.projected:
        rank = np.linalg.matrix_rank(problem.inputs)
        assert reduced.direction.shape[1] == rank + 1 + problem.bias
