"""Min & Vidal 2025: what Figures 5, 6 and 7, Theorem 1 and Remark 1 say, at sizes that take seconds.

The shipped scenarios themselves, at full size, are run by hand: flowsim run scenarios/min_vidal_2025/fig5_random_init.toml.
"""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

import flowsim
from flowsim.scenario.shipped import find

SMALLER = {
    "data.samples": 1500,
    "model.width": 60,
    "flow.until.time": 400.0,
    "observe.variables": ["cosine", "loss", "log10_loss", "log_norm", "accuracy"],
    "evaluate": {},
}


@pytest.fixture(scope="module")
def figures():
    return {
        name: flowsim.run(flowsim.load(find(f"min_vidal_2025/{name}_flow"), SMALLER)).dataset
        for name in ("fig5_random_init", "fig6_nudged_init")
    }


def test_the_shipped_scenarios_are_the_paper_s_setting():
    for name, shape in (("fig5_random_init", "gaussian"), ("fig6_nudged_init", "nudged")):
        scenario = flowsim.load(find(f"min_vidal_2025/{name}"))
        data = scenario.data
        assert (data.samples, data.dimension, data.positive, data.negative) == (5000, 1000, 5, 5)
        assert (data.centers, data.radius, data.noise.total) == ("orthonormal", 1.0, 0.1)
        assert (scenario.model.activation, scenario.model.degree, scenario.loss.kind) == ("prelu", 3, "square")
        assert (scenario.init.shape, scenario.init.scale, scenario.init.balanced) == (shape, 1e-7, True)
        assert (scenario.flow.method, scenario.flow.step) == ("gradient_descent", 0.2)
        flow = flowsim.load(find(f"min_vidal_2025/{name}_flow"))
        assert flow.flow.until.time == pytest.approx(0.2 * scenario.flow.iterations)
        same = {"title", "flow", "observe"}
        assert flow.model_dump(exclude=same) == scenario.model_dump(exclude=same)
    assert scenario.init.nudge == 0.05


@pytest.mark.papers
def test_neurons_align_with_single_centres(figures):
    for run in figures.values():
        best = run.flow.best_cosine
        assert best[0].max() < 0.3
        assert best[-1].median() > 0.99


@pytest.mark.papers
def test_random_initialisation_aligns_later_than_the_nudged_one(figures):
    random, nudged = (run.flow.phases["instant"].sel(phase="median_best_alignment") for run in figures.values())
    assert random > 1.1 * nudged


@pytest.mark.papers
def test_alignment_is_over_before_the_network_fits(figures):
    for run in figures.values():
        aligned = run.flow.phases["instant"].sel(phase="median_best_alignment")
        assert float(run["loss"].interp(time=aligned)) > 0.45


@pytest.mark.papers
def test_the_loss_converges_to_what_the_noise_leaves(figures):
    # at the aligned network f(mu_k + z) - y = 3 <mu_k, z> + O(z^2), so the loss is 9 alpha^2 / (2 D)
    for run in figures.values():
        assert run["loss"][-1] == pytest.approx(9 * 0.1**2 / (2 * 1000), rel=0.15)
        assert run["accuracy"][-1] == 1
        assert np.isfinite(run.flow.phases["instant"].sel(phase="convergence"))


def along(name: str, points: tuple[int, ...], ends: tuple[float, ...] = (), **changes: object) -> np.ndarray:
    """(points, 3): alpha, distance to F^(p) and loss at the end, at some of the points of a shipped sweep. ends: of the
    runs, where they are not those of the sweep"""
    file = find(f"min_vidal_2025/{name}")
    swept = tomllib.loads(file.read_text(encoding="utf-8"))["sweep"]["zip"]
    rows = []
    for place, point in enumerate(points):
        overrides = {key: values[point] for key, values in swept.items()}
        overrides |= {"flow.until.time": ends[place]} if ends else {}
        also = {"evaluate.claims": [], "observe.times": 5, **changes}
        run = flowsim.run(flowsim.load(file, overrides | also))
        distance = run["distance"]["unscaled_distance"]
        rows.append((overrides["data.noise.total"], float(distance), float(run["loss"][-1])))
    return np.array(rows)


def slopes(rows: np.ndarray) -> np.ndarray:
    """Of distance and loss in alpha, on a log-log scale"""
    log = np.log(rows)
    return np.polyfit(log[:, 0], log[:, 1:], 1)[0]


def test_theorem_1_distance_is_of_order_alpha_squared_and_loss_of_order_alpha_to_the_fourth():
    # soon after t*: later the distance grows again, at such sizes by more than a constant
    distance, loss = slopes(along("theorem1", (1, 2, 3), ends=(53.1, 64.4, 78.2)))
    assert distance == pytest.approx(2, abs=0.3)
    assert loss == pytest.approx(4, abs=0.5)


@pytest.mark.papers
def test_with_fixed_samples_and_dimension_the_slopes_are_1_and_2():
    rows = along("theorem1_fixed_size", (3, 5), **{"model.width": 20})
    distance, loss = slopes(rows)
    assert distance == pytest.approx(1, abs=0.3)
    assert loss == pytest.approx(2, abs=0.5)
    # of each of the 10 clusters, p^2 alpha^2 / (2 D)
    np.testing.assert_allclose(rows[:, 2] / 10, 9 * rows[:, 0] ** 2 / (2 * 500), rtol=0.05)


def test_the_theorem_s_eps_of_alpha_to_the_8_k_is_1e_80():
    scenario = flowsim.load(find("min_vidal_2025/theorem1_fixed_size"))
    assert scenario.data.noise.total == 0.1
    assert scenario.init.scale == pytest.approx(0.1 ** (8 * scenario.data.clusters)) == pytest.approx(1e-80)
    weights = flowsim.build(scenario).weights
    np.testing.assert_allclose(weights.log_norm / np.log(10), -80 + np.log10(500) / 2, atol=0.5)


@pytest.mark.parametrize("half", [1, 2])
def test_relu_gives_way_at_1_over_the_root_of_the_number_of_clusters(half):
    changes = {"data.positive": half, "data.negative": half, "data.samples": 40 * half, "model.width": 16}
    attacks = {"evaluate.robustness.samples": 100, "evaluate.robustness.radii": [0.5]}
    scenario = flowsim.load(find("min_vidal_2025/relu_over_clusters"), changes | attacks)
    radius = flowsim.run(scenario)["robustness"]["attacked_radius"].sel(classifier="network")
    assert float(radius.median()) == pytest.approx((2 * half) ** -0.5, rel=0.05)
