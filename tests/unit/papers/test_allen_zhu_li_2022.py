"""The ledger of features and surgery on them, on weights laid out by hand; what runs assume and what they don't."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.mutations import allen_zhu_li_2022 as cases

import flowsim
from flowsim.evaluate.evidence import NotApplicable
from flowsim.evaluate.findings import judged
from flowsim.observe import Instant
from flowsim.observe.kinds.features import Lottery, coefficients, lottery_constants
from flowsim.papers import CLAIMS
from flowsim.papers.allen_zhu_li_2022 import decoded, ledger, operate, setting, surgery, turns
from flowsim.papers.allen_zhu_li_2022.ledger import BUDGET, ledger_of, mixture_of, spent
from flowsim.papers.allen_zhu_li_2022.purification import explained_by

TINY = """
[data]
kind = "sparse_coding"
dimension = 8
sparsity = 2.0
basis = "axes"
noise = { total = 0.1 }
samples = 30
[model]
kind = "symmetric_relu"
width = 12
threshold = 0.05
growth = 0.01
cap = 0.2
[init]
scale = 0.3
[loss]
kind = "logistic"
[[stage]]
name = "clean"
method = "sgd"
step = 0.5
batch = 20
fresh = true
iterations = 40
[[stage]]
name = "adversarial"
method = "sgd"
step = 0.5
batch = 20
fresh = true
iterations = 20
attack = { kind = "fgm", norm = "l2", radius = 0.2 }
[observe]
times = 4
"""


@pytest.fixture(scope="module")
def run():
    return flowsim.run(flowsim.loads(TINY))


def test_the_ledger_counts_births_and_deaths():
    case = cases.shown(
        cases.run("l2", 0.4, 1.5),
        clean=cases.features(1.2),
        adversarial=cases.features(1.2, turn=1),
        again=cases.features(0.1),
    )
    found = ledger_of(case)
    begins = [int(np.flatnonzero(case.trajectory["stage"].values == name)[0]) for name in cases.STAGES[1:]]
    assert found["large"].values[begins].tolist() == [cases.NEURONS, 0]
    assert found["born"].values[begins].tolist() == [cases.NEURONS, 0]
    assert found["died"].values[begins].tolist() == [cases.NEURONS, cases.NEURONS]
    assert found["covered"].values[begins].tolist() == [1.0, 0.0]
    others = np.setdiff1d(np.arange(2, found.sizes["time"]), begins)
    assert not found["born"].values[others].any()
    assert not found["movement"].values[others].any()
    # every neuron starts at one feature, which is in S_sure and S_pot, and learns it, then another
    assert found["large_from_potential"].values[begins[0] - 1] == 1.0
    assert found["large_from_potential"].values[begins[0]] == 0.0


def test_the_parts_of_the_movement_add_up_to_it(run):
    found = ledger(run)
    with flowsim.reopen(run) as case:
        weights = [np.exp(one.log_norm)[:, None] * one.direction for one in (case.weights[k] for k in range(3))]
    moved = [((after - before) ** 2).sum() for before, after in itertools.pairwise(weights)]
    np.testing.assert_allclose(found["movement"].sum("part").values[1:], moved, rtol=1e-10)
    np.testing.assert_allclose(found["size"].values, [(one**2).sum() for one in weights], rtol=1e-10)
    assert found["part"].values.tolist() == list(BUDGET)
    assert (found["large"].diff("time") == (found["born"] - found["died"])[1:]).all()


def test_a_dense_mixture_is_told_from_what_else_small_coefficients_do():
    weight = np.array([1.0, 2.0, 1.0, 3.0])
    chosen = np.array([[True, True, True, False]])
    other = np.array([[1.0, -1.0, 1.0, 0.0]])  # orthogonal to w* on the chosen ones
    found = mixture_of(0.3 * weight + other, chosen, weight)
    np.testing.assert_allclose(found, [[0.3, 0.6, 0.3, 0.0]], atol=1e-12)


def test_purifying_spends_all_on_the_mixture():
    case = cases.purified()
    parts = spent(case, setting.clean_end(case), setting.robust_end(case))
    assert parts.pop("mixture") == pytest.approx(cases.NEURONS * (cases.FEATURES - 1) * cases.MIXED**2)
    assert max(parts.values()) < 1e-20
    assert explained_by(case, "small") == explained_by(case, "mixture") == 1.0
    assert explained_by(case, "unlearned") == 0.0


def test_surgery_sets_what_is_chosen_to_nothing_and_leaves_the_rest(run):
    before = surgery.coefficients_of(run, at=1)
    after = operate(run, "small", at=1)
    found = coefficients(Instant(after.setting, after.snapshot))
    large = np.abs(before) >= math.sqrt(2.0) * 0.2
    assert 0 < large.sum() < large.size
    np.testing.assert_allclose(found, np.where(large, before, 0.0), atol=1e-12)
    assert after.changed == (~large).sum()
    # what is zeroed and what is left are the whole
    rest = operate(run, large, at=1)
    np.testing.assert_allclose(found + coefficients(Instant(rest.setting, rest.snapshot)), before, atol=1e-12)


def test_transplanting_all_coefficients_gives_the_donor(run):
    robust = flowsim.robustness(run, {"radii": [0.0, 0.2], "attacks": ["pgd"], "samples": 40}, at=2)
    grafted = operate(run, np.ones((12, 8), dtype=bool), at=1, donor=2)
    again = grafted.robustness({"radii": [0.0, 0.2], "attacks": ["pgd"], "samples": 40})
    np.testing.assert_allclose(again["robust_accuracy"], robust["robust_accuracy"])
    nothing = operate(run, np.zeros((12, 8), dtype=bool), at=1, donor=2)
    assert nothing.changed == 0


def test_training_goes_on_where_the_operation_was(run):
    """With nothing changed, the second stage from the operated weights has the threshold and the weights that it had."""
    untouched = operate(run, np.zeros((12, 8), dtype=bool), at=1)
    scenario = untouched.scenario()
    assert [stage.name for stage in scenario.stage] == ["adversarial"]
    assert scenario.model.threshold == pytest.approx(0.2)
    again = flowsim.run(scenario, init=untouched.weights)
    kept = run.to_dataset()
    np.testing.assert_allclose(again["direction"].values[0], kept["direction"].values[1], atol=1e-12)
    # batches are counted from the first stage's beginning: other samples, and so other weights, but alike
    cosine = (again["direction"].values[-1] * kept["direction"].values[2]).sum(axis=1)
    assert np.median(cosine) > 0.95


@pytest.mark.parametrize(
    ("chosen", "keys", "told"),
    [
        ("smal", {}, 'did you mean "small"'),
        (np.ones((3, 8), dtype=bool), {}, "of shape (12, 8)"),
        (np.ones((12, 8)), {}, "type float64"),
        ("dropped", {}, "donor"),
        ("small", {"at": 7}, "allowed: -3 to 2"),
    ],
)
def test_what_cannot_be_chosen_is_told(run, chosen, keys, told):
    with pytest.raises(flowsim.UsageError) as error:
        operate(run, chosen, **keys)
    assert told in str(error.value)


def test_going_on_needs_a_stage(run):
    operated = operate(run, "small")
    with pytest.raises(flowsim.UsageError, match="no stage begins after"):
        operated.scenario()
    with pytest.raises(flowsim.UsageError, match='did you mean "clean"'):
        operated.scenario(["clen"])
    assert [stage.name for stage in operated.scenario(["clean"]).stage] == ["clean"]


def test_turns_are_the_cosines_between_the_three_ends(run):
    found, kept = turns(run), run["direction"].values
    np.testing.assert_allclose(found["clean_robust"], np.abs((kept[1] * kept[2]).sum(axis=1)), rtol=1e-9)
    np.testing.assert_allclose(found["start_clean"], np.abs((kept[0] * kept[1]).sum(axis=1)), rtol=1e-9)
    assert found["learned"].dtype == bool


def test_tickets_are_those_of_definition_b_1():
    middle, gap = lottery_constants(100, 10)
    assert (middle, gap) == pytest.approx((2 + 2 * 0.95, 0.05))  # c_0 = 1
    high, low = (math.sqrt((middle + sign * gap) * math.log(10)) for sign in (1, -1))
    rows = np.zeros((100, 10))
    rows[0, 0] = 1.001 * high  # wins
    rows[1, [0, 1]] = 1.001 * high, 1.001 * low  # a rival
    rows[2, 0] = -1.001 * high  # of the wrong sign
    rows[3, 0] = 0.999 * high  # too small
    rows[4] = 2.0  # too long
    found = Lottery.of(2 * rows, 2.0)
    assert np.argwhere(found.sure).tolist() == [[0, 0]]
    assert np.argwhere(found.potential).tolist() == [[0, 0], [1, 0], [1, 1], [2, 0], [3, 0]]
    assert np.flatnonzero(~found.expected).tolist() == [4]


def test_decoding_withstands_what_is_below_half_of_the_smallest_gap():
    scenario = flowsim.loads(TINY, overrides={"data.noise.total": 0.0, "data.sparsity": 5.0, "data.samples": 200})
    problem = flowsim.build(scenario)
    classifier = decoded(problem, 5.0)
    assert classifier.reach == pytest.approx(1 / (2 * math.sqrt(5)))
    signs = np.sign(problem.centers.sum(axis=0))

    def right(radius):
        worst = [classifier(problem.inputs + sign * radius * signs) for sign in (-1, 1)]
        return min((np.sign(found) == problem.label).mean() for found in worst)

    assert right(0.99 * classifier.reach) == 1.0
    assert right(1.01 * classifier.reach) < 1.0


def test_runs_at_sizes_that_can_be_run_are_outside_and_say_by_how_much(run):
    with flowsim.reopen(run) as case:
        evidence = cases.evidence_of(run, case.scenario)
    found = judged(CLAIMS["allen_zhu_li_2022.theorem_5_3.robust_error"], evidence)
    assert found.verdict == "outside"
    margins = {premise.name: premise.margin for premise in found.premises}
    spare = math.log(12, 8) - 1
    expected = 1 - 2 * spare - 2.5 * math.log(2, 8) - math.log(math.log(8), 8)
    assert margins["log_d(k^2.5 log d) < 1 - 2 c_0 (Theorem F.1)"] == pytest.approx(expected)
    assert margins["tau <= 1/(sqrt(k) d^c_0)"] == pytest.approx(2**-0.5 * 8**-spare - 0.2)


def test_the_ledger_is_of_the_paper_s_network():
    linear = flowsim.loads(
        TINY.replace(
            'kind = "symmetric_relu"\nwidth = 12\nthreshold = 0.05\ngrowth = 0.01\ncap = 0.2', 'kind = "linear"'
        ),
        overrides={"stage": [{"name": "only", "method": "sgd", "step": 0.1, "batch": 5, "iterations": 2}]},
    )
    with pytest.raises(NotApplicable, match="symmetric_relu"):
        ledger(flowsim.run(linear))
