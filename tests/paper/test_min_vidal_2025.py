"""Min & Vidal 2025, Appendix B.1: what Figures 5 and 6 show, at a size that takes seconds.

The shipped scenarios themselves, at full size, are run by hand: flowsim run scenarios/min_vidal_2025/fig5_random_init.toml.
"""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.scenario.shipped import find

SMALLER = {
    "data.samples": 1500,
    "model.width": 60,
    "flow.until.time": 400.0,
    "observe.variables": ["cosine", "loss", "log10_loss", "log_norm", "accuracy"],
}


@pytest.fixture(scope="module")
def figures():
    return {
        name: flowsim.run(flowsim.load(find(f"min_vidal_2025/{name}"), SMALLER)).dataset
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
    assert scenario.init.nudge == 0.05


def test_neurons_align_with_single_centres(figures):
    for run in figures.values():
        best = run.flow.best_cosine
        assert best[0].max() < 0.3
        assert best[-1].median() > 0.99


def test_random_initialisation_aligns_later_than_the_nudged_one(figures):
    random, nudged = (run.flow.phases["instant"].sel(phase="median_best_alignment") for run in figures.values())
    assert random > 1.1 * nudged


def test_alignment_is_over_before_the_network_fits(figures):
    for run in figures.values():
        aligned = run.flow.phases["instant"].sel(phase="median_best_alignment")
        assert float(run["loss"].interp(time=aligned)) > 0.45


def test_the_loss_converges_to_what_the_noise_leaves(figures):
    # at the aligned network f(mu_k + z) - y = 3 <mu_k, z> + O(z^2), so the loss is 9 alpha^2 / (2 D)
    for run in figures.values():
        assert run["loss"][-1] == pytest.approx(9 * 0.1**2 / (2 * 1000), rel=0.15)
        assert run["accuracy"][-1] == 1
        assert np.isfinite(run.flow.phases["instant"].sel(phase="convergence"))
