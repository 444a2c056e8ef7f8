"""The distance to the ideal classifier on the sphere: closed forms, another optimiser, invariances, and in a result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import flowsim
from flowsim.evaluate.robustness import TwoLayer, power_classifier
from flowsim.evaluate.sphere import sphere_distance

SEEDS = st.integers(0, 9999)


def ideal(clusters: int = 4, dimension: int = 10, degree: float = 3) -> TwoLayer:
    label = np.where(np.arange(clusters) < clusters // 2, 1, -1)
    return power_classifier(np.eye(clusters, dimension), label, degree)


def near(seed: int, spread: float, neurons: int = 12, clusters: int = 4, dimension: int = 10) -> TwoLayer:
    """As training leaves a network: neurons around the centres, of masses that about add up to 1 for each of them."""
    generator = np.random.default_rng(seed)
    to = ideal(clusters, dimension)
    cluster = np.arange(neurons) % clusters
    mass = generator.exponential(size=neurons)
    mass /= np.bincount(cluster, mass)[cluster] * (1 + spread * generator.standard_normal(clusters))[cluster]
    hidden = to.direction[cluster] + spread * generator.standard_normal((neurons, dimension)) / dimension**0.5
    hidden *= (mass**0.5 / np.linalg.norm(hidden, axis=1))[:, None]
    return TwoLayer.of(hidden, np.zeros(neurons), np.sign(to.weight)[cluster] * mass**0.5, to.activation)


def another_supremum(network: TwoLayer, to: TwoLayer, factor: float, seed: int = 0) -> float:
    """sup |factor f - F| by a quasi-Newton method from random points and from perturbed neurons."""
    generator = np.random.default_rng(seed)

    def negative(z, sign):
        norm = np.linalg.norm(z)
        x = z / norm
        value = factor * network(x[None]) - to(x[None])
        gradient = sign * (factor * network.gradient(x[None]) - to.gradient(x[None]))[0]
        return -sign * value[0], -(gradient - gradient @ x * x) / norm

    begins = [*generator.standard_normal((6, to.dimension)), *(to.direction + 0.1), *(network.direction[:4] + 0.1)]
    ends = [minimize(negative, z, args=(s,), jac=True, method="BFGS").fun for z in begins for s in (1.0, -1.0)]
    return -min(ends)


@settings(max_examples=4)
@given(seed=SEEDS, spread=st.sampled_from([1e-3, 0.03, 0.3]))
def test_another_optimiser_finds_the_same(seed, spread):
    network, to = near(seed, spread), ideal()
    found = sphere_distance(network, to)
    assert found.up_to_scale == pytest.approx(another_supremum(network, to, found.factor), rel=1e-3)
    assert found.as_it_is == pytest.approx(another_supremum(network, to, 1.0), rel=1e-3)
    # the supremum is convex in the factor: no better on either side of the one that was found
    for other in (0.999, 1.001):
        assert another_supremum(network, to, other * found.factor) >= found.up_to_scale * (1 - 1e-3)


@settings(max_examples=10)
@given(seed=SEEDS, degree=st.sampled_from([1.0, 2.0, 3.0, 4.5]), factor=st.floats(1e-3, 1e3))
def test_a_multiple_of_the_ideal_is_at_no_distance(seed, degree, factor):
    generator = np.random.default_rng(seed)
    to = power_classifier(generator.standard_normal((4, 6)), np.array([1, -1, 1, -1]), degree)
    found = sphere_distance(to * factor, to)
    assert found.up_to_scale <= 1e-6 * found.size
    assert found.factor == pytest.approx(1 / factor, rel=1e-5)
    assert found.as_it_is == pytest.approx(abs(factor - 1) * found.size, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(("degree", "size"), [(2.0, 1.0), (3.0, 1.0), (6.0, 1.0), (1.0, 3**0.5)])
def test_of_nothing_the_distance_is_the_size_of_the_ideal(degree, size):
    """Orthonormal centres: sum x_k^p over the unit sphere is at most 1 for p >= 2, and sqrt(K_1) for p = 1."""
    to = ideal(6, degree=degree)
    found = sphere_distance(to * 0.0, to)
    assert (found.up_to_scale, found.as_it_is, found.size) == pytest.approx((size, size, size), rel=1e-6)


def test_unequal_clusters_are_at_the_distance_of_their_masses():
    """c (1 + a) - 1 = 1 - c (1 - a) at c = 1: what is closest to masses 1 + a and 1 - a is off by a."""
    to = ideal(2)
    network = replace(to, weight=to.weight * np.array([1.2, 0.8]))
    assert sphere_distance(network, to).up_to_scale == pytest.approx(0.2, rel=1e-4)


def test_outside_of_the_span_of_the_centres_noise_counts():
    """A single neuron tilted by an angle t: f - F = cos(a - t)^3 - cos(a)^3 in the plane of both."""
    tilt, angle = 0.02, np.linspace(-np.pi, np.pi, 2_000_001)
    to = replace(ideal(2), weight=np.array([1.0, 0.0]))
    tilted = np.zeros((1, 10))
    tilted[0, [0, 5]] = np.cos(tilt), np.sin(tilt)
    network = TwoLayer.of(tilted, np.zeros(1), np.ones(1), to.activation)
    apart = np.maximum(np.cos(angle - tilt), 0) ** 3 - np.maximum(np.cos(angle), 0) ** 3
    assert sphere_distance(network, to).as_it_is == pytest.approx(np.abs(apart).max(), rel=1e-6)


@settings(max_examples=8)
@given(seed=SEEDS)
def test_rotations_and_more_starts_change_nothing(seed):
    network, to = near(seed, 0.05), ideal()
    found = sphere_distance(network, to)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((10, 10)))[0]
    turned = sphere_distance(network.within(turn), to.within(turn))
    more = sphere_distance(network, to, starts=200)
    for other in (turned, more):
        assert other.up_to_scale == pytest.approx(found.up_to_scale, rel=1e-3)
        assert other.as_it_is == pytest.approx(found.as_it_is, rel=1e-3)


def test_a_network_of_any_size_is_compared_up_to_scale():
    network, to = near(1, 0.05), ideal()
    log = network.log_norm - 1000.0
    tiny = TwoLayer.of_logs(
        network.direction,
        network.offset,
        log,
        np.sign(network.weight),
        np.log(np.abs(network.output)) - 1000.0,
        to.activation,
    )
    found, plain = sphere_distance(tiny, to), sphere_distance(network, to)
    assert found.up_to_scale == pytest.approx(plain.up_to_scale, rel=1e-3)
    assert found.as_it_is == pytest.approx(1.0)


def test_a_run_keeps_its_distance_over_time_or_at_the_end(small, tmp_path):
    wanted = {"evaluate__distance": {"to": "ideal", "over_time": True}, "observe__snapshots": 4}
    tree = flowsim.run(small(**wanted, observe__variables=["loss"]), tmp_path / "run.nc")
    kept = tree["distance"].to_dataset()
    assert kept["distance"].dims == ("snapshot",)
    assert (kept["distance"] <= kept["unscaled_distance"] + 1e-9).all()
    with flowsim.open(tmp_path / "run.nc") as opened:
        again, last = flowsim.distance(opened, over_time=True), flowsim.distance(opened)
    np.testing.assert_allclose(again["distance"], kept["distance"], rtol=1e-6)
    assert last["distance"].item() == pytest.approx(kept["distance"].values[-1], rel=1e-6)
    assert last["distance"].attrs == kept["distance"].attrs
    at_end = flowsim.run(small(evaluate__distance={"to": "ideal"}))
    assert at_end["distance/distance"].shape == ()


def test_what_cannot_be_compared_is_refused_before_the_run(small):
    with pytest.raises(flowsim.ScenarioError, match="both labels"):
        flowsim.run(small(evaluate__distance={"to": "ideal"}, data__negative=0, data__positive=4))
    with pytest.raises(flowsim.ScenarioError, match=r"observe\.snapshots: needs weights"):
        small(evaluate__distance={"to": "ideal"}, observe__snapshots="none")
    with pytest.raises(flowsim.ScenarioError, match="single seed"):
        small(evaluate__distance={"to": "ideal"}, seed=[0, 1])
