"""Stages: one after the other is the same as all at once, and attackers move samples as they say."""

from __future__ import annotations

import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import flowsim

MIXTURE = """
[data]
dimension = 6
positive = 1
negative = 1
samples = 30
noise = { total = 0.4 }
[model]
activation = "prelu"
width = 6
[init]
scale = 0.1
[loss]
kind = "logistic"
[observe]
times = 4
snapshots = 4
"""
CODING = """
[data]
kind = "sparse_coding"
dimension = 8
sparsity = 2.0
samples = 40
[model]
kind = "symmetric_relu"
width = 5
threshold = 0.05
growth = 0.02
cap = 0.2
smoothing = 0.3
[init]
scale = 0.1
[loss]
kind = "logistic"
regularizer = { square = 0.01, cubic = 0.01 }
[observe]
times = 4
snapshots = 4
"""
MLP = MIXTURE.replace('activation = "prelu"', 'kind = "mlp"\nactivation = "relu"')
GD = {"method": "gradient_descent", "step": 0.5}
SGD = {"method": "sgd", "step": 0.5, "batch": 7}
FRESH = {**SGD, "fresh": True}
FGM = {"kind": "fgm", "radius": 0.2}


def stages(text, *parts):
    return flowsim.loads(text, overrides={"stage": [{"name": str(k), **part} for k, part in enumerate(parts)]})


def hidden(tree):
    """(snapshot, neuron, feature)"""
    dataset = tree.to_dataset()
    return (np.exp(dataset["log_norm"].sel(time=dataset["snapshot"])) * dataset["direction"]).values


@pytest.mark.parametrize("part", [GD, SGD, FRESH, {**GD, "attack": FGM}, {**FRESH, "attack": {**FGM, "kind": "pgd"}}])
@pytest.mark.parametrize("text", [MIXTURE, MLP, CODING])
def test_two_stages_are_one_of_their_length(part, text):
    parted = flowsim.run(stages(text, {**part, "iterations": 9}, {**part, "iterations": 12}))
    whole = flowsim.run(stages(text, {**part, "iterations": 21}))
    assert hidden(parted)[-1] == pytest.approx(hidden(whole)[-1], rel=1e-12, abs=1e-15)
    assert parted["time"][-1] == whole["time"][-1]
    assert parted["iteration"][-1] == whole["iteration"][-1] == 21


