"""Scenarios as objects: made from mappings, copied, changed at dotted keys, and written as what they are."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pytest

import flowsim
from flowsim.scenario.shipped import shipped
from flowsim.sweep.plan import plan

QUICK = shipped()["quickstart"]


def messages(make) -> list[str]:
    with pytest.raises(flowsim.ScenarioError) as caught:
        make()
    return str(caught.value).splitlines()


@pytest.fixture
def quick() -> flowsim.Scenario:
    return flowsim.load(QUICK)


# from a mapping


def test_a_mapping_is_what_the_same_file_is():
    made = flowsim.Scenario({"seed": 3, "model": {"activation": "relu", "width": 20}})
    assert made == flowsim.loads('seed = 3\n[model]\nactivation = "relu"\nwidth = 20')
    assert made == flowsim.Scenario(seed=3, model={"activation": "relu", "width": 20})
    assert made.source_text == ""


def test_sections_and_numbers_of_numpy_are_taken_too(quick):
    made = flowsim.Scenario({"data": quick.data, "init": {"scale": np.float64(1e-5)}, "title": None})
    assert (made.data, made.init.scale, made.title) == (quick.data, 1e-5, "")


def test_all_that_is_wrong_is_said_at_once_and_of_python():
    found = messages(lambda: flowsim.Scenario({"init": {"scael": 1}, "model": {"width": 0}, "data": {"noise": {}}}))
    assert sorted(found) == [
        "Scenario: data.noise: give exactly one: total (covariance total^2/dimension I) or per_coordinate "
        "(per_coordinate^2 I)",
        'Scenario: init.scael: unknown key; did you mean "scale"? allowed: balanced, ratio, scale, shape, signs',
        "Scenario: model.width: 0 is not allowed; it should be greater than or equal to 1",
    ]
    assert messages(lambda: flowsim.Scenario(seed=-1))[0].startswith("Scenario: seed: -1 is not allowed")


@pytest.mark.parametrize(
    "values", ["quickstart.toml", 3, {"seed": object()}, {"data": {"kind": "table", "path": "no.csv"}}]
)
def test_what_is_no_scenario_is_a_scenario_error(values):
    assert messages(lambda: flowsim.Scenario(values))[0].startswith("Scenario: ")


# what is written


def test_the_text_pins_the_defaults_and_has_title_and_seed_first(quick):
    text = quick.to_toml()
    assert text.startswith(f'title = "{quick.title}"\nseed = 0\n\n[data]\nkind = "gaussian_mixture"\n')
    assert "bias = false" in text
    assert "until = { time = 250.0 }" in text
    assert quick.sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_sections_and_keys_that_mean_nothing_are_left_out(quick):
    assert not quick.to_dict().keys() & {"stage", "sweep", "evaluate"}
    mlp = flowsim.Scenario({"model": {"kind": "mlp"}}).to_dict()
    assert mlp["init"] == {"shape": "gaussian", "scale": 1e-3}
    staged = flowsim.Scenario({"stage": [{"name": "a", "method": "gradient_descent", "step": 0.1, "iterations": 3}]})
    assert "flow" not in staged.to_dict()
    assert not staged.to_dict()["stage"][0].keys() & {"rtol", "until"}


@pytest.mark.parametrize("iterations", [3, 50, 700])
def test_other_iterations_of_descent_are_another_end(iterations):
    flow = {"method": "gradient_descent", "step": 0.1, "iterations": 50}
    changed = flowsim.Scenario(flow=flow).replace({"flow.iterations": iterations})
    again = flowsim.loads(flowsim.Scenario(flow=flow).to_toml(), overrides={"flow.iterations": iterations})
    assert changed.flow.until.time == again.flow.until.time == 0.1 * iterations


def test_equal_values_are_one_text_whether_they_were_given_or_not():
    texts = {
        flowsim.Scenario(values).to_toml()
        for values in ({}, {"init": {"scale": 1e-3}}, {"model": {"degree": 3}}, {"model": {"degree": 3.0}})
    }
    assert len(texts) == 1


@pytest.mark.parametrize("scale", [1e-300, 0.1 + 0.2, 1e22, 7])
def test_numbers_are_read_again_exactly(scale):
    scenario = flowsim.Scenario(init={"scale": scale})
    assert flowsim.loads(scenario.to_toml()).init.scale == scale


def test_a_scenario_is_pickled_with_its_source(quick):
    again = pickle.loads(pickle.dumps(quick))
    assert (again, again.source_text) == (quick, quick.source_text)


def test_a_whole_number_and_the_same_real_one_are_one_text(quick):
    copied = quick.model_copy(update={"init": quick.init.model_copy(update={"scale": 1})})
    assert copied.to_toml() == quick.replace({"init.scale": 1.0}).to_toml()


# copies


def test_a_copy_says_its_own_values_and_has_no_text_of_another(quick):
    copied = quick.model_copy(update={"seed": 5})
    assert "seed = 5\n" in copied.to_toml()
    assert copied.sha256 == flowsim.load(QUICK, {"seed": 5}).sha256 != quick.sha256
    assert copied.source_text == ""
    assert copied.model_copy(update={"seed": 0}).source_text == quick.source_text


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ({"seed": -1}, "Scenario: seed: -1 is not allowed"),
        ({"flow": {"rtol": 3.0}}, "Scenario: flow.rtol: 3.0 is not allowed"),
        ({"sed": 5}, 'Scenario: sed: unknown key; did you mean "seed"?'),
        ({"loss": 3}, "Scenario: loss: must be a table of keys, not 3"),
    ],
)
def test_a_copy_with_bad_values_is_not_built_or_run(quick, update, message):
    copied = quick.model_copy(update=update)
    for use in (flowsim.build, flowsim.run):
        assert messages(lambda use=use: use(copied))[0].startswith(message)


def test_a_table_in_place_of_a_section_is_the_section(quick):
    copied = quick.model_copy(update={"model": {"kind": "two_layer", "activation": "relu", "width": 4}})
    assert copied.to_dict()["model"]["width"] == 4
    assert len(flowsim.build(copied).hidden) == 4


def test_an_error_of_a_copy_names_no_line_that_says_something_else(quick):
    copied = quick.model_copy(update={"data": quick.data.model_copy(update={"samples": 6 * 10**12})})
    (message,) = messages(lambda: flowsim.build(copied))
    assert message.startswith("Scenario: data.samples: needs ")
    seeded = flowsim.load(QUICK, {"data.samples": 6 * 10**12}).model_copy(update={"seed": 4})
    assert messages(lambda: flowsim.build(seeded))[0].startswith("overrides: data.samples")
    assert str(quick.model_copy(update={"seed": 4}).error(("data.samples", "x"))).startswith(f"{QUICK}:")


# replace

KINDS = {
    "an activation": ({"model.activation": "relu"}, "degree", "model"),
    "a network": ({"model.kind": "mlp"}, "degree", "model"),
    "data": ({"data.kind": "xor"}, "positive", "data"),
    "a shape": ({"init.shape": "nudged", "init.nudge": 0.1}, "none", "init"),
    "a method": ({"flow.method": "sgd", "flow.step": 0.1, "flow.batch": 2, "flow.iterations": 3}, "rtol", "flow"),
}


@pytest.mark.parametrize(("changes", "gone", "section"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("road", ["file", "copy", "text", "overrides"])
def test_choosing_another_kind_drops_the_keys_of_the_old_one(changes, gone, section, road, quick):
    if road == "overrides":
        changed = flowsim.load(QUICK, changes)
    elif road == "copy":
        changed = quick.model_copy(update={"seed": 1}).replace(changes)
    else:
        changed = (quick if road == "file" else flowsim.loads(quick.to_toml())).replace(changes)
    assert gone not in changed.to_dict()[section]
    key, value = next(iter(changes.items()))
    assert changed.to_dict()[section][key.partition(".")[2]] == value
    assert changed.init.scale == quick.init.scale


def test_back_and_forth_gives_the_same_values(quick):
    there = quick.replace({"flow.method": "gradient_descent", "flow.step": 0.1})
    assert there.replace({"flow.method": "gradient_flow", "model.degree": 3}) == quick
    stages = [{"name": "a", "method": "sgd", "batch": 2, "step": 0.1, "iterations": 4}]
    staged = flowsim.Scenario(stage=stages).replace({"stage[0].method": "gradient_flow"})
    assert (staged.stage[0].step, staged.stage[0].iterations) == (None, None)


def test_a_key_of_the_old_kind_that_is_asked_for_is_an_error(quick):
    (message,) = messages(lambda: quick.replace({"model.activation": "relu", "model.degree": 2}))
    assert message == 'replace: model.degree: only with activation = "prelu" or "relu_power"'


def test_keys_elsewhere_that_ask_for_something_stay_to_be_answered_for(quick):
    half = quick.replace({"init.signs": "half"})
    (message,) = messages(lambda: half.replace({"model.kind": "mlp"}))
    assert message.startswith('replace: init.signs: not for model.kind = "mlp"')
    assert half.replace({"model.kind": "mlp", "init.signs": None}).model.kind == "mlp"


def test_what_no_kind_has_is_not_dropped_with_the_old_kind(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text("[model]\nwidht = 3\ndegree = 2\n")
    (message,) = messages(lambda: flowsim.load(file, {"model.activation": "relu"}))
    assert message.startswith(f'{file}:2: model.widht: unknown key; did you mean "width"?')


def test_another_number_drops_nothing(quick):
    (message,) = messages(lambda: quick.replace({"data.positive": 4}))
    assert message.startswith(f"{QUICK}:14: data.samples: 600 cannot be split evenly over 7 clusters")


def test_the_text_follows_with_its_comments(quick):
    changed = quick.replace({"model.activation": "relu", "init.scale": 1e-300})
    assert "# A pReLU network on a small orthonormal mixture" in changed.source_text
    assert 'activation = "relu"' in changed.source_text
    assert "degree" not in changed.source_text
    assert flowsim.loads(changed.source_text) == changed


def test_a_table_takes_the_place_of_the_whole_table(quick):
    assert quick.replace({"flow.until": {"loss": 0.1}}).flow.until.goals == {"loss": 0.1}
    assert quick.replace({"model": {"activation": "tanh"}}).model.width == 50


@pytest.mark.parametrize("how", [{"values": {"model.width": None}}, {"unset": ["model.width"]}])
def test_a_key_that_is_taken_out_has_its_default(quick, how):
    assert quick.replace(how.get("values"), unset=how.get("unset", ())).model.width == 50
    assert flowsim.load(QUICK, how.get("values"), unset=how.get("unset", ())).model.width == 50


def test_what_cannot_be_taken_out_is_said(quick):
    assert messages(lambda: quick.replace(unset=["flow.untli"]))[0].startswith(
        'unset: flow.untli: unknown key; did you mean "until"?'
    )
    assert quick.replace(unset=["model.bias"]) == quick
    assert messages(lambda: quick.replace({"seed.x": 1, "stage[2].step": 1})) == [
        "replace: seed.x: leads nowhere: a part of it is not a table, or an array without that element",
        "replace: stage[2].step: leads nowhere: a part of it is not a table, or an array without that element",
    ]


def test_paths_start_where_they_did(tmp_path):
    np.savez(tmp_path / "t.npz", x=np.eye(4), y=np.array([1, 1, -1, -1]))
    (tmp_path / "a.toml").write_text('[data]\nkind = "table"\npath = "t.npz"\n')
    scenario = flowsim.load(tmp_path / "a.toml")
    for changed in (scenario.replace({"model.width": 3}), scenario.model_copy(update={"seed": 2}).replace({"seed": 3})):
        assert len(flowsim.build(changed).inputs) == 4


def test_a_problem_and_the_points_of_a_sweep_are_shown_in_a_line(quick):
    assert repr(flowsim.build(quick)) == "Problem: 600 samples, 100 features, 6 clusters, 60 neurons"
    swept = plan(quick.replace({"sweep": {"grid": {"seed": [0, 1], "model.width": [3, 4, 5]}}}))
    assert repr(swept) == "Plan: 6 points: seed (2) x model.width (3)"


def test_a_scenario_is_shown_in_a_few_lines(quick):
    shown = repr(quick.replace({"sweep": {"grid": {"seed": [0, 1]}}}))
    assert shown.splitlines() == [
        f"Scenario '{quick.title}'",
        "  seed   0",
        "  data   gaussian_mixture, samples 600, dimension 100",
        "  model  two_layer, prelu, width 60",
        "  init   gaussian, scale 1e-07",
        '  loss   square, reduction "mean"',
        "  flow   gradient_flow, until { time = 250.0 }",
        "  sweep  seed",
    ]
