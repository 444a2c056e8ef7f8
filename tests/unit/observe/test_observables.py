"""Every observable against the same quantity computed plainly from the weights that the run kept."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from support.reference import Plain

import flowsim
from flowsim.observe import OBSERVABLES, Instant

#: One run per row: every activation that is smooth, every loss and reduction, with and without bias, reduced and not.
RUNS = {
    "prelu, unbalanced start, flipped labels": {
        "init": {"balanced": False, "scale": 0.1},
        "data__label_noise": 0.25,
    },
    "tanh with bias, logistic": {
        "model": {"activation": "tanh", "width": 6, "bias": True},
        "init__scale": 0.3,
        "loss": {"kind": "logistic", "reduction": "per_cluster"},
    },
    "relu power with bias in the span of the data": {
        "model": {"activation": "relu_power", "degree": 2.5, "width": 6, "bias": True},
        "data__dimension": 60,
        "init__scale": 0.5,
        "loss": {"kind": "exponential", "reduction": "sum"},
        "flow__until": {"time": 1.0},
    },
    "equal samples merged, in the span of the centres": {
        "data__noise": {"total": 0.0},
        "data__label_noise": 0.25,
        "data__balanced": False,
        "init__scale": 0.1,
    },
}


@pytest.fixture(scope="module", params=RUNS.values(), ids=list(RUNS))
def pair(request, small) -> tuple[flowsim.Problem, xr.Dataset]:
    scenario = small(observe={"times": 4, "snapshots": "all"}, **request.param)
    return flowsim.build(scenario), flowsim.run(scenario).to_dataset()


@pytest.fixture
def problem(pair) -> flowsim.Problem:
    return pair[0]


@pytest.fixture
def run(pair) -> xr.Dataset:
    return pair[1]


@pytest.fixture
def weights(pair) -> np.ndarray:
    """(time, neuron, feature + 1): hidden weights, the bias entry last, 0 without a bias."""
    _, run = pair
    bias = run["bias_weight"] if "bias_weight" in run else xr.zeros_like(run["log_norm"].rename(time="snapshot"))
    direction = np.concatenate([run["direction"].values, bias.values[..., None]], axis=-1)
    return np.exp(run["log_norm"].values)[..., None] * direction


@pytest.fixture
def outputs(pair, weights) -> np.ndarray:
    """(time, sample): f(x)"""
    problem, run = pair
    hidden = weights if problem.bias else weights[..., :-1]
    return np.array(
        [Plain(problem).neurons(hidden[t]) @ run["output_weight"].values[t] for t in range(run.sizes["time"])]
    )


def target_of(problem: flowsim.Problem) -> list[int]:
    """Each neuron's centre of its own sign with the largest positive cosine at time 0, else -1."""
    found = []
    for neuron, sign in zip(problem.hidden, np.sign(problem.output), strict=True):
        best, cluster = 0.0, -1
        for k, (center, label) in enumerate(zip(problem.centers, problem.cluster_label, strict=True)):
            cosine = neuron @ center / np.linalg.norm(neuron) / np.linalg.norm(center)
            if label == sign and cosine > best:
                best, cluster = cosine, k
        found.append(cluster)
    return found


def test_the_first_instant_is_the_start_of_the_problem(problem, run, weights):
    start = np.column_stack([problem.hidden, problem.hidden_bias])
    np.testing.assert_allclose(weights[0], start, rtol=0, atol=1e-13 * np.abs(start).max())
    np.testing.assert_allclose(run["output_weight"][0], problem.output, rtol=1e-13)
    np.testing.assert_array_equal(run["neuron_sign"], np.sign(problem.output))


def test_the_weights_have_moved(weights):
    # otherwise the tests below say little
    assert np.abs(weights[-1] - weights[0]).max() > 0.1 * np.abs(weights[0]).max()


def test_log_norm_and_direction_are_of_the_weights_with_their_bias(run):
    square = (run["direction"] ** 2).sum("feature")
    if "bias_weight" in run:
        square = square + run["bias_weight"] ** 2
    np.testing.assert_allclose(square, 1, rtol=1e-13)


