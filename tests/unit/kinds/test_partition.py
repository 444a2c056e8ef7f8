"""Any partition of clusters into two labels, and a part of the samples that are told their cluster."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.problem.fresh import fresh

MIXTURE = """
[data]
dimension = 8
positive = [3, 0]
negative = 3
noise = { per_coordinate = 0.1 }
samples = 100
[model]
activation = "relu"
width = 7
"""
DIGITS = '[data]\nkind = "digits"\nsamples = 200\n[model]\nactivation = "relu"\nwidth = 12\n'
COARSE = {"data.supervision": "cluster", "data.fine": 0.1, "loss.kind": "cross_entropy"}


def test_an_array_names_the_positive_clusters():
    problem = flowsim.build(flowsim.loads(MIXTURE))
    assert problem.cluster_label.tolist() == [1, -1, -1, 1, -1]
    np.testing.assert_array_equal(problem.targets, problem.cluster_label[problem.sample_cluster])
    numbered = flowsim.build(flowsim.loads(MIXTURE, overrides={"data.positive": 2}))
    assert numbered.cluster_label.tolist() == [1, 1, -1, -1, -1]
    # nothing else depends on it
    np.testing.assert_array_equal(numbered.inputs, problem.inputs)


def test_an_array_names_the_positive_digits():
    problem = flowsim.build(flowsim.loads(DIGITS, overrides={"data.positive": [0, 1, 2, 3, 4]}))
    assert problem.cluster_label.tolist() == [1] * 5 + [-1] * 5
    assert flowsim.build(flowsim.loads(DIGITS)).cluster_label.tolist() == [1, -1] * 5


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        (MIXTURE, {"data.positive": [0, 0]}, r"data.positive: names \[0\] more than once"),
        (MIXTURE, {"data.positive": [0, 5]}, r"data.positive: names \[5\]; the 5 clusters are 0 to 4"),
        (DIGITS, {"data.positive": [10]}, r"data.positive: names \[10\]; the 10 clusters are 0 to 9"),
        (MIXTURE, {"data.fine": 0.5}, 'data.fine: only with supervision = "cluster"'),
        (DIGITS, {"data.fine": 0.5}, 'data.fine: only with supervision = "cluster"'),
        (
            MIXTURE,
            COARSE
            | {"flow.fresh": True, "flow.method": "sgd", "flow.step": 1.0, "flow.batch": 2, "flow.iterations": 3},
            "flow.fresh: not",
        ),
        (MIXTURE, COARSE | {"model.width": 10}, "model.width: 10 neurons cannot be split evenly .* 7 clusters"),
    ],
    ids=["twice", "unknown", "unknown digit", "fine classes", "fine classes of digits", "fresh", "width"],
)
def test_what_cannot_be_is_refused(text, changes, message):
    with pytest.raises(flowsim.ScenarioError, match=message):
        flowsim.loads(text, overrides=changes)


def test_where_no_sample_is_left_to_be_coarse_it_is_said():
    changes = COARSE | {"data.fine": 0.99, "data.samples": 10}
    with pytest.raises(flowsim.ScenarioError, match=r"data.fine: 0.99 leaves no sample of one label to coarse ones"):
        flowsim.build(flowsim.loads(MIXTURE, overrides=changes))


def test_of_a_mixture_a_part_of_each_cluster_keeps_it_and_the_rest_is_of_its_label_s_own():
    scenario = flowsim.loads(MIXTURE, overrides=COARSE)
    problem, plain = flowsim.build(scenario), flowsim.build(flowsim.loads(MIXTURE))
    assert np.bincount(problem.sample_cluster).tolist() == [2, 2, 2, 2, 2, 36, 54]
    assert problem.cluster_label.tolist() == [1, -1, -1, 1, -1, 1, -1]
    np.testing.assert_array_equal(problem.inputs, plain.inputs)
    np.testing.assert_array_equal(problem.label, plain.label)
    kept = problem.sample_cluster < 5
    np.testing.assert_array_equal(problem.sample_cluster[kept], plain.sample_cluster[kept])
    np.testing.assert_allclose(problem.centers[5], plain.centers[[0, 3]].mean(axis=0), rtol=1e-15)
    # what is drawn to be tested on lies around the centres proper
    drawn = fresh(scenario, problem.samples, 500)
    assert set(drawn.sample_cluster.tolist()) == set(range(5))
    distance = np.linalg.norm(drawn.inputs - problem.centers[drawn.sample_cluster], axis=1)
    assert distance.max() < 1


def test_of_digits_likewise_and_held_out_ones_keep_their_digit():
    problem = flowsim.build(flowsim.loads(DIGITS, overrides=COARSE | {"data.test": {"fraction": 0.2}}))
    assert np.bincount(problem.sample_cluster)[:10].max() == 2
    assert len(problem.centers) == 12
    assert problem.test is not None
    assert problem.test.sample_cluster.max() == 9
    mean = problem.inputs[problem.sample_cluster == 10].mean(axis=0)
    np.testing.assert_allclose(problem.centers[10], mean, atol=1e-13)


def test_a_network_learns_of_coarse_and_fine_labels():
    changes = COARSE | {"init.scale": 1e-3, "flow.until": {"time": 100.0}, "observe.variables": ["binary_accuracy"]}
    run = flowsim.run(flowsim.loads(MIXTURE, overrides=changes | {"model.width": 14}))
    assert run["binary_accuracy"][-1] == 1
