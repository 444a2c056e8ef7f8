"""The weights the flow starts from."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.kinds.streams import stream

SHAPES = ["gaussian", "sphere", "nudged"]


def whole(problem: flowsim.Problem) -> np.ndarray:
    """(m, d + 1): hidden weights with the bias entry."""
    return np.column_stack([problem.hidden, problem.hidden_bias])


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_the_scale_times_the_shape(small, shape):
    unit, scaled = (flowsim.build(small(init={"shape": shape, "scale": scale})) for scale in (1.0, 1e-7))
    np.testing.assert_allclose(scaled.hidden, 1e-7 * unit.hidden, rtol=1e-12)
    np.testing.assert_allclose(scaled.output, 1e-7 * unit.output, rtol=1e-12)


def test_gaussian_entries_have_mean_0_and_variance_1(small):
    entries = flowsim.build(small(model__width=2000, init__scale=1.0)).hidden
    assert abs(entries.mean()) < 5 / entries.size**0.5
    assert abs(entries.var() - 1) < 5 * (2 / entries.size) ** 0.5


def test_rows_of_a_sphere_have_the_scale_as_norm(small):
    problem = flowsim.build(small(init={"shape": "sphere", "scale": 0.25}))
    np.testing.assert_allclose(np.linalg.norm(problem.hidden, axis=1), 0.25, rtol=1e-14)


@pytest.mark.parametrize("nudge", [0.05, 0.5, 1.0])
def test_a_nudge_moves_each_neuron_towards_a_centre_stretched_to_its_norm(small, nudge):
    # w <- w + nudge (mu - w)
    plain = flowsim.build(small(init__scale=1.0)).hidden
    problem = flowsim.build(small(init={"shape": "nudged", "scale": 1.0, "nudge": nudge}, data__radius=3.0))
    chosen = stream(0, "initialisation.nudge").integers(4, size=6)
    norm = np.linalg.norm(plain, axis=1, keepdims=True)
    center = norm * problem.centers[chosen] / 3.0
    np.testing.assert_allclose(problem.hidden, plain + nudge * (center - plain), atol=1e-13)


def test_a_nudge_towards_own_centres_takes_those_of_the_neuron_s_sign_in_turn(small):
    start = {"shape": "nudged", "nudge": 1.0, "toward": "own", "signs": "half"}
    problem = flowsim.build(small(init=start, model__width=8))
    products = problem.weights.direction @ problem.centers.T
    np.testing.assert_array_equal(products.argmax(axis=1), [0, 1, 0, 1, 2, 3, 2, 3])
    np.testing.assert_allclose(products.max(axis=1), 1.0)


def test_a_nudge_towards_own_centres_needs_one_for_every_sign(small):
    start = {"shape": "nudged", "toward": "own", "signs": "half"}
    with pytest.raises(flowsim.ScenarioError, match=r"init\.toward: .*centre labelled -1"):
        flowsim.build(small(init=start, data__negative=0))


def test_a_nudge_towards_centres_needs_centres(on_table):
    table = {"x": np.eye(3), "y": np.ones(3)}
    with pytest.raises(flowsim.ScenarioError, match=r"init\.shape: .*needs cluster centres"):
        flowsim.build(on_table(table, init={"shape": "nudged"}))


def test_a_nudge_never_makes_a_weight_that_is_not_finite(on_table):
    # the mean of the first cluster is the origin
    table = {"x": np.array([[1.0], [-1.0], [2.0]]), "y": np.array([1.0, 1.0, -1.0]), "cluster": np.array([0, 0, 1])}
    scenario = on_table(table, init={"shape": "nudged"}, model__width=20)
    try:
        problem = flowsim.build(scenario)
    except flowsim.ScenarioError:
        return
    assert np.isfinite(problem.weights.direction).all()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_balanced_start_has_output_weights_as_large_as_their_neurons(small, shape, bias):
    problem = flowsim.build(small(init__shape=shape, model__bias=bias))
    np.testing.assert_allclose(np.abs(problem.output), np.linalg.norm(whole(problem), axis=1), rtol=1e-14)
    assert problem.balanced


def test_an_unbalanced_start_draws_output_weights_independently(small):
    problem = flowsim.build(small(init__balanced=False, init__scale=0.1, model__width=4000))
    size = problem.output / 0.1
    assert abs(size.mean()) < 5 / 4000**0.5
    assert abs(size.var() - 1) < 5 * (2 / 4000) ** 0.5
    assert abs(np.corrcoef(np.abs(size), problem.hidden_log_norm)[0, 1]) < 5 / 4000**0.5
    assert not problem.balanced


def test_fixed_output_weights_have_the_size_asked_for(small):
    problem = flowsim.build(small(model={"output": "fixed", "output_weight": 0.2}))
    # exp(log(0.2)): some eps, of either function
    np.testing.assert_allclose(np.abs(problem.output), 0.2, rtol=1e-14)
    assert not problem.trained_output
    assert not problem.balanced


@pytest.mark.parametrize(("activation", "conserved"), [("relu", True), ("leaky_relu", True), ("tanh", False)])
def test_balance_is_claimed_only_where_the_flow_conserves_it(small, activation, conserved):
    assert flowsim.build(small(model={"activation": activation})).balanced == conserved


@pytest.mark.parametrize(("width", "signs"), [(4, [1, 1, -1, -1]), (5, [1, 1, 1, -1, -1]), (1, [1])])
def test_half_of_the_signs_are_positive_and_come_first(small, width, signs):
    problem = flowsim.build(small(model__width=width, init__signs="half"))
    assert np.sign(problem.output).tolist() == signs


def test_random_signs_are_fair(small):
    signs = np.sign(flowsim.build(small(model__width=4000)).output)
    assert set(signs) == {-1.0, 1.0}
    assert abs(signs.mean()) < 5 / 4000**0.5


def test_the_bias_is_an_entry_of_the_weight_vector(small):
    problem = flowsim.build(small(model__bias=True))
    np.testing.assert_allclose(np.exp(problem.hidden_log_norm), np.linalg.norm(whole(problem), axis=1), rtol=1e-14)
    assert (problem.hidden_bias != 0).all()
    assert (flowsim.build(small()).hidden_bias == 0).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1e-300, 5e-324, 1.0, 1e300])
def test_no_scale_is_too_small_or_too_large(small, scale, shape):
    problem = flowsim.build(small(init={"shape": shape, "scale": scale}))
    np.testing.assert_allclose(np.linalg.norm(problem.hidden_direction, axis=1), 1, rtol=1e-14)
    unit = flowsim.build(small(init={"shape": shape, "scale": 1.0}))
    np.testing.assert_allclose(problem.hidden_log_norm, np.log(scale) + unit.hidden_log_norm, rtol=1e-14)
    np.testing.assert_allclose(problem.hidden_direction, unit.hidden_direction, rtol=1e-14)


def test_weights_of_size_1e_minus_300_are_numbers_of_their_own(small):
    problem = flowsim.build(small(init__scale=1e-300))
    assert (problem.hidden != 0).all()
    assert (problem.output != 0).all()


@pytest.mark.parametrize("width", [6, 40])
def test_an_orthonormal_start_keeps_lengths(small, width):
    hidden = flowsim.build(small(init={"shape": "orthonormal", "scale": 0.5}, model__width=width)).hidden
    gram = hidden @ hidden.T if width <= 12 else hidden.T @ hidden
    np.testing.assert_allclose(gram, 0.25 * np.eye(len(gram)), atol=1e-15)


def test_every_orthonormal_start_is_as_likely_as_its_mirror_image(small):
    problems = (flowsim.build(small(init={"shape": "orthonormal", "scale": 1.0}, seed=seed)) for seed in range(200))
    entries = np.array([problem.hidden[0, 0] for problem in problems])
    # of the first entry of a unit vector in 12 dimensions
    assert abs((entries > 0).mean() - 0.5) < 5 * 0.5 / 200**0.5
    assert abs(entries.var() - 1 / 12) < 0.04


def test_every_layer_of_an_orthonormal_start_is_orthonormal(small):
    model = {"kind": "mlp", "widths": [7, 5]}
    problem = flowsim.build(small(init={"shape": "orthonormal", "scale": 1.0}, model=model))
    for matrix in (problem.hidden, *problem.leaves):
        gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-14)


@pytest.mark.parametrize("balanced", [True, False])
def test_an_antisymmetric_start_has_the_output_0(small, balanced):
    init = {"signs": "antisymmetric", "scale": 0.3, "balanced": balanced}
    problem = flowsim.build(small(init=init, model={"activation": "tanh", "width": 8, "bias": True}))
    np.testing.assert_array_equal(whole(problem)[:4], whole(problem)[4:])
    np.testing.assert_array_equal(problem.output[:4], -problem.output[4:])
    assert len(set(np.sign(problem.output[:4]))) == 2
    run = flowsim.run(small(init=init, model__width=8, flow__until={"steps": 1}))
    np.testing.assert_allclose(run["margin"][0], 0.0, atol=1e-15)
    assert np.abs(run["margin"][-1]).max() > 1e-8


def test_the_neurons_of_every_output_have_twins_among_them(small):
    classes = {"loss__kind": "cross_entropy", "data__supervision": "cluster", "model__width": 16}
    problem = flowsim.build(small(init={"signs": "antisymmetric"}, **classes))
    by_output = problem.hidden.reshape(4, 4, -1)
    np.testing.assert_array_equal(by_output[:, :2], by_output[:, 2:])
    signs = problem.output.reshape(4, 4)
    np.testing.assert_array_equal(signs[:, :2], -signs[:, 2:])


def test_an_antisymmetric_start_needs_an_even_number_of_neurons(small):
    with pytest.raises(flowsim.ScenarioError, match=r"init\.signs: .* an even number of neurons .* there are 7"):
        flowsim.build(small(init={"signs": "antisymmetric"}, model__width=7))


def test_a_dominated_start_has_output_weights_that_many_times_as_large(small):
    problem = flowsim.build(small(init={"balanced": False, "ratio": 3.0, "scale": 1e-5}))
    np.testing.assert_allclose(np.abs(problem.output), 3 * np.linalg.norm(problem.hidden, axis=1), rtol=1e-13)
    with pytest.raises(flowsim.ScenarioError, match=r"init\.ratio: only with balanced = false"):
        small(init={"ratio": 3.0})
    with pytest.raises(flowsim.ScenarioError, match=r"init\.ratio: only with model\.output"):
        small(model={"output": "fixed", "output_weight": 1.0}, init={"balanced": False, "ratio": 2.0})
    with pytest.raises(flowsim.ScenarioError, match=r"init\.ratio: not for model\.kind"):
        small(model={"kind": "linear"}, init={"balanced": False, "ratio": 2.0})
