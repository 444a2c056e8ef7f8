"""What every "auto" comes to, why, and what cannot work."""

from __future__ import annotations

import json

import pytest

import flowsim
from flowsim.cli import main
from flowsim.problem import reduce
from flowsim.solve import Plan, choose, plan

RELU = {"model": {"activation": "relu", "width": 6}}
LEAKY = {"model": {"activation": "leaky_relu", "slope": 0.1, "width": 6}}


def chosen(scenario: flowsim.Scenario) -> Plan:
    return choose(scenario, reduce(flowsim.build(scenario)))


@pytest.fixture
def without_diffrax(monkeypatch):
    """As if neither diffrax nor JAX were installed."""
    found = plan.find_spec
    monkeypatch.setattr(plan, "find_spec", lambda name: None if name in ("diffrax", "jax") else found(name))


@pytest.fixture
def large(monkeypatch):
    """The small scenario as one that is large: 24 samples x 12 features x 6 neurons, two products, 2 operations each."""
    monkeypatch.setattr(plan, "SMALL", 4 * 24 * 12 * 6 - 1)


def test_a_small_smooth_problem_takes_the_engine_that_does_not_compile_for_every_run(small):
    found = chosen(small())
    assert (found.engine, found.solver, found.coordinates) == ("numba", "dopri5", "polar")
    assert found.reasons[0] == (
        "engine numba: 0.00691 Mflop per evaluation is little; "
        "what it needs is compiled once for a machine, not for every shape"
    )
    assert found.reasons[1] == "solver dopri5: order 5 is cheaper down to rtol = 1e-06"
    assert found.warnings == ()


def test_a_tight_tolerance_takes_a_high_order(small):
    found = chosen(small(flow__rtol=1e-7))
    assert (found.solver, found.reasons[1]) == ("dop853", "solver dop853: the field is smooth and the tolerance tight")


def test_the_limit_of_small_is_small_still(small, monkeypatch):
    monkeypatch.setattr(plan, "SMALL", 4 * 24 * 12 * 6)
    assert chosen(small()).engine == "numba"


def test_a_large_smooth_problem_is_for_jax(small, large):
    found = chosen(small())
    assert (found.engine, found.solver) == ("diffrax", "dopri8+rkc2")
    assert found.reasons[0] == "engine diffrax: the field is smooth and 0.006912 Mflop per evaluation is much"


def test_size_is_that_of_the_reduced_problem(small, monkeypatch):
    # 4 centres without noise in 4 + 1 dimensions
    monkeypatch.setattr(plan, "SMALL", 4 * 4 * 5 * 6)
    assert chosen(small(data__noise={"total": 0.0}, data__dimension=500)).engine == "numba"


@pytest.mark.parametrize("model", [RELU, LEAKY], ids=["relu", "leaky relu"])
def test_a_kink_is_for_the_engine_that_follows_it_whatever_the_size(small, large, model):
    found = chosen(small(**model))
    name = model["model"]["activation"]
    assert (found.engine, found.solver, found.follows_sliding, found.warnings) == ("numba", "dopri5", True, ())
    assert found.reasons[0] == f"engine numba: {name} has a kink, and only this engine follows sliding along it"
    assert found.reasons[1] == "solver dopri5: the field has jumps, so a high order would not pay"


def test_a_leaky_relu_of_slope_1_has_no_kink(small, large):
    found = chosen(small(model={"activation": "leaky_relu", "slope": 1.0, "width": 6}))
    assert (found.engine, found.solver, found.follows_sliding) == ("diffrax", "dopri8+rkc2", False)


def test_a_kink_on_the_engine_that_does_not_follow_it_is_warned_of(small):
    found = chosen(small(**RELU, flow__engine="diffrax"))
    assert (found.engine, found.solver, found.follows_sliding) == ("diffrax", "tsit5", False)
    (warning,) = found.warnings
    assert warning.startswith("relu has a kink")
    assert warning.endswith("The numba engine follows them.")


@pytest.mark.parametrize(
    ("solver", "engine"),
    [("tsit5", "diffrax"), ("dopri8", "diffrax"), ("kvaerno5", "diffrax"), ("dop853", "numba")],
)
def test_a_solver_that_one_engine_has_chooses_the_engine(small, large, solver, engine):
    for overrides in ({}, RELU):
        found = chosen(small(flow__solver=solver, **overrides))
        assert (found.engine, found.solver) == (engine, solver)
        assert found.reasons[:2] == (
            f"engine {engine}: the one with {solver}",
            f"solver {solver}: as the scenario says",
        )


def test_a_solver_that_both_have_leaves_the_choice_to_the_problem(small, monkeypatch):
    assert chosen(small(flow__solver="dopri5")).engine == "numba"
    monkeypatch.setattr(plan, "SMALL", 0)
    assert chosen(small(flow__solver="dopri5")).engine == "diffrax"
    assert chosen(small(flow__solver="dopri5", **RELU)).engine == "numba"


