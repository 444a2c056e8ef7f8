"""How far a network is from a KKT point: against the definitions, with gradients by finite differences."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import flowsim
from flowsim.observe import Instant, Setting
from flowsim.observe.kinds.kkt import kkt_residual_best
from flowsim.observe.kkt import homogeneity
from flowsim.problem import reduce
from flowsim.solve import Snapshot

#: Networks of every homogeneity, with the power L that belongs to each.
NETWORKS = {
    "relu": ({"activation": "relu", "width": 5}, 2),
    "relu with bias": ({"activation": "relu", "width": 5, "bias": True}, 2),
    "fixed output": ({"activation": "relu", "width": 5, "output": "fixed", "output_weight": 0.3}, 1),
    "prelu": ({"activation": "prelu", "degree": 3, "width": 5}, 2),
    "relu power": ({"activation": "relu_power", "degree": 2, "width": 5}, 3),
    "relu power, fixed": (
        {"activation": "relu_power", "degree": 3, "width": 5, "output": "fixed", "output_weight": 1.0},
        3,
    ),
    "leaky": ({"activation": "leaky_relu", "slope": 0.1, "width": 5}, 2),
}
LOSSES = ("logistic", "exponential")


def network(problem: flowsim.Problem, hidden: np.ndarray, output: np.ndarray, x: np.ndarray) -> np.ndarray:
    """f(x) of weights in the original features, written out."""
    rows = np.hstack([x, np.ones((len(x), 1))]) if problem.bias else x
    z = rows @ hidden.T
    name = problem.activation.name
    if name == "prelu":
        h = np.maximum(z, 0) ** 3 / np.linalg.norm(hidden, axis=1) ** 2
    elif name == "relu_power":
        h = np.maximum(z, 0) ** problem.activation.degree
    else:
        h = np.where(z > 0, z, problem.activation.inactive_slope * z)
    return h @ output


def some_weights(problem: flowsim.Problem, grown: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Weights that classify the clusters: neurons a little off the centres of their sign."""
    random = np.random.default_rng(3)
    sign = problem.weights.output_sign
    toward = sign[:, None] * (problem.cluster_label @ problem.centers)
    hidden = toward + 0.2 * random.standard_normal(toward.shape)
    if problem.bias:
        hidden = np.hstack([hidden, 0.1 * random.standard_normal((len(hidden), 1))])
    size = random.uniform(0.5, 1.5, len(sign))
    output = size * sign if problem.trained_output else problem.output
    return math.exp(grown) * hidden, (math.exp(grown) if problem.trained_output else 1.0) * output


def instant_of(setting: Setting, hidden: np.ndarray, output: np.ndarray, log_factor: float = 0.0) -> Instant:
    """The instant with these weights, all that is trained times e^log_factor."""
    problem = setting.problem
    norm = np.linalg.norm(hidden, axis=1)
    unit = hidden / norm[:, None]
    features = problem.inputs.shape[1]
    direction = setting.reduced.lower(unit[:, :features], unit[:, -1])
    trained = log_factor if problem.trained_output else 0.0
    snapshot = Snapshot(0.0, direction, np.log(norm) + log_factor, np.sign(output), np.log(np.abs(output)) + trained)
    return Instant(setting, snapshot)


def definition(problem: flowsim.Problem, hidden: np.ndarray, output: np.ndarray) -> dict[str, float | np.ndarray]:
    """Lyu & Li's quantities for every sample on its own, by central differences."""
    theta = np.concatenate([hidden.ravel(), output]) if problem.trained_output else hidden.ravel()

    def margins(flat: np.ndarray) -> np.ndarray:
        own = flat[: hidden.size].reshape(hidden.shape)
        v = flat[hidden.size :] if problem.trained_output else output
        return problem.targets * network(problem, own, v, problem.inputs)

    def gradients(flat: np.ndarray) -> np.ndarray:
        steps = 1e-5 * np.eye(len(flat))
        return np.array([(margins(flat + step) - margins(flat - step)) / 2e-5 for step in steps]).T

    q, power = margins(theta), homogeneity(problem)
    p = np.exp(-q) if problem.loss.name == "exponential" else 1 / (1 + np.exp(q))
    loss = np.exp(-q).sum() if problem.loss.name == "exponential" else np.log1p(np.exp(-q)).sum()
    inverse = -np.log(loss) if problem.loss.name == "exponential" else -np.log(np.expm1(loss))
    h = p @ gradients(theta)
    size = np.linalg.norm(theta)
    multiplier = q.min() ** (1 - 2 / power) * size * p / np.linalg.norm(h)
    scaled = theta / q.min() ** (1 / power)
    epsilon = np.linalg.norm(scaled - multiplier @ gradients(scaled))
    delta = (multiplier * (margins(scaled) - 1)).max()
    enough = 1.0 if problem.loss.name == "exponential" else math.log(2)
    return {
        "normalised_margin": q.min() / size**power,
        "gradient_cosine": h @ theta / np.linalg.norm(h) / size,
        "smoothed_margin": inverse / size**power if loss < enough else math.nan,
        "multiplier": multiplier,
        "epsilon": epsilon,
        "delta": delta,
        "residual": max(epsilon / np.linalg.norm(scaled), delta / (scaled @ scaled)),
    }


