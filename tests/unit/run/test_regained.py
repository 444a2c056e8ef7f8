"""A stage that ends once clean and robust accuracy are what they were after the first adversarial training."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.errors import ScenarioError

#: Adversarial training; what it has learned drawn anew and trained clean; adversarial training again.
STAGES = """
[data]
kind = "digits"
supervision = "cluster"
test = { fraction = 0.3 }
[model]
kind = "dense"
activation = "tanh"
widths = [32]
parametrization = "standard"
[init]
scale = 1.0
[loss]
kind = "cross_entropy"
[[stage]]
name = "robust"
method = "sgd"
step = 0.05
momentum = 0.9
batch = 50
iterations = 300
attack = { kind = "pgd", norm = "l2", radius = 0.5, steps = 3 }
[[stage]]
name = "clean"
method = "sgd"
step = 0.05
momentum = 0.9
batch = 50
iterations = 100
redraw = ["*"]
[[stage]]
name = "again"
method = "sgd"
step = 0.05
momentum = 0.9
batch = 50
iterations = 300
attack = { kind = "pgd", norm = "l2", radius = 0.5, steps = 3 }
[observe]
times = 11
variables = ["test_accuracy", "robust_accuracy"]
snapshots = "all"
"""


@pytest.fixture(scope="module")
def whole():
    """The run that nothing ends early"""
    return flowsim.run(flowsim.loads(STAGES))


def moved(params, x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """x after three steps of ascent of the cross-entropy within a ball, by hand; params: W_1 (16, d) and W_2 (10, 16)"""
    inner, outer = params
    start, length = x, 2.5 * 0.5 / 3
    for _ in range(3):
        signal = np.tanh(x @ inner.T)
        outputs = signal @ outer.T
        share = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        share[np.arange(len(x)), labels] -= 1
        ascent = ((share @ outer) * (1 - signal**2)) @ inner
        there = x + length * ascent / np.linalg.norm(ascent, axis=1, keepdims=True) - start
        x = start + there * np.minimum(0.5 / np.linalg.norm(there, axis=1, keepdims=True), 1)
    return x


def test_robust_accuracy_is_that_of_held_out_samples_moved_as_in_training(whole):
    case = flowsim.reopen(whole)
    test, kept = case.problem.test, whole.to_dataset()
    labels, inputs = test.targets.astype(int), np.asarray(test.stored[:])
    for place in (10, 30):
        params = [kept[name].values[place] for name in ("layer_1", "layer_2")]
        at = moved(params, inputs, labels)
        outputs = np.tanh(at @ params[0].T) @ params[1].T
        assert (outputs.argmax(axis=1) == labels).mean() == pytest.approx(kept["robust_accuracy"].values[place])
    assert 0.3 < kept["robust_accuracy"].values[10] < kept["test_accuracy"].values[10] - 0.05


@pytest.mark.parametrize("wanted", [0.9, 1.0])
def test_it_ends_the_stage_at_the_first_kept_instant_at_which_both_are_there(whole, wanted):
    changes = {"stage[2].until.regained": wanted, "observe.variables": ["loss"]}
    found = flowsim.run(flowsim.loads(STAGES).replace(changes))
    assert f"stage again: reached regained {wanted:g}" in found["numerics"].attrs["status_cause"]
    kept = found.to_dataset()
    ends = {str(name): place for place, name in enumerate(kept["stage"].values)}
    assert kept["robust_accuracy"].values[ends["robust"]] == whole["robust_accuracy"].values[10]
    both = [kept[name].values / kept[name].values[ends["robust"]] for name in ("test_accuracy", "robust_accuracy")]
    least = np.minimum(*both)[ends["clean"] :]
    assert (least[:-1] < wanted).all()
    assert least[-1] >= wanted
    assert len(least) > 2


def test_a_run_that_was_interrupted_remembers_what_is_to_be_regained(tmp_path):
    scenario, file = flowsim.loads(STAGES).replace({"stage[2].until.regained": 1.0}), tmp_path / "run.nc"
    begun = sum(stage.step * stage.iterations for stage in scenario.stage[:2])

    def interrupt(standing):
        if standing.report is not None and standing.report.time > begun * (1 + 1e-9):
            signal.raise_signal(signal.SIGINT)

    flowsim.run(scenario, file, progress=interrupt)
    with flowsim.open(file) as tree:
        assert (tree.attrs["status"], tree["stage"].values[-1]) == ("interrupted", "again")
    found, straight = flowsim.run(scenario, file, resume=True), flowsim.run(scenario)
    xr.testing.assert_equal(found.to_dataset(), straight.to_dataset())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stage[0].until.regained": 1.0}, "stage[0].until.regained: only after stages with an attack"),
        ({"stage[2].until.regained": -1.0}, "stage[2].until.regained"),
        ({"data.test": None, "stage[2].until.regained": 1.0}, "it needs a stage with an attacker, held-out samples"),
    ],
)
def test_what_it_cannot_follow_is_answered_with_what_is_missing(changes, said):
    unset = [key for key, value in changes.items() if value is None]
    scenario = {key: value for key, value in changes.items() if value is not None}
    with pytest.raises(ScenarioError) as error:
        flowsim.run(flowsim.loads(STAGES).replace({**scenario, "observe.variables": ["loss"]}, unset=unset))
    assert said in str(error.value)
