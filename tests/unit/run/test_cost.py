"""What a run is said to take before it does, and what is refused for it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import flowsim
from flowsim.cli import main
from flowsim.evaluate.durations import TIMES
from flowsim.evaluate.requested import EVALUATIONS
from flowsim.problem.operations import Work
from flowsim.run.cost import evaluate_times, flow_times
from flowsim.run.prepare import Prepared

WORK = Work(samples=1000, features=10, span=10, operations=1e9, first=1e3, layers=1)
BASE = {"data": {"dimension": 6, "samples": 8}, "model": {"width": 4}}
ROBUSTNESS = {"radii": [0.1, 0.2], "attacks": ["pgd"], "samples": 100, "norm": "linf"}
SMOOTHING = {"radii": [0.1], "noise": 0.1, "samples": 20}


def seconds(**keys):
    """Of what [evaluate] asks for."""
    return sum(part.seconds for part in evaluate_times(flowsim.Scenario({**BASE, "evaluate": keys}), WORK))


def test_all_that_can_be_asked_for_is_reckoned():
    assert TIMES.keys() == EVALUATIONS.keys()


@pytest.mark.parametrize(
    ("name", "asked", "key", "value"),
    [
        ("robustness", {**ROBUSTNESS, "samples": 1000}, "samples", 10_000),
        ("robustness", {**ROBUSTNESS, "restarts": 9}, "restarts", 99),
        ("robustness", {**ROBUSTNESS, "steps": 100}, "steps", 1000),
        ("smoothing", {**SMOOTHING, "draws": 1000}, "draws", 10_000),
        ("density", {"radius": 0.1, "samples": 10}, "samples", 100),
        ("features", {"steps": 100}, "steps", 1000),
        ("features", {"starts": 10}, "starts", 100),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ten_times_as_much_of_a_key_takes_about_ten_times_as_long(name, asked, key, value):
    times = seconds(**{name: {**asked, key: value}}) / seconds(**{name: asked})
    assert 5 < times <= 10.1


def test_a_strong_attack_takes_longer_than_each_of_those_that_it_is_made_of():
    taken = {attack: seconds(robustness={**ROBUSTNESS, "attacks": [attack]}) for attack in ("fgm", "pgd", "minimal")}
    assert seconds(robustness={**ROBUSTNESS, "attacks": ["strong"]}) > sum(taken.values())


def test_proven_radii_take_time_where_there_are_any():
    l2 = {"robustness": {**ROBUSTNESS, "norm": "l2"}}
    deep = {"model": {"kind": "mlp", "widths": [4], "activation": "tanh"}}
    of_two_layers, of_others = (
        sum(part.seconds for part in evaluate_times(flowsim.Scenario({**BASE, **model, "evaluate": l2}), WORK))
        for model in ({}, deep)
    )
    assert of_two_layers > 2 * of_others
    assert of_others == pytest.approx(seconds(robustness=ROBUSTNESS))


def test_iterations_of_a_batch_see_the_batch_alone():
    descent = {"method": "sgd", "step": 0.1, "iterations": 10}
    whole, some = (flowsim.Scenario({**BASE, "flow": {**descent, "batch": batch}}) for batch in (1000, 10))
    (all_samples,), (batch,) = (flow_times(scenario, WORK) for scenario in (whole, some))
    assert all_samples.operations == pytest.approx(100 * batch.operations)


def test_a_filter_is_at_work_at_every_pixel():
    """Of 3 x 3 pixels, on images of 8 x 8: 36 of its places have no rim."""
    made = {"data": {"kind": "digits"}, "model": {"kind": "conv", "channels": [4]}, "loss": {"kind": "logistic"}}
    reduced = Prepared(flowsim.Scenario({**made, "init": {"shape": "he"}, "evaluate": {}})).reduced
    filters, work = reduced.problem.network.leaves[0].size, Work.of(reduced)
    assert work.first == 2 * filters * 64
    assert 3 * 2 * filters * 36 < work.of_one < 10 * 3 * 2 * filters * 64


@pytest.mark.parametrize(
    ("stage", "key"),
    [
        ({"attack": {"kind": "pgd", "radius": 0.1, "steps": 10**13}}, "attack.steps"),
        ({"method": "gradient_descent", "step": 0.1, "iterations": 10**14}, "iterations"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_stage_that_takes_too_long_is_refused_at_its_key(stage, key):
    stages = [{"name": "first"}, {"name": "second", **stage}]
    with pytest.raises(flowsim.ScenarioError, match=rf"^\S+ stage\[1\]\.{key}: would take") as caught:
        Prepared(flowsim.Scenario({**BASE, "stage": stages}))
    assert len(caught.value.issues) == 1


def test_parts_that_each_fit_are_refused_together_at_the_longest(monkeypatch):
    scenario = flowsim.Scenario({**BASE, "evaluate": {"robustness": ROBUSTNESS, "smoothing": SMOOTHING}})
    work = Work.of(Prepared(scenario).reduced)
    parts = [*flow_times(scenario, work), *evaluate_times(scenario, work)]
    longest, in_all = max(part.seconds for part in parts), sum(part.seconds for part in parts)
    monkeypatch.setenv("FLOWSIM_LIMITS", f"seconds={(longest + in_all) / 2:.9g}")
    with pytest.raises(flowsim.ScenarioError, match=r"evaluate\.robustness\.\w+: would take .* in all, and") as caught:
        Prepared(scenario)
    assert len(caught.value.issues) == 1


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ({"smoothing": {**SMOOTHING, "samples": 10**13}}, "smoothing.samples"),
        ({"density": {"radius": 0.1, "samples": 10**13}}, "density.samples"),
        ({"features": {"units": 10**13}}, "features.units"),
        ({"features": {"starts": 10**13}}, "features.starts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arrays_of_an_evaluation_that_do_not_fit_into_memory_are_refused(asked, key, monkeypatch):
    monkeypatch.setenv("FLOWSIM_LIMITS", "seconds=inf")
    with pytest.raises(flowsim.ScenarioError, match=rf"evaluate\.{key}: needs .* of memory is available"):
        Prepared(flowsim.Scenario({**BASE, "evaluate": asked}))


def test_what_a_refusal_says_would_fit_fits(monkeypatch):
    monkeypatch.setenv("FLOWSIM_LIMITS", "seconds=100")
    smoothing = {**SMOOTHING, "draws": 10**10}
    with pytest.raises(flowsim.ScenarioError, match=r"evaluate\.smoothing\.draws") as caught:
        Prepared(flowsim.Scenario({**BASE, "evaluate": {"smoothing": smoothing}}))
    fits = float(str(caught.value).partition("at most about ")[2].split()[0])
    Prepared(flowsim.Scenario({**BASE, "evaluate": {"smoothing": {**smoothing, "draws": int(0.99 * fits)}}}))


def test_check_says_what_stages_and_evaluations_take(tmp_path, capsys):
    file = tmp_path / "s.toml"
    stages = [{"name": name, "until": {"time": 1.0}} for name in ("clean", "attacked")]
    asked = {"robustness": ROBUSTNESS, "smoothing": SMOOTHING}
    scenario = flowsim.Scenario({**BASE, "stage": stages, "evaluate": asked})
    file.write_text(scenario.to_toml(), encoding="utf-8")
    assert main(["check", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["evaluate_seconds"].keys() == asked.keys()
    assert facts["run_seconds"] == pytest.approx(sum(facts["stage_seconds"].values()))
    assert min(facts["evaluate_seconds"].values()) > 0
    assert main(["check", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    (stages_line,) = (line for line in lines if line.startswith("stages "))
    (evaluate_line,) = (line for line in lines if line.startswith("evaluate "))
    assert stages_line.startswith("stages       about ")
    assert (" clean, " in stages_line, stages_line.endswith(" attacked")) == (True, True)
    assert evaluate_line.startswith("evaluate     then about ")
    assert (" robustness, " in evaluate_line, evaluate_line.endswith(" smoothing")) == (True, True)


def test_a_slow_machine_takes_longer():
    slow = replace(WORK, speed=WORK.speed / 10)
    scenario = flowsim.Scenario(BASE)
    (here,), (there,) = flow_times(scenario, WORK), flow_times(scenario, slow)
    assert there.seconds == pytest.approx(10 * here.seconds, rel=0.01)