def test_every_solver_that_a_scenario_may_name_is_some_engine_s(small):
    for engine, solvers in plan.SOLVERS.items():
        for solver in solvers:
            found = chosen(small(flow__engine=engine, flow__solver=solver))
            assert (found.engine, found.solver) == (engine, solver)
            assert all(reason.endswith(": as the scenario says") for reason in found.reasons[:2])
    listed = flowsim.Scenario.model_fields["flow"].annotation.model_fields["solver"].annotation.__args__
    assert set(listed) == {"auto", *(solver for solvers in plan.SOLVERS.values() for solver in solvers)}


def test_mixed_precision_is_for_jax(small):
    found = chosen(small(flow__precision="mixed"))
    assert (found.engine, found.solver, found.precision) == ("diffrax", "dopri8", "mixed")
    assert found.reasons[0] == "engine diffrax: the one with mixed precision"
    assert chosen(small(flow__precision="mixed", **RELU)).engine == "diffrax"


def test_order_5_is_for_the_looser_tolerances_of_either_engine(small, large):
    assert chosen(small(flow__rtol=1e-5)).solver == "tsit5+rkc2"
    assert chosen(small(flow__rtol=9e-6)).solver == "dopri8+rkc2"


@pytest.mark.parametrize(
    ("asked", "precision", "reason"),
    [
        ({"flow__rtol": 1e-5}, "mixed", "products are most of the cost"),
        ({"flow__rtol": 9e-6}, "float64", "below rtol = 1e-05"),
        ({"flow__rtol": 1e-5, "flow__engine": "numba"}, "float64", "the one of this engine"),
        (
            {"flow__rtol": 1e-5, "loss__kind": "exponential", "flow__until": {"loss": 1e-3}},
            "float64",
            "on the loss clock",
        ),
        (
            {"flow__rtol": 1e-5, "model": {"kind": "mlp", "activation": "tanh"}},
            "float64",
            "float32 would be for the network",
        ),
    ],
)
def test_automatic_precision_is_mixed_where_large_products_may_be_in_float32(small, large, asked, precision, reason):
    found = chosen(small(flow__precision="auto", **asked))
    assert found.precision == precision
    assert found.reasons[4].startswith(f"precision {precision}: {reason}")


def test_precision_is_float64_unless_it_is_asked_for_otherwise(small, large):
    assert chosen(small(flow__rtol=1e-3)).precision == "float64"


def test_automatic_precision_is_float64_where_products_are_small(small):
    asked = small(flow__precision="auto", flow__rtol=1e-4, flow__engine="diffrax")
    assert chosen(asked).reasons[4].endswith("are not most of its cost")


def test_descent_is_in_float64_by_automatic_precision(small):
    descent = {"method": "gradient_descent", "step": 0.1, "iterations": 3, "precision": "auto"}
    assert chosen(small(flow=descent)).precision == "float64"


def test_a_result_says_which_precision_was_taken(small, large):
    tree = flowsim.run(small(flow__precision="auto", flow__rtol=1e-4, flow__until={"time": 1.0}))
    assert tree.attrs["precision"] == "mixed"


def test_without_diffrax_everything_that_numba_can_do_is_done_by_it(small, large, without_diffrax):
    found = chosen(small())
    assert (found.engine, found.solver, found.reasons[0]) == (
        "numba",
        "dopri5",
        "engine numba: diffrax is not installed",
    )
    assert chosen(small(**RELU)).reasons[0].startswith("engine numba: relu has a kink")
    assert chosen(small(flow__solver="dopri5")).engine == "numba"


def refusal(text: str) -> str:
    with pytest.raises(flowsim.ScenarioError) as caught:
        chosen(flowsim.loads(f"[data]\nsamples = 4\n[flow]\n{text}", name="a.toml"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('engine = "diffrax"', "a.toml:4: flow.engine: needs diffrax, which is not installed; pip install diffrax"),
        ('precision = "mixed"', "a.toml:4: flow.precision: needs diffrax, which is not installed; pip install diffrax"),
        ('solver = "tsit5"', "a.toml:4: flow.solver: needs diffrax, which is not installed; pip install diffrax"),
        (
            'precision = "mixed"\nengine = "diffrax"',
            "a.toml:5: flow.engine: needs diffrax, which is not installed; pip install diffrax",
        ),
    ],
)
def test_what_needs_diffrax_says_so_where_it_was_asked_for(without_diffrax, text, message):
    assert refusal(text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'engine = "numba"\nsolver = "tsit5"',
            "a.toml:5: flow.solver: the numba engine has dopri5, dop853, rkc2; tsit5 is not among them",
        ),
        (
            'engine = "diffrax"\nsolver = "dop853"',
            "a.toml:5: flow.solver: the diffrax engine has tsit5, dopri5, dopri8, rkc2, kvaerno5; dop853 is not among them",
        ),
        (
            'precision = "mixed"\nsolver = "dop853"',
            "a.toml:5: flow.solver: the diffrax engine has tsit5, dopri5, dopri8, rkc2, kvaerno5; dop853 is not among them",
        ),
        (
            'engine = "numba"\nprecision = "mixed"',
            'a.toml:5: flow.precision: the numba engine computes in "float64"; use flow.engine = "diffrax"',
        ),
    ],
)
def test_what_an_engine_does_not_have_is_refused_where_it_was_asked_for(text, message):
    assert refusal(text) == message