@pytest.fixture(params=LOSSES)
def loss(request) -> str:
    return request.param


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("grown", [0.0, 1.5])
def test_every_quantity_is_as_defined(small, setting_of, loss, name, grown):
    model, power = NETWORKS[name]
    setting = setting_of(small(model=model, loss__kind=loss, data__noise={"total": 0.3}))
    problem = setting.problem
    assert homogeneity(problem) == power
    hidden, output = some_weights(problem, grown)
    certificate = instant_of(setting, hidden, output).certificate
    wanted = definition(problem, hidden, output)
    assert wanted["normalised_margin"] > 0
    for quantity, value in wanted.items():
        found = getattr(certificate, quantity)
        np.testing.assert_allclose(found, value, rtol=2e-6, atol=1e-9, err_msg=quantity)


def test_equal_samples_share_their_multiplier(small, setting_of, loss):
    """Merged or not, each of them has its own."""
    scenario = small(model=NETWORKS["relu"][0], loss__kind=loss, data__noise={"total": 0.0})
    problem = flowsim.build(scenario)
    hidden, output = some_weights(problem)
    merged, apart = Setting(reduce(problem)), Setting(reduce(problem, merge=False))
    assert merged.reduced.merged
    one, other = instant_of(merged, hidden, output).certificate, instant_of(apart, hidden, output).certificate
    np.testing.assert_allclose(one.multiplier[merged.reduced.representative], other.multiplier, rtol=1e-12)
    for quantity in ("normalised_margin", "smoothed_margin", "gradient_cosine", "epsilon", "delta", "residual"):
        np.testing.assert_allclose(getattr(one, quantity), getattr(other, quantity), rtol=1e-10)


@pytest.mark.parametrize("name", ["relu", "fixed output", "relu power"])
def test_a_network_of_any_size_is_certified(small, setting_of, loss, name):
    """Of a network of size e^300 the loss is 0 and its margins overflow, and only the smallest margin has a multiplier."""
    setting = setting_of(small(model=NETWORKS[name][0], loss__kind=loss, data__noise={"total": 0.3}))
    hidden, output = some_weights(setting.problem)
    plain = instant_of(setting, hidden, output)
    huge, tiny = (instant_of(setting, hidden, output, size).certificate for size in (300.0, -1000.0))
    for certificate in (huge, tiny):
        assert certificate.normalised_margin == pytest.approx(plain.certificate.normalised_margin, rel=1e-9)
        assert np.isfinite(certificate.residual)
    assert huge.smoothed_margin == pytest.approx(huge.normalised_margin, rel=1e-12)
    assert (huge.multiplier > 0).sum() == 1
    assert math.isnan(tiny.smoothed_margin)
    # where all losses are equal, so are the multipliers
    assert np.ptp(tiny.multiplier) == pytest.approx(0, abs=1e-9 * tiny.multiplier.max())


def test_a_network_that_is_wrong_somewhere_has_no_multipliers(small, setting_of, loss):
    setting = setting_of(small(model=NETWORKS["relu"][0], loss__kind=loss))
    hidden, output = some_weights(setting.problem)
    certificate = instant_of(setting, hidden, -output).certificate
    assert certificate.normalised_margin < 0
    assert -1 <= certificate.gradient_cosine <= 0
    for quantity in (certificate.residual, certificate.epsilon, certificate.delta, certificate.smoothed_margin):
        assert math.isnan(quantity)
    assert np.isnan(certificate.multiplier).all()
    assert np.isnan(certificate.support).all()


def test_a_sliding_neuron_is_not_pulled_off_its_planes(small, setting_of):
    """A neuron held on the plane of a sample: h has no part across it, and no part of the sample's own."""
    setting = setting_of(small(model=NETWORKS["relu"][0], loss__kind="exponential"))
    hidden, output = some_weights(setting.problem)
    x = setting.problem.inputs[0]
    hidden[2] -= (hidden[2] @ x) / (x @ x) * x
    instant = instant_of(setting, hidden, output)
    sliding = np.zeros((5, len(setting.reduced.targets)), dtype=bool)
    sliding[2, setting.reduced.representative[0]] = True
    held = Instant(setting, replace(instant.snapshot, sliding=sliding)).certificate
    problem = setting.problem
    p = np.exp(-problem.targets * network(problem, hidden, output, problem.inputs))
    gate = (hidden @ problem.inputs.T > 1e-12) & ~(sliding[:, setting.reduced.representative])
    pull = (gate * (p * problem.targets)) @ problem.inputs * output[:, None]
    pull[2] -= (pull[2] @ x) / (x @ x) * x
    h = np.concatenate([pull.ravel(), (gate * (p * problem.targets) * (hidden @ problem.inputs.T)).sum(axis=1)])
    theta = np.concatenate([hidden.ravel(), output])
    assert held.gradient_cosine == pytest.approx(h @ theta / np.linalg.norm(h) / np.linalg.norm(theta), rel=1e-10)