def test_cosine(problem, run, weights):
    hidden = weights[..., :-1]
    size = np.linalg.norm(hidden, axis=-1)[..., None] * np.linalg.norm(problem.centers, axis=1)
    np.testing.assert_allclose(run["cosine"], hidden @ problem.centers.T / size, atol=1e-13)


def test_margin(problem, run, outputs):
    np.testing.assert_allclose(run["margin"], problem.targets * outputs, rtol=1e-11, atol=1e-13)


def test_loss_and_log10_loss(problem, run, outputs):
    margin = problem.targets * outputs
    per_sample = {
        "square": (outputs - problem.targets) ** 2 / 2,
        "logistic": np.log(1 + np.exp(-margin)),
        "exponential": np.exp(-margin),
    }[problem.loss.name]
    np.testing.assert_allclose(run["loss"], per_sample @ problem.sample_weight, rtol=1e-12)
    np.testing.assert_allclose(run["log10_loss"], np.log10(per_sample @ problem.sample_weight), atol=1e-12)


def test_loss_derivative(problem, run, outputs):
    margin = problem.targets * outputs
    expected = {
        "square": outputs - problem.targets,
        "logistic": -problem.targets / (1 + np.exp(margin)),
        "exponential": -problem.targets * np.exp(-margin),
    }[problem.loss.name]
    np.testing.assert_allclose(run["loss_derivative"], expected, rtol=1e-11, atol=1e-13)


def test_accuracy(problem, run, outputs):
    np.testing.assert_allclose(run["accuracy"], (problem.targets * outputs > 0).mean(axis=1), rtol=1e-15)


def test_accuracy_is_that_of_clean_and_of_noisy_samples_together(problem, run, outputs):
    flipped = problem.label != problem.cluster_label[problem.sample_cluster]
    if not flipped.any():
        assert {"clean_accuracy", "noisy_accuracy", "clean_label"}.isdisjoint(run.variables)
        return
    right = np.sign(outputs) == problem.label
    np.testing.assert_allclose(run["clean_accuracy"], right[:, ~flipped].mean(axis=1), rtol=1e-15)
    np.testing.assert_allclose(run["noisy_accuracy"], right[:, flipped].mean(axis=1), rtol=1e-15)
    np.testing.assert_array_equal(run["clean_label"], problem.cluster_label[problem.sample_cluster])


def test_target_cluster(problem, run):
    np.testing.assert_array_equal(run["target_cluster"], target_of(problem))


def test_cluster_mass_and_void_mass_share_out_the_whole_mass(problem, run, weights):
    square = (weights**2).sum(axis=-1)
    target = np.array(target_of(problem))
    for cluster in range(len(problem.centers)):
        expected = square[:, target == cluster].sum(axis=1)
        np.testing.assert_allclose(run["cluster_mass"][:, cluster], expected, rtol=1e-12)
    np.testing.assert_allclose(run["void_mass"], square[:, target < 0].sum(axis=1), rtol=1e-12)


def test_active_fraction(problem, run, weights):
    inputs = np.column_stack([problem.inputs, np.ones(len(problem.inputs))])
    # a sample exactly on a neuron's boundary may fall on either side by rounding
    products = weights @ inputs.T
    assert np.abs(products).min() > 0
    for cluster in range(len(problem.centers)):
        members = problem.sample_cluster == cluster
        expected = (products[..., members] > 0).mean(axis=-1)
        np.testing.assert_allclose(run["active_fraction"][..., cluster], expected, atol=1e-14)


def test_balance_drift(problem, run, weights):
    if problem.activation.degree is None:
        assert "balance_drift" not in run
        return
    # |w|^2 - q v^2, conserved where h is homogeneous of degree q in w
    square, output = (weights**2).sum(axis=-1), run["output_weight"].values ** 2
    excess = square - problem.activation.homogeneity * output
    size = np.maximum(square, output)
    expected = np.abs(excess - excess[0]) / np.maximum(size, size[0])
    np.testing.assert_allclose(run["balance_drift"], expected.max(axis=1), atol=1e-12)


