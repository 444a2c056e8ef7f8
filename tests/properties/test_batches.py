"""Many instants observed at once are those instants observed one by one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowsim
from flowsim.observe import QUANTILES, Recorder, Selection, Setting, instant, recorder
from flowsim.observe.quantiles import quantiles_of_rows
from flowsim.problem import reduce
from flowsim.solve import Passed, Report, Snapshot

MODELS = [
    {"activation": "prelu"},
    {"activation": "relu", "bias": True},
    {"activation": "leaky_relu"},
    {"activation": "relu_power", "degree": 2.5},
    {"activation": "tanh", "bias": True},
    {"activation": "prelu", "output": "fixed", "output_weight": 0.5},
]


@st.composite
def settings_of_problems(draw: st.DrawFn) -> tuple[flowsim.Scenario, Setting]:
    """Problems with every activation and loss, in the span of their data and not, merged and not, of any scale."""
    scenario = flowsim.loads(
        "",
        overrides={
            "seed": draw(st.integers(0, 2**32)),
            "data": {
                "dimension": draw(st.sampled_from([4, 9, 40])),
                "samples": draw(st.sampled_from([4, 20])),
                "balanced": False,
                "label_noise": draw(st.sampled_from([0.0, 0.3])),
                "noise": {"total": draw(st.sampled_from([0.0, 0.5]))},
            },
            "model": {"width": draw(st.integers(1, 7)), **draw(st.sampled_from(MODELS))},
            "init.scale": draw(st.sampled_from([1e-300, 1e-3, 1.0])),
            "loss.kind": draw(st.sampled_from(["square", "logistic", "exponential"])),
            "observe": {"times": 12, "snapshots": draw(st.sampled_from(["none", "ends", "all", 5]))},
        },
    )
    return scenario, Setting(reduce(flowsim.build(scenario)))


def instants_of(setting: Setting, count: int, seed: int) -> list[Snapshot]:
    """States that no flow has gone through, some of them with a neuron of norm 0."""
    generator, weights = np.random.default_rng(seed), setting.problem.weights
    found = []
    for time in range(count):
        direction = setting.reduced.direction + generator.standard_normal(setting.reduced.direction.shape)
        grown = 3 * generator.standard_normal(len(direction))
        grown[generator.random(len(grown)) < 0.1] = -np.inf
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        found.append(
            Snapshot(float(time), direction, weights.log_norm + grown, weights.output_sign, weights.output_log + grown)
        )
    return found


@given(problem=settings_of_problems(), count=st.integers(1, 12), seed=st.integers(0, 99))
@settings(max_examples=60)
@pytest.mark.parametrize("summarised", [False, True])
@pytest.mark.parametrize("at_once", [1, 5, 12])
def test_a_batch_is_observed_as_its_instants_one_by_one(at_once, summarised, problem, count, seed):
    scenario, setting = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "PER_SAMPLE_LIMIT", 0 if summarised else recorder.PER_SAMPLE_LIMIT)
        selection = Selection.of(scenario, setting)
        patch.setattr(Setting, "batch", at_once)
        one_by_one, waiting, together = (Recorder(scenario, setting, selection) for _ in range(3))
        instants = instants_of(setting, count, seed)
        reports = [Report(time, 0.1, time, 2, 3, "", False, True) for time in range(count)]
        with np.errstate(all="ignore"):
            for snapshot, report in zip(instants, reports, strict=True):
                passed = Passed.of([(snapshot, report)])
                one_by_one.keep(passed)
                log_loss = one_by_one.log_loss  # what is asked about is observed at once
                waiting.keep(passed)
            together.keep(Passed.of([*zip(instants, reports, strict=True)]))
            expected = one_by_one.trajectory(complete=False)
            found = [recorder.trajectory(complete=False) for recorder in (waiting, together)]
    assert waiting.log_loss == together.log_loss == log_loss
    for trajectory in found:
        for name in ("time", "kept_weights", "direction", "bias"):
            np.testing.assert_array_equal(getattr(trajectory, name), getattr(expected, name), err_msg=name)
        for mine, others in (
            (trajectory.variables, expected.variables),
            (trajectory.numerics, expected.numerics),
        ):
            assert mine.keys() == others.keys()
            for name, value in others.items():
                np.testing.assert_array_equal(mine[name], value, err_msg=name)


@pytest.mark.parametrize(("samples", "at_least"), [(24, 50), (100_000, 1)])
def test_as_many_instants_are_observed_at_once_as_memory_allows(samples, at_least):
    setting = Setting(reduce(flowsim.build(flowsim.loads(f"[data]\nsamples = {samples}\ndimension = 12\n"))))
    neurons, coordinates = setting.reduced.direction.shape
    largest = neurons * max(min(samples, instant.BLOCK), coordinates)
    assert setting.batch >= at_least
    assert setting.batch == 1 or setting.batch * largest * 8 <= instant.BATCH_BYTES


@given(rows=st.integers(1, 4), count=st.integers(1, 30), seed=st.integers(0, 999))
def test_quantiles_are_numpy_s(rows, count, seed):
    values = np.random.default_rng(seed).standard_normal((rows, count))
    expected = np.quantile(values, QUANTILES, axis=1).T
    np.testing.assert_array_equal(quantiles_of_rows(values), expected)
