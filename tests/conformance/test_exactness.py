"""What must not change the answer does not, and no scale is too small."""

from __future__ import annotations

import numpy as np
import pytest
from support.reading import weights

import flowsim


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ["prelu", "tanh"])
def test_reduced_and_unreduced_runs_agree(small, bias, activation):
    # more features than samples: every neuron has a part that the data never see
    options = {
        "data__dimension": 60,
        "model": {"activation": activation, "width": 6, "bias": bias},
        "flow__rtol": 1e-12,
        "init__scale": 1e-2,
    }
    reduced = flowsim.run(small(flow__reduce=True, **options)).dataset
    whole = flowsim.run(small(flow__reduce=False, **options)).dataset
    np.testing.assert_allclose(reduced["direction"], whole["direction"], atol=1e-8)
    for name in ("log_norm", "cosine", "margin", "log10_loss"):
        np.testing.assert_allclose(reduced[name], whole[name], atol=1e-8, err_msg=name)


def test_merging_equal_samples_changes_nothing(small):
    options = {"data__noise": {"total": 0.0}, "flow__rtol": 1e-12}
    merged = flowsim.run(small(flow__merge=True, **options)).dataset
    apart = flowsim.run(small(flow__merge=False, **options)).dataset
    np.testing.assert_allclose(weights(merged), weights(apart), atol=1e-8 * np.abs(weights(apart)).max())
    for name in ("log_norm", "margin", "loss_derivative", "active_fraction", "accuracy"):
        np.testing.assert_allclose(merged[name], apart[name], atol=1e-8, err_msg=name)


TINY = """
[data]
dimension = 40
positive = 3
negative = 3
samples = 60
noise = { total = 0.0 }

[model]
width = 40

[observe]
times = 40
"""


@pytest.fixture
def tiny_run(scenario_of):
    return lambda scale, end: flowsim.run(scenario_of(TINY, {"init.scale": scale, "flow.until": {"time": end}}))


def steps_per_growth(tree) -> float:
    log_norm = tree["log_norm"].values
    return float(tree["numerics"]["steps"][-1]) / (log_norm[-1] - log_norm[0]).max()


def test_a_start_of_1e_minus_300_costs_no_more_and_loses_nothing(tiny_run):
    usual = tiny_run(1e-7, 250.0)
    for scale, end in ((1e-80, 3000.0), (1e-300, 9500.0)):
        tree = tiny_run(scale, end)
        run = tree.dataset
        assert tree.attrs["status"] == "done"
        assert steps_per_growth(tree) <= 2 * steps_per_growth(usual)
        targeted = run["target_cluster"].values >= 0
        final = run["cosine"].values[-1]
        # theory: the winner is the largest initial positive cosine of the matching sign
        np.testing.assert_array_equal(final.argmax(axis=1)[targeted], run["target_cluster"].values[targeted])
        np.testing.assert_array_equal(
            final.argmax(axis=1)[targeted], usual["cosine"].values[-1].argmax(axis=1)[targeted]
        )
        assert np.median(final.max(axis=1)[targeted]) > 1 - 1e-9
        assert run["accuracy"][-1] == 1
        for name in run.data_vars:
            # the first two may truly be 0, and a cosine that has died out is what rounding makes of it
            if name not in ("active_fraction", "balance_drift", "cosine"):
                assert (run[name] != 0).all(), f"{name} has underflowed"
                assert np.isfinite(run[name]).all(), name
        # the network fits: the squared norms of a cluster's neurons add up to 1
        np.testing.assert_allclose(run["cluster_mass"][-1], 1.0, atol=1e-6)


@pytest.mark.parametrize("activation", ["prelu", "relu"])
@pytest.mark.parametrize("coordinates", ["polar", "cartesian"])
def test_which_instants_are_kept_changes_nothing_at_all(small, followed, activation, coordinates):
    options = {"model": {"activation": activation, "width": 6}, "flow__coordinates": coordinates}
    if activation == "relu":
        options["flow__until"] = {"time": 8.0}  # an engine that does not follow kinks chatters later
    few, many, uneven = (
        followed(small(**options, observe=observe))
        for observe in ({"times": 2}, {"times": 301}, {"times": 50, "spacing": "log"})
    )
    for other in (many, uneven):
        for name in few.data_vars:
            np.testing.assert_array_equal(few[name][-1], other[name][-1], err_msg=name)