def test_coordinates_of_the_samples_and_clusters(problem, run):
    np.testing.assert_array_equal(run["label"], problem.label)
    np.testing.assert_array_equal(run["sample_cluster"], problem.sample_cluster)
    np.testing.assert_array_equal(run["cluster_label"], problem.cluster_label)


def value(name: str, setting, snapshot):
    return np.asarray(OBSERVABLES[name].value(Instant(setting, snapshot)))


def test_observables_are_scaled_not_lost_at_a_scale_of_1e_minus_300(small, setting_of, moved):
    usual, tiny = (setting_of(small(init__scale=scale)) for scale in (1e-3, 1e-300))
    for name in ("cosine", "active_fraction", "balance_drift"):
        # logarithms near -690 have an eps of 1e-13
        np.testing.assert_allclose(
            value(name, tiny, moved(tiny, 1.0)), value(name, usual, moved(usual, 1.0)), rtol=1e-11
        )
    shift = 2 * 297 * np.log(10)
    for name in ("log_cluster_mass", "log_void_mass"):
        np.testing.assert_allclose(
            value(name, tiny, moved(tiny, 1.0)), value(name, usual, moved(usual, 1.0)) - shift, rtol=1e-12
        )
    # the weights of 24 samples add up to 1 but for n eps
    np.testing.assert_allclose(value("loss", tiny, moved(tiny, 0.0)), 0.5, rtol=1e-14)


def test_a_sample_that_occurs_often_counts_as_often(on_table, setting_of, moved):
    table = {"x": np.array([[1.0], [1.0], [1.0], [-1.0]]), "y": np.ones(4), "cluster": np.zeros(4)}
    setting = setting_of(on_table(table))
    start = moved(setting, 0.0)
    expected = np.where(setting.problem.hidden > 0, 0.75, 0.25)
    np.testing.assert_array_equal(value("active_fraction", setting, start), expected)


def test_where_all_samples_of_a_cluster_are_active_the_fraction_is_exactly_1(on_table, setting_of, moved):
    # clusters of 1, 2, 3, … samples: 1/49 added up 49 times is less than 1
    cluster = np.repeat(np.arange(60), np.arange(1, 61))
    table = {"x": 1.0 + np.arange(len(cluster))[:, None], "y": np.ones(len(cluster)), "cluster": cluster}
    setting = setting_of(on_table(table))
    positive = setting.problem.hidden > 0
    assert positive.any()
    found = value("active_fraction", setting, moved(setting, 0.0))
    np.testing.assert_array_equal(found, np.broadcast_to(positive, found.shape))


def test_logarithmic_companions_are_logarithms(small, setting_of, moved):
    setting = setting_of(small())
    snapshot = moved(setting, 1.0)
    for name in ("cluster_mass", "void_mass", "output_weight"):
        linear, logarithm = (value(form, setting, snapshot) for form in (name, f"log_{name}"))
        np.testing.assert_allclose(np.exp(logarithm), np.abs(linear), rtol=1e-12)


def test_a_cluster_that_no_neuron_targets_has_no_mass(small, setting_of, moved):
    setting = setting_of(small(model__width=1))
    mass = value("cluster_mass", setting, moved(setting, 0.0))
    assert (mass > 0).sum() == (setting.target[0] >= 0)
    empty = mass == 0
    assert empty.sum() >= 3
    assert (value("log_cluster_mass", setting, moved(setting, 0.0))[empty] == -np.inf).all()


def test_balance_drift_is_a_number_for_a_neuron_that_dies_out(small, setting_of, moved):
    # a neuron of the wrong sign shrinks like e^-t for as long as the run goes on
    setting = setting_of(small())
    start = moved(setting, 0.0)
    gone = type(start)(1e6, start.direction, start.log_norm - 1e6, start.output_sign, start.output_log - 1e6)
    assert value("balance_drift", setting, gone) == 0