def test_reasons_are_shown_by_check(tmp_path, capsys):
    file = tmp_path / "a.toml"
    file.write_text('[data]\nsamples = 8\n[model]\nactivation = "relu"\nwidth = 2\n')
    assert main(["check", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "engine       numba: relu has a kink, and only this engine follows sliding along it" in lines
    assert "solver       dopri5: the field has jumps, so a high order would not pay" in lines
    assert main(["check", str(file), "--json", "--set", 'flow.engine="diffrax"']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["reasons"][:2] == [
        "engine diffrax: as the scenario says",
        "solver tsit5: the field has jumps, so a high order would not pay",
    ]
    assert [warning[:15] for warning in facts["warnings"]] == ["relu has a kink"]


def test_coordinates_do_not_depend_on_the_engine(small):
    for engine in plan.SOLVERS:
        for overrides, expected in (
            ({}, "polar"),
            ({"model": {"output": "fixed", "output_weight": 1.0}}, "cartesian"),
            ({"init__balanced": False, "data__dimension": 4, "model__width": 30, "init__scale": 0.1}, "cartesian"),
            ({"init__balanced": False, "data__dimension": 4, "model__width": 30, "init__scale": 1e-260}, "polar"),
        ):
            assert chosen(small(flow__engine=engine, **overrides)).coordinates == expected


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_goal_for_the_logarithm_of_the_loss_takes_the_loss_clock(small, large, loss):
    found = chosen(small(loss__kind=loss, flow__until={"log10_loss": -100.0}))
    assert (found.engine, found.solver, found.clock, found.reading) == ("diffrax", "dopri8+rkc2", "loss", "clock")
    assert found.reasons[3] == "clock loss: until names log10_loss, which falls like the logarithm of time"


@pytest.mark.parametrize("goal", [{"loss": 0.1}, {"alignment": 0.9}, {"steps": 10}])
def test_without_a_time_to_reach_the_loss_clock_takes_over(small, goal):
    found = chosen(small(loss__kind="logistic", flow__until=goal))
    assert (found.solver, found.clock, found.reading) == ("dopri5+rkc2", "time+loss", "time")
    assert chosen(small(loss__kind="logistic", flow__until=goal, observe__spacing="log")).reading == "log10_time"
    for otherwise in (
        {"flow__until": {"time": 10.0, **goal}},
        {"loss__kind": "square"},
        {"loss": {"kind": "logistic", "regularizer": {"square": 0.1}}},
        {"flow__clock": "time"},
    ):
        stays = chosen(small(**{"loss__kind": "logistic", "flow__until": goal, **otherwise}))
        assert (stays.clock, stays.reading) == ("time", "time"), otherwise


@pytest.mark.parametrize("keys", [{"activation": "tanh"}, {"bias": True}])
def test_a_network_that_is_not_homogeneous_stays_on_the_clock_of_time(small, keys):
    deep = {"kind": "mlp", "width": 4}
    options = {"init__scale": 0.1, "flow__until": {"log10_loss": -3.0}, "loss__kind": "logistic"}
    assert chosen(small(model=deep, **options)).clock == "loss"
    assert chosen(small(model={**deep, **keys}, **options)).clock == "time"


def test_a_goal_in_time_takes_the_clock_that_is_asked_for(small):
    assert chosen(small(loss__kind="logistic")).clock == "time"
    assert chosen(small(flow__until={"log10_loss": -5.0})).clock == "time"
    found = chosen(small(loss__kind="logistic", flow__clock="loss"))
    assert (found.clock, found.reading) == ("loss", "time")
    found = chosen(small(loss__kind="logistic", flow__until={"log10_loss": -9.0}, observe__spacing="log"))
    assert found.reading == "log10_time"


def test_the_square_loss_has_no_loss_clock():
    with pytest.raises(flowsim.ScenarioError, match=r'a.toml:2: flow.clock: "loss" is for losses that fall for ever'):
        flowsim.loads('[flow]\nclock = "loss"\n', name="a.toml")