@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_the_smoothed_margin_of_a_flow_never_falls(small, activation, loss):
    run = flowsim.run(
        small(
            model={"activation": activation, "width": 8},
            loss__kind=loss,
            data__noise={"total": 0.4},
            init__scale=1e-2,
            flow__until={"log10_loss": -30.0, "steps": 50_000},
            observe={"times": 40, "spacing": "log"},
        )
    )
    kkt = run["kkt"].to_dataset()
    smoothed = kkt["smoothed_margin"].values
    after = smoothed[~np.isnan(smoothed)]
    assert len(after) > 10
    assert np.diff(after).min() >= -1e-6 * after.max()
    assert (kkt["smoothed_margin"] <= kkt["normalised_margin"] + 1e-12).values[~np.isnan(smoothed)].all()
    assert kkt["multiplier"].dims == ("time", "sample")


def test_until_kkt_ends_the_run_at_the_first_kept_instant_that_meets_it(small):
    run = flowsim.run(
        small(
            loss__kind="exponential",
            data__noise={"total": 0.0},
            flow__until={"kkt": 0.02, "steps": 50_000},
            init__scale=0.1,
            observe={"times": 40, "spacing": "log"},
        )
    )
    residual = run["kkt/kkt_residual"].values
    assert run.attrs["status"] == "done"
    assert "kkt 0.02" in run.attrs["status_cause"]
    # beside the last kept instant of the grid, that at which the run stopped is kept
    assert residual[-2:].min() <= 0.02
    assert not (residual[:-2] <= 0.02).any()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"loss__kind": "square"}, 'needs loss.kind = "logistic" or "exponential", not "square"'),
        ({"loss__kind": "logistic", "model__activation": "tanh"}, "needs a homogeneous network"),
        ({"loss__kind": "logistic", "seed": [0, 1]}, "for a run of a single seed"),
    ],
)
@pytest.mark.parametrize("asked", [{"flow__until": {"kkt": 1e-3, "time": 9.0}}, {"evaluate__limit": True}])
def test_what_has_no_limit_is_answered_with_the_reason(small, overrides, message, asked):
    with pytest.raises(flowsim.ScenarioError) as error:
        small(**overrides, **asked)
    assert message in str(error.value)
    assert ("flow.until.kkt" if "flow__until" in asked else "evaluate.limit") in str(error.value)


def test_real_targets_have_no_limit(on_table):
    scenario = on_table(
        {"x": np.eye(3), "y": np.array([1.0, -1.0, 0.5])}, loss__kind="logistic", flow__until={"kkt": 0.1}
    )
    with pytest.raises(flowsim.ScenarioError, match="targets"):
        flowsim.run(scenario)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_best_multipliers_are_no_worse_than_those_of_the_loss(small, setting_of, loss, name):
    """And no worse than others: as many of another loss, or of none."""
    setting = setting_of(small(model=NETWORKS[name][0], loss__kind=loss, data__noise={"total": 0.3}))
    hidden, output = some_weights(setting.problem)
    for size in (-3.0, 0.0, 2.0, 300.0):
        instant = instant_of(setting, hidden, output, size)
        best = float(kkt_residual_best(instant))
        assert 0 < best <= instant.certificate.residual
        # sizes change the loss's multipliers, not the best ones: they are found to e^(32/2^20), and better by rounding
        assert best == pytest.approx(float(kkt_residual_best(instant_of(setting, hidden, output))), rel=1e-3)


def test_the_best_multipliers_of_a_KKT_point_leave_nothing(small, setting_of):
    """Two neurons, one for each of two orthogonal clusters without noise: theta = sum lambda_i grad q_i by hand. Far from a
    late flow the loss's multipliers are others."""
    scenario = small(
        model={"activation": "relu", "width": 2},
        loss__kind="exponential",
        data={"dimension": 4, "positive": 1, "negative": 1, "samples": 6, "noise": {"total": 0.0}},
    )
    setting = setting_of(scenario)
    problem = setting.problem
    # of a centre of another length, |w|^2 = |v|^2 = 1/|mu| has margin 1
    length = np.linalg.norm(problem.centers, axis=1, keepdims=True)
    hidden, output = problem.centers / length**1.5, problem.cluster_label / length[:, 0] ** 0.5
    assert float(kkt_residual_best(instant_of(setting, hidden, output))) < 1e-12
    # a third of a neuron's size away from it there is no KKT point
    assert float(kkt_residual_best(instant_of(setting, hidden * [[1.0], [1.3]], output))) > 0.01


def test_more_weights_than_can_be_looked_at_have_no_best_multipliers(small):
    with pytest.raises(flowsim.ScenarioError, match="at most 1e\\+07 entries"):
        flowsim.run(
            small(
                model__width=20_000,
                loss__kind="exponential",
                data__samples=48,
                observe__variables=["kkt_residual_best"],
            )
        )
