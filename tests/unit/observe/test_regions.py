"""Activation regions, margins, features and the conditions on XOR, against plain formulas on the weights that were kept."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.kinds.clusters import frame
from flowsim.observe import OBSERVABLES, Instant, Setting
from flowsim.observe.kinds.xor import C0, capture_sets, is_xor
from flowsim.problem import reduce

NAMES = [
    "margin_gap",
    "loss_derivative_ratio",
    "activation_region",
    "feature_change",
    "neuron_alignment",
    "almost_orthogonality",
]
XOR = """
[data]
dimension = 12
centers = "centers.npy"
noise = { per_coordinate = 0.1 }
samples = 40
label_noise = 0.1
[model]
activation = "relu"
width = 20
output = "fixed"
output_weight = 0.3
[init]
scale = 1e-2
signs = "half"
[loss]
kind = "logistic"
[flow]
until = { time = 1.5 }
[observe]
times = 5
snapshots = "all"
"""


@pytest.fixture(scope="module")
def xor(tmp_path_factory):
    """A scenario on XOR centres of this norm; keywords override its keys."""

    def make(norm: float = 1.0, **overrides) -> flowsim.Scenario:
        folder = tmp_path_factory.mktemp("xor")
        axes = frame(2, 12, None, np.random.default_rng(1))
        np.save(folder / "centers.npy", norm * np.array([axes[0], -axes[0], axes[1], -axes[1]]))
        changed = {key.replace("__", "."): value for key, value in overrides.items()}
        return flowsim.loads(XOR, folder=folder, overrides=changed)

    return make


@pytest.fixture(scope="module", params=[1.0, 3.0], ids=["unit centres", "longer centres"])
def flown(request, xor) -> tuple[flowsim.Problem, xr.Dataset, np.ndarray]:
    """(problem, run, weights (time, neuron, feature))"""
    scenario = xor(request.param, observe__variables=[*NAMES, "log_norm", "margin", "loss_derivative"])
    run = flowsim.run(scenario).dataset
    return flowsim.build(scenario), run, np.exp(run["log_norm"].values)[..., None] * run["direction"].values


def test_the_margin_gap_and_the_ratio_of_loss_derivatives(flown):
    _, run, _ = flown
    margin, slope = run["margin"].values, abs(run["loss_derivative"].values)
    np.testing.assert_allclose(run["margin_gap"], margin.max(axis=1) - margin.min(axis=1))
    np.testing.assert_allclose(run["loss_derivative_ratio"], slope.max(axis=1) / slope.min(axis=1))
    assert (run["loss_derivative_ratio"] <= np.exp(run["margin_gap"]) * (1 + 1e-12)).all()  # Li et al. 2025, Lemma B.6


def test_a_sample_is_inside_where_it_activates_every_neuron_of_its_class(flown):
    problem, run, hidden = flown
    for time, weights in enumerate(hidden):
        active = problem.inputs @ weights.T > 0
        inside = [all(active[i, j] for j in range(20) if problem.output[j] * problem.targets[i] > 0) for i in range(40)]
        assert run["activation_region"][time] == pytest.approx(np.mean(inside))


def test_of_several_outputs_a_sample_is_inside_where_it_activates_those_that_raise_its_own(xor):
    changes = {"data.supervision": "cluster", "data.label_noise": 0.0, "loss.kind": "cross_entropy"}
    changes |= {"observe.variables": ["activation_region", "log_norm"]}
    scenario = xor(**{key.replace(".", "__"): value for key, value in changes.items()})
    problem, run = flowsim.build(scenario), flowsim.run(scenario).dataset
    hidden = np.exp(run["log_norm"].values)[..., None] * run["direction"].values
    seen = []
    for time, weights in enumerate(hidden):
        active = problem.inputs @ weights.T > 0
        raising = (problem.neuron_output == problem.sample_cluster[:, None]) & (problem.output > 0)
        seen.append((active | ~raising).all(axis=1).mean())
        assert run["activation_region"][time] == pytest.approx(seen[-1])
    assert 0 < raising.sum() < raising.size
    assert len(set(seen)) > 1


def test_features_change_relative_to_where_they_began(flown):
    problem, run, hidden = flown
    features = np.maximum(np.einsum("tjd,id->tij", hidden, problem.inputs), 0)
    change = np.linalg.norm(features - features[0], axis=2) / np.linalg.norm(features[0], axis=1)
    assert change[-1].min() > 1
    np.testing.assert_allclose(run["feature_change"], change.mean(axis=1), atol=1e-12)


def test_features_of_any_scale_change_alike_while_only_gates_matter(xor, setting_of, moved):
    """Scaling all weights changes no relative change."""
    values = []
    for scale in (1.0, 1e-200):
        setting = setting_of(xor(init__scale=scale))
        values.append(OBSERVABLES["feature_change"].value(Instant(setting, moved(setting, 1.0))))
    assert values[0] == pytest.approx(values[1], rel=1e-10)
    assert values[0] > 0.1


def test_samples_that_activate_nothing_at_first_are_left_out_of_the_mean(on_table, moved):
    arrays = {"x": np.array([[1.0, 0.0], [0.9, 0.1], [-1.0, 0.0]]), "y": [1.0, 1.0, -1.0]}
    scenario = on_table(arrays, model__activation="relu", model__width=1, seed=0)
    setting = Setting(reduce(flowsim.build(scenario)))
    active = setting.problem.inputs @ setting.problem.hidden_direction[0] > 0
    assert 0 < active.sum() < 3
    later = moved(setting, 1.0)
    features = np.maximum(
        setting.problem.inputs @ setting.reduced.lift(later.direction)[0][0] * np.exp(later.log_norm[0]), 0
    )
    first = np.maximum(setting.problem.inputs @ setting.problem.hidden[0], 0)
    expected = (abs(features - first)[active] / first[active]).mean()
    assert OBSERVABLES["feature_change"].value(Instant(setting, later)) == pytest.approx(expected)


def test_captured_are_neurons_whose_cosine_with_a_centre_of_their_sign_is_large_enough(flown):
    problem, _, _ = flown
    captured = capture_sets(problem)
    unit = problem.centers / np.linalg.norm(problem.centers, axis=1, keepdims=True)
    for neuron, cluster in enumerate(captured):
        own = [0, 1] if problem.output[neuron] > 0 else [2, 3]
        cosine = unit @ problem.hidden[neuron] / np.linalg.norm(problem.hidden[neuron])
        reached = [k for k in own if cosine[k] >= 1 / (3 * C0 * 12**0.5)]
        assert ([cluster] if cluster >= 0 else []) == reached
    assert (capture_sets(problem, 1e9) >= 0).all()
    assert (capture_sets(problem, 1e-9) < 0).all()


def test_alignment_counts_the_gates_of_condition_4_7(flown):
    problem, run, hidden = flown
    captured, cluster = capture_sets(problem), problem.sample_cluster
    assert (captured >= 0).any()
    for time, weights in enumerate(hidden):
        right = []
        for j in np.flatnonzero(captured >= 0):
            right += list(problem.inputs[cluster == captured[j]] @ weights[j] > 0)
            right += list(problem.inputs[cluster == captured[j] ^ 1] @ weights[j] <= 0)
        assert run["neuron_alignment"][time] == pytest.approx(np.mean(right))
    assert run["neuron_alignment"][-1] == 1


def test_within_noise_larger_than_the_centres_neurons_are_not_aligned(xor, setting_of, moved):
    setting = setting_of(xor(data__noise={"per_coordinate": 3.0}))
    share = OBSERVABLES["neuron_alignment"].value(Instant(setting, moved(setting, 0.0)))
    assert 0.4 < share < 0.8


def test_almost_orthogonality_is_the_largest_projection_on_the_other_sign(flown):
    problem, run, hidden = flown
    captured = capture_sets(problem)
    for time, weights in enumerate(hidden):
        largest = max(
            abs(weights[j] @ problem.centers[2 if captured[j] < 2 else 0]) / 0.3 for j in np.flatnonzero(captured >= 0)
        )
        expected = largest / np.linalg.norm(problem.centers[0])
        assert run["almost_orthogonality"][time] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_many_instants_at_once_are_as_one_by_one(name, xor, setting_of, moved):
    setting = setting_of(xor())
    each = [moved(setting, time) for time in (0.0, 1.0, 2.0)]
    value = OBSERVABLES[name].value
    together = value(Instant(setting, type(each[0]).stack(each)))
    np.testing.assert_allclose(together, [value(Instant(setting, one)) for one in each], rtol=1e-12)


def test_only_opposite_pairs_of_one_norm_at_a_right_angle_are_xor(small, xor):
    assert is_xor(flowsim.build(xor()))
    assert not is_xor(flowsim.build(small()))
    assert not is_xor(flowsim.build(xor(data__positive=1, data__negative=3)))
    with pytest.raises(flowsim.ScenarioError, match="four centres of XOR"):
        flowsim.run(small(observe__variables=["neuron_alignment"]))
