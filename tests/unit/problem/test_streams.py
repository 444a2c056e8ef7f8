"""Every random draw comes from the seed and its own name: changing one use never changes another."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.kinds.streams import stream


def test_the_same_seed_and_name_give_the_same_numbers():
    assert (stream(3, "a").random(5) == stream(3, "a").random(5)).all()


def test_another_seed_or_another_name_gives_other_numbers():
    draws = [stream(seed, name).random(5) for seed in (0, 1, 2**70) for name in ("a", "b", "a.b")]
    assert len({tuple(draw) for draw in draws}) == 9


def test_streams_are_uncorrelated():
    names = ["centers", "data.noise", "data.cluster", "labels", "initialisation", "initialisation.signs"]
    draws = np.array([stream(0, name).standard_normal(20_000) for name in names])
    correlation = np.corrcoef(draws) - np.eye(len(names))
    # five standard deviations of an empirical correlation
    assert np.abs(correlation).max() < 5 / 20_000**0.5


def test_numbers_stay_the_same_from_version_to_version():
    # a scenario's seed promises the same run next year: if this fails, all results change
    np.testing.assert_allclose(
        stream(0, "data.noise").standard_normal(3), [0.42049259, 0.09086941, 1.25810619], atol=1e-8
    )


def test_no_two_draws_share_a_name(small, monkeypatch):
    names = []

    def noted(seed, name):
        names.append(name)
        return stream(seed, name)

    for module in ("kinds.data.gaussian_mixture", "kinds.clusters", "kinds.inits.nudged", "problem.initial"):
        monkeypatch.setattr(f"flowsim.{module}.stream", noted)
    flowsim.build(small(data__balanced=False, init={"shape": "nudged", "balanced": False}))
    assert len(names) >= 7
    assert len(set(names)) == len(names)


def arrays(problem: flowsim.Problem) -> dict[str, np.ndarray]:
    weights = problem.weights
    return {
        "inputs": problem.inputs,
        "targets": problem.targets,
        "sample_cluster": problem.sample_cluster,
        "centers": problem.centers,
        "direction": weights.direction,
        "log_norm": weights.log_norm,
        "sign": weights.output_sign,
        "output": weights.output_log,
    }


@pytest.mark.parametrize(
    ("override", "changes"),
    [
        ({}, set()),
        ({"title": "x"}, set()),
        ({"loss.kind": "logistic"}, set()),
        ({"model.degree": 2}, set()),
        ({"data.label_noise": 0.5}, {"targets"}),
        ({"data.noise.total": 0.5}, {"inputs"}),
        ({"init.signs": "half"}, {"sign"}),
        ({"init.scale": 0.5}, {"log_norm", "output"}),
        ({"init.balanced": False}, {"output"}),
        ({"init.shape": "sphere"}, {"log_norm", "output"}),
        ({"init.shape": "nudged"}, {"direction", "log_norm", "output"}),
        ({"model.output": "fixed", "model.output_weight": 0.5}, {"output"}),
        ({"model.bias": True}, {"direction", "log_norm", "output"}),
        ({"data.centers": "random_sphere"}, {"centers", "inputs"}),
        ({"seed": 1}, {"inputs", "centers", "direction", "log_norm", "output", "sign"}),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, set) else str(value),
)
def test_a_key_changes_what_it_speaks_of_and_nothing_else(small, override, changes):
    before = arrays(flowsim.build(small()))
    after = arrays(flowsim.build(small(**override)))
    different = {name for name in before if not np.array_equal(before[name], after[name])}
    # a sphere's rows are the gaussian's directions, up to the last bit
    if override == {"init.shape": "sphere"}:
        np.testing.assert_allclose(after["direction"], before["direction"], rtol=1e-14)
        different.discard("direction")
    assert different == changes


def test_more_neurons_leave_the_first_ones_and_the_data_as_they_were(small):
    few, many = (arrays(flowsim.build(small(model__width=width))) for width in (6, 20))
    for name in ("inputs", "targets", "centers"):
        np.testing.assert_array_equal(few[name], many[name])
    np.testing.assert_array_equal(few["direction"], many["direction"][:6])


def test_a_nudge_of_nothing_is_the_gaussian_start(small):
    plain = flowsim.build(small())
    nudged = flowsim.build(small(init__shape="nudged", init__nudge=0.0))
    np.testing.assert_array_equal(nudged.hidden, plain.hidden)


def test_noise_is_the_same_draw_at_every_level(small):
    weak, strong = (flowsim.build(small(data__noise={"per_coordinate": level})) for level in (0.1, 0.2))
    np.testing.assert_allclose(
        2 * (weak.inputs - weak.centers[weak.sample_cluster]),
        strong.inputs - strong.centers[strong.sample_cluster],
        rtol=1e-12,
        atol=1e-14,
    )