@pytest.mark.parametrize("text", [MIXTURE, CODING])
def test_two_stages_of_a_flow_are_one_of_their_length(text):
    part = {"rtol": 1e-10, "attack": FGM}
    parted = flowsim.run(stages(text, {**part, "until": {"time": 3.0}}, {**part, "until": {"time": 5.0}}))
    whole = flowsim.run(stages(text, {**part, "until": {"time": 8.0}}))
    assert hidden(parted)[-1] == pytest.approx(hidden(whole)[-1], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("kind", ["fgm", "pgd"])
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("part", [{**GD, "iterations": 9}, {"until": {"time": 4.0}}])
def test_an_attacker_with_radius_0_changes_nothing(kind, norm, part):
    attack = {"kind": kind, "norm": norm, "radius": 0.0}
    attacked, clean = flowsim.run(stages(CODING, {**part, "attack": attack})), flowsim.run(stages(CODING, part))
    assert hidden(attacked) == pytest.approx(hidden(clean), rel=1e-12, abs=1e-15)


@settings(max_examples=12)
@given(
    st.sampled_from(["relu", "leaky_relu", "tanh"]),
    st.sampled_from(["fgm", "pgd"]),
    st.sampled_from(["l2", "linf"]),
    st.booleans(),
    st.integers(0, 100),
)
def test_an_iteration_follows_the_gradient_at_the_moved_samples(activation, kind, norm, bias, seed):
    radius, steps = 0.3, 4
    attack = {"kind": kind, "norm": norm, "radius": radius, **({"steps": steps} if kind == "pgd" else {})}
    text = MIXTURE.replace('"prelu"', f'"{activation}"').replace("width = 6", f"width = 6\nbias = {str(bias).lower()}")
    scenario = stages(text, {**GD, "iterations": 1, "attack": attack})
    problem = flowsim.build(scenario.model_copy(update={"seed": seed}))
    w, c, v, y = problem.hidden, problem.hidden_bias, problem.output, problem.targets
    act, slope = {
        "relu": (lambda z: np.maximum(z, 0), lambda z: 1.0 * (z >= 0)),
        "leaky_relu": (lambda z: np.maximum(z, 0.01 * z), lambda z: np.where(z >= 0, 1.0, 0.01)),
        "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    }[activation]
    x, length = problem.inputs.copy(), radius if kind == "fgm" else 2.5 * radius / steps
    for _ in range(1 if kind == "fgm" else steps):
        ascent = -y[:, None] * ((slope(x @ w.T + c) * v) @ w)
        steepness = np.linalg.norm(
            ascent, axis=1, keepdims=True
        )  # 0 where no neuron is active: nobody moves the sample
        unit = np.sign(ascent) if norm == "linf" else ascent / np.where(steepness > 0, steepness, 1.0)
        moved = x + length * unit - problem.inputs
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        kept = (
            np.clip(moved, -radius, radius)
            if norm == "linf"
            else moved * np.minimum(1, radius / np.maximum(size, radius))
        )
        x = problem.inputs + kept
    z = x @ w.T + c
    pull = y / (1 + np.exp(y * (act(z) @ v))) / len(y)
    expected = w + 0.5 * ((slope(z) * pull[:, None]).T @ x) * v[:, None]
    result = flowsim.run(flowsim.loads(scenario.source.text, overrides={"seed": seed}))
    assert hidden(result)[-1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("kind", ["fgm", "pgd"])
def test_a_network_of_several_layers_follows_the_gradient_at_the_moved_samples(kind, norm):
    attack = {"kind": kind, "norm": norm, "radius": 0.3, **({"steps": 4} if kind == "pgd" else {})}
    model = {"kind": "mlp", "activation": "tanh", "widths": [5, 3], "bias": True}
    scenario = flowsim.loads(
        MIXTURE, overrides={"stage": [{"name": "a", **GD, "iterations": 1, "attack": attack}], "model": model}
    )
    problem = flowsim.build(scenario)
    y, steps = problem.targets, 1 if kind == "fgm" else 4
    length = 0.3 if kind == "fgm" else 2.5 * 0.3 / steps

    def losses(weights, at):
        for matrix in weights[:-1]:
            at = jnp.tanh(at @ matrix[:, :-1].T + matrix[:, -1])
        return jnp.logaddexp(0, -y * (at @ weights[-1][0, :-1] + weights[-1][0, -1]))

    with jax.enable_x64(True):
        first = np.column_stack([problem.hidden, problem.hidden_bias])
        weights, x = [jnp.asarray(matrix) for matrix in (first, *problem.leaves)], jnp.asarray(problem.inputs)
        moved = x
        for _ in range(steps):
            rise = jax.grad(lambda at: losses(weights, at).sum())(moved)
            unit = jnp.sign(rise) if norm == "linf" else rise / jnp.linalg.norm(rise, axis=1, keepdims=True)
            move = moved - x + length * unit
            size = jnp.maximum(jnp.linalg.norm(move, axis=1, keepdims=True), 0.3)
            moved = x + (jnp.clip(move, -0.3, 0.3) if norm == "linf" else move * 0.3 / size)
        slope = jax.grad(lambda weights: losses(weights, moved).mean())(weights)
        expected = [np.asarray(matrix - 0.5 * step) for matrix, step in zip(weights, slope, strict=True)]
    result = flowsim.run(scenario)
    assert hidden(result)[-1] == pytest.approx(expected[0][:, :-1], abs=1e-12)
    assert result["layer_2_weight"].values[-1] == pytest.approx(expected[1][:, :-1], abs=1e-12)
    assert result["layer_3_weight"].values[-1] == pytest.approx(expected[2][:, :-1], abs=1e-12)


def test_every_instant_has_the_stage_that_led_to_it():
    tree = flowsim.run(stages(MIXTURE, {**GD, "iterations": 6}, {**GD, "step": 0.25, "iterations": 3, "attack": FGM}))
    assert tree["time"].values == pytest.approx([0, 1, 2, 3, 3.25, 3.5, 3.75])
    assert list(tree["stage"].values) == ["0"] * 4 + ["1"] * 3
    assert list(tree["iteration"].values) == [0, 2, 4, 6, 7, 8, 9]
    assert (np.diff(tree["numerics/evaluations"].values) > 0).all()
    assert tree["snapshot"].values == pytest.approx([0, 1, 2, 3, 3.25, 3.5, 3.75])


@pytest.mark.parametrize("parts", [(SGD, GD), (FRESH, {**FRESH, "attack": FGM}), ({}, {**GD, "attack": FGM})])
@pytest.mark.parametrize("stop", [1, 5, 8])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(tmp_path, parts, stop):
    # until what an interrupted run stops in depends on `stop`: the first stage, or the second
    lengths = [{"iterations": 8} if part else {"until": {"time": 4.0}} for part in parts]
    scenario = stages(CODING, *({**part, **length} for part, length in zip(parts, lengths, strict=True)))
    whole, calls = flowsim.run(scenario), 0

    def interrupt(*_):
        nonlocal calls
        calls += 1
        if calls == stop:
            signal.raise_signal(signal.SIGINT)

    flowsim.run(scenario, tmp_path / "run.nc", progress=interrupt)
    with flowsim.open(tmp_path / "run.nc") as tree:
        ended = tree.attrs["status"]
    if ended == "interrupted":
        flowsim.run(scenario, tmp_path / "run.nc", resume=True)
    assert ended == "interrupted" or calls <= stop
    with flowsim.open(tmp_path / "run.nc") as tree:
        assert tree.attrs["status"] == "done"
        xr.testing.assert_allclose(tree.to_dataset(), whole.to_dataset(), rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "changes", "key"),
    [
        (MIXTURE, {"flow.rtol": 1e-3}, "flow"),
        (MIXTURE, {"seed": [1, 2]}, "seed"),
        (MIXTURE, {"data": {"kind": "digits"}}, "stage[0].fresh"),
    ],
)
def test_what_stages_cannot_have_is_refused(text, changes, key):
    with pytest.raises(flowsim.ScenarioError) as refused:
        flowsim.loads(stages(text, {**FRESH, "iterations": 3, "attack": FGM}).source.text, overrides=changes)
    assert key in [issue.key for issue in refused.value.issues]


@pytest.mark.parametrize(
    ("text", "stage", "changes", "keys"),
    [
        (MIXTURE, {"clock": "loss"}, {}, ["stage[0].clock"]),
        (MIXTURE, {"attack": FGM}, {"model": {"kind": "mlp"}}, ["stage[0].attack"]),
        (CODING, {"clock": "loss"}, {}, ["stage[0].clock"]),
        (MIXTURE, {"until": {"kkt": 0.1}, "attack": FGM}, {}, ["stage[0].until.kkt"]),
        (CODING, {"until": {"kkt": 0.1}}, {"evaluate.limit": True}, ["stage[0].until.kkt", "evaluate.limit"]),
        (MIXTURE, {**FRESH, "iterations": 3}, {"evaluate.limit": True}, ["evaluate.limit"]),
    ],
)
def test_what_belongs_to_a_flow_on_the_samples_alone_is_refused_in_stages(text, stage, changes, keys):
    with pytest.raises(flowsim.ScenarioError) as refused:
        flowsim.loads(text, overrides={"stage": [{"name": "a", **stage}], **changes})
    assert list(dict.fromkeys(issue.key for issue in refused.value.issues)) == keys


def test_a_loss_with_a_regularizer_has_no_loss_clock():
    wanted = {"loss.regularizer": {"cubic": 0.1}, "flow.clock": "loss"}
    with pytest.raises(flowsim.ScenarioError, match=r"flow\.clock: .*regularizer"):
        flowsim.loads(MIXTURE, overrides=wanted)


def test_a_stage_may_end_where_the_kkt_conditions_hold():
    tree = flowsim.run(stages(MIXTURE, {"until": {"kkt": 0.5}}, {"until": {"kkt": 0.3}}))
    residual = tree["kkt/kkt_residual"].values
    first = tree["stage"].values == "0"
    assert 0.3 < residual[first][-1] <= 0.5
    assert residual[-1] <= 0.3


def test_an_attacked_flow_with_a_kink_is_refused_at_its_stage():
    with pytest.raises(flowsim.ScenarioError, match=r"stage\[0\]\.method.*kink"):
        flowsim.run(stages(MIXTURE.replace("prelu", "relu"), {"attack": FGM}))


def test_problems_of_a_stage_have_their_lines():
    text = (
        MIXTURE + '[[stage]]\nname = "a"\n[[stage]]\nname = "a"\nmethod = "sgd"\nattack = { kind = "fgm", steps = 3 }\n'
    )
    with pytest.raises(flowsim.ScenarioError) as refused:
        flowsim.loads(text, name="x.toml")
    assert {issue.key: issue.place for issue in refused.value.issues}["stage[1].attack.radius"] == "x.toml:23"
