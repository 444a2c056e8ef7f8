"""A sweep's points: which there are, what names them, and what is said of bad ones."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowsim
from flowsim.cli import main
from flowsim.gate import limit
from flowsim.scenario.sweep import Range
from flowsim.sweep import sweep
from flowsim.sweep.batches import Estimate, batches, estimate
from flowsim.sweep.cost import seconds
from flowsim.sweep.plan import plan
from flowsim.threads import one_core

LIGHT = Estimate(1, operations=1.0, bytes=1.0)


def points(text: str, **overrides):
    overrides = {key.replace("__", "."): value for key, value in overrides.items()}
    return plan(flowsim.loads(text, name="s.toml", overrides=overrides)).points


def answer(text: str) -> list[str]:
    with pytest.raises(flowsim.ScenarioError) as caught:
        plan(flowsim.loads(text, name="s.toml"))
    return str(caught.value).splitlines()


def test_a_grid_has_all_combinations_and_a_zip_goes_side_by_side():
    found = points(
        '[sweep.grid]\nseed = [0, 1]\n"model.width" = [3, 4, 5]\n[sweep.zip]\n"init.scale" = [1e-3, 1e-4]\n'
        '"data.noise.total" = [0.1, 0.2]'
    )
    assert len(found) == 12
    assert {(p.values["init.scale"], p.values["data.noise.total"]) for p in found} == {(1e-3, 0.1), (1e-4, 0.2)}
    assert [p.values["model.width"] for p in found[::2]] == [3, 4, 5] * 2


def test_points_of_another_kind_leave_the_keys_of_the_old_one():
    text = '[model]\nactivation = "prelu"\ndegree = 2\nwidth = 4\n[sweep.grid]\n"model.activation" = ["prelu", "relu"]'
    found = plan(flowsim.loads(text))
    assert [found.resolved(point)["model"] for point in found.points] == [
        {"activation": "prelu", "degree": 2, "width": 4},
        {"activation": "relu", "width": 4},
    ]


def test_a_sweep_is_the_same_however_its_base_is_written():
    text = 'seed = 3\n[sweep.grid]\n"model.width" = [3, 4]'
    scenario = flowsim.loads(text)
    others = [
        flowsim.loads(scenario.to_toml()),
        flowsim.loads(text, overrides={"seed": 1}).model_copy(update={"seed": 3}),
    ]
    for other in map(plan, others):
        assert other.identity == plan(scenario).identity
        assert [point.sha256 for point in other.points] == [point.sha256 for point in plan(scenario).points]


def test_listed_points_are_these():
    table = '[sweep]\npoints = [{ seed = 3, "model.width" = 4 }, { "model.width" = 5, seed = 1 }]'
    assert [dict(p.values) for p in points(table)] == [
        {"seed": 3, "model.width": 4},
        {"seed": 1, "model.width": 5},
    ]


whole, real = st.integers(1, 1000), st.floats(1e-6, 1e6)


@given(
    st.one_of(st.tuples(whole, whole), st.tuples(real, real)), st.integers(2, 50), st.sampled_from(["linear", "log"])
)
def test_a_range_goes_from_its_first_value_to_its_last_in_equal_steps(ends, count, spacing):
    low, high = sorted(ends)
    if low == high:
        return
    values = Range.model_validate({"from": low, "to": high, "count": count, "spacing": spacing}).values
    assert (values[0], values[-1], len(values)) == (low, high, count)
    assert {type(value) for value in values} == {type(low)}
    scale = math.log if spacing == "log" else float
    step = (scale(high) - scale(low)) / (count - 1)
    for index, value in enumerate(values):
        exact = scale(low) + index * step
        slack = 0.5 if isinstance(low, int) else 0.0
        exact = math.exp(exact) if spacing == "log" else exact
        assert value == pytest.approx(exact, rel=1e-9, abs=slack + 1e-12)


def test_what_a_point_is_called_depends_on_its_content_alone():
    one = points('[sweep.grid]\nseed = [0, 1]\n"data.noise.total" = [0.1, 0.2]')
    other = points('# other\n[data.noise]\ntotal = 0.2\n[sweep.grid]\n"data.noise.total" = [0.2, 0.1]\nseed = [1, 0]')
    assert {p.sha256 for p in one} == {p.sha256 for p in other}
    assert {p.sha256 for p in points('seed = 1\n[sweep.grid]\n"data.noise.total" = [0.1]')} < {p.sha256 for p in one}


def test_points_that_differ_in_their_seed_alone_fly_together_whatever_their_order():
    seeds = "seed = { from = 0, to = 19, count = 20 }"
    planned = plan(flowsim.loads(f'[sweep.grid]\n{seeds}\n"model.width" = [3, 5]'))
    found = [flight for batch in batches(planned, planned.points, LIGHT, 1) for flight in batch.flights]
    assert sorted(point for flight in found for point in flight.points) == sorted(p.sha256 for p in planned.points)
    assert max(len(flight.points) for flight in found) == 10
    assert len(found) < 10
    assert {flight.values["model"]["width"] for flight in found} == {3, 5}


def test_a_family_that_cannot_be_an_ensemble_flies_one_by_one():
    text = "[flow]\nuntil = { loss = 0.1 }\n[sweep.grid]\nseed = { from = 0, to = 99, count = 100 }"
    planned = plan(flowsim.loads(text))
    flights = [flight for batch in batches(planned, planned.points, LIGHT, 1) for flight in batch.flights]
    assert all(len(flight.points) == 1 for flight in flights)
    together = plan(flowsim.loads(text.replace("loss = 0.1", "loss = 0.1, time = 9.0")))
    assert len([f for batch in batches(together, together.points, LIGHT, 1) for f in batch.flights]) < 20


def test_ten_thousand_points_are_few_batches():
    grid = "[sweep.grid]\nseed = { from = 0, to = 99, count = 100 }\n"
    planned = plan(flowsim.loads(grid + '"data.noise.total" = { from = 0.1, to = 1.0, count = 100 }'))
    found = batches(planned, planned.points, LIGHT, 2)
    assert len(planned.points) == 10_000
    assert len(found) <= 100
    assert sum(len(batch.points) for batch in found) == 10_000


@given(st.integers(1, 300), st.floats(1e6, 1e12), st.integers(1, 8), st.booleans())
def test_batches_have_every_point_once_and_get_smaller_towards_the_end(count, operations, workers, family):
    key = "seed" if family else "flow.rtol"
    values = ", ".join(str(index if family else 1e-6 * (1 + index)) for index in range(count))
    planned = plan(flowsim.loads(f'[sweep.grid]\n"{key}" = [{values}]'))
    found = [
        batch.points
        for batch in batches(planned, planned.points, Estimate(1, operations=operations, bytes=1.0), workers)
    ]
    assert [point for points in found for point in points] == [point.sha256 for point in planned.points]
    sizes = [len(points) for points in found]
    assert sorted(sizes, reverse=True) == sizes
    assert sizes[0] <= max(count / (4 * workers) + 1, 1)
    assert sizes[0] == 1 or sizes[0] * operations <= 2e11


BAD = {
    "unknown key": ('[sweep.grid]\n"model.widht" = [3]', 's.toml:2: model.widht: unknown key; did you mean "width"?'),
    "itself": ('[sweep.grid]\n"sweep.grid" = [3]\n', 's.toml:2: sweep.grid."sweep.grid": cannot be swept'),
    "a dead end": (
        '[loss]\nkind = "square"\n[sweep.grid]\n"loss.kind.x" = [3]',
        "s.toml:4: loss.kind.x: leads nowhere",
    ),
    "value": (
        '[sweep.grid]\n"data.noise.total" = [\n0.1,\n-1.0]',
        "s.toml:4: data.noise.total: -1.0 is not allowed",
    ),
    "empty array": ("[sweep.grid]\nseed = []", "s.toml:2: sweep.grid.seed: must have at least 1, not 0"),
    "empty range": (
        "[sweep.grid]\nseed = { from = 0, to = 9, count = 0 }",
        "s.toml:2: sweep.grid.seed.count: 0 is not allowed",
    ),
    "range of one": (
        "[sweep.grid]\nseed = { from = 4, to = 4, count = 3 }",
        "s.toml:2: sweep.grid.seed.to: from and to are both 4",
    ),
    "log range from 0": (
        '[sweep.grid]\n"init.scale" = { from = 0.0, to = 1.0, count = 3, spacing = "log" }',
        's.toml:2: sweep.grid."init.scale".spacing: "log" needs',
    ),
    "half a range": (
        "[sweep.grid]\nseed = { from = 0, to = 9 }",
        "s.toml:2: sweep.grid.seed.count: is required",
    ),
    "a billion points": (
        "[sweep.grid]\nseed = { from = 0, to = 999_999, count = 1_000_000 }\n"
        '"init.scale" = { from = 0.1, to = 1.0, count = 1000 }',
        f"s.toml:1: sweep.grid: 1000000000 points; at most {limit('points'):.0f}",
    ),
    "lengths of zip": (
        '[sweep.zip]\nseed = [1, 2, 3]\n"model.width" = [3, 4]',
        "s.toml:2: sweep.zip.seed: arrays of zip have one length, and these have 3 of seed, 2 of model.width",
    ),
    "swept twice": (
        "[sweep.zip]\nseed = [1, 2]\n[sweep.grid]\nseed = [3]",
        "s.toml:2: sweep.zip.seed: is in grid too",
    ),
    "a part of another": (
        '[sweep.grid]\n"data.noise" = [{ total = 0.1 }]\n"data.noise.total" = [0.1]',
        's.toml:3: sweep.grid."data.noise.total": is a part of data.noise',
    ),
    "no quotes": (
        "[sweep.grid]\ndata.noise.total = [0.1]",
        's.toml:2: sweep.grid.data: is a table; write dotted keys in quotes: "data.noise.total"',
    ),
    "twice the same": (
        '[sweep.grid]\n"data.noise.total" = [0.5, 1, 1.0]',
        "s.toml:2: data.noise.total: 1 is named twice",
    ),
    "the same point twice": (
        "[sweep]\npoints = [\n{ seed = 1 },\n{ seed = 2 },\n{ seed = 1 }]",
        "s.toml:5: seed: 1 is named twice",
    ),
    "different keys": (
        '[sweep]\npoints = [{ seed = 1 },\n{ "model.width" = 1 }]',
        "s.toml:3: sweep.points[1]: its keys differ from those of the first point: seed",
    ),
    "an ensemble": (
        'seed = [1, 2]\n[sweep.grid]\n"model.width" = [3]',
        "s.toml:1: seed: a point of a sweep has a single",
    ),
    "no such observable": (
        '[sweep]\ntrajectories = ["los"]\ngrid = { seed = [1] }',
        's.toml:2: sweep.trajectories[0]: "los" is not allowed; did you mean "loss"?',
    ),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=list(BAD))
def test_bad_sweeps_are_answered_with_their_line(text, said):
    found = answer(text)
    assert found[0].startswith(said)


def test_every_problem_is_told_once_with_a_point_that_has_it():
    found = answer('[sweep.grid]\n"data.noise.total" = [-1.0, 0.1]\n"loss.kind" = ["hinge", "square"]\nseed = [0, 1]')
    assert [line.partition(": ")[0] for line in found] == ["s.toml:2", "s.toml:3"]
    assert "in 4 points, such as data.noise.total = -1" in found[0]


def test_rules_between_keys_are_seen_at_the_points():
    (found,) = answer('[data]\ndimension = 20\nbalanced = false\n[sweep.grid]\n"data.positive" = [3, 30]')
    assert found.startswith("s.toml:2: data.dimension: 20 is too small: 32 orthonormal centres")
    assert found.endswith("(in the point data.positive = 30)")


def test_a_scenario_without_a_sweep_is_none():
    with pytest.raises(flowsim.UsageError, match=r"has no \[sweep\]"):
        plan(flowsim.loads(""))


SMALL = "[data]\ndimension = 6\nsamples = 8\n[model]\nwidth = 4\n[flow]\nuntil = { time = 1.0 }\n"


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("[sweep.grid]\nseed = { from = 0, to = 39, count = 40 }\n'init.scale' = [0.1, 0.2]", 'sweep.grid."seed"'),
        ("[sweep.zip]\nseed = { from = 0, to = 79, count = 80 }", 'sweep.zip."seed"'),
        (f"[sweep]\npoints = [{', '.join(f'{{ seed = {seed} }}' for seed in range(80))}]", "sweep.points"),
    ],
    ids=["grid", "zip", "points"],
)
def test_a_sweep_that_takes_too_long_is_refused_at_what_makes_its_points(table, key, tmp_path, monkeypatch, capsys):
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(SMALL + table, encoding="utf-8")
    monkeypatch.setenv("FLOWSIM_LIMITS", "seconds=1")
    with one_core():  # or there would be a worker for each
        for command in (["check", str(file)], ["sweep", str(file), "-o", str(out), "--workers", "1"]):
            assert main(command) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert line.startswith(f"{file}:9: {key}: 80 points of about ")
            assert "--workers" in line
    assert not out.exists()


def test_more_workers_make_a_sweep_shorter_but_never_than_a_point():
    of_each = Estimate(1, seconds=10.0)
    assert seconds(of_each, points=100, workers=1) == pytest.approx(2 * seconds(of_each, points=100, workers=2))
    assert seconds(of_each, points=2, workers=50) == seconds(of_each, points=1, workers=1)


def test_points_at_once_that_need_too_much_memory_are_refused_with_how_many_would_fit(tmp_path, monkeypatch):
    scenario = flowsim.loads(SMALL + "[sweep.grid]\nseed = [0, 1, 2, 3, 4, 5]")
    planned = plan(scenario)
    of_each = estimate(planned, planned.points)
    monkeypatch.setenv("FLOWSIM_LIMITS", f"memory={2.5 * of_each.memory:.9g}")
    with pytest.raises(flowsim.UsageError, match=r"6 points at once would take .*; --workers 2 fits"):
        sweep(scenario, tmp_path / "out", workers=6)


def test_check_says_how_long_a_sweep_takes(tmp_path, capsys):
    file = tmp_path / "s.toml"
    file.write_text(SMALL + "[sweep.grid]\nseed = [0, 1, 2, 3]", encoding="utf-8")
    assert main(["check", str(file), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["sweep"]
    assert facts["core_seconds"] == pytest.approx(facts["seconds"] * min(facts["workers"], 4))
    assert main(["check", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    *_, time, memory, _ = lines
    assert time.startswith("time         of the order of ")
    assert f" with --workers {facts['workers']}, " in time
    assert memory.startswith("memory       about ")
