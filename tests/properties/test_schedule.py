"""Which instants are kept: 0, the end, and a grid between; with an open end between `times` and twice as many."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import flowsim
from flowsim.solve.schedule import LOG_SPAN, Schedule

counts = st.integers(2, 40)
ends = st.floats(1e-6, 1e12)
first_steps = st.floats(1e-9, 1e3)


def schedule(count: int, spacing: str, first_step: float, **until: float) -> Schedule:
    scenario = flowsim.loads("", overrides={"observe": {"times": count, "spacing": spacing}, "flow.until": until})
    return Schedule.of(scenario, first_step)


def closed_grid(count: int, spacing: str, end: float) -> list[float]:
    instants, plan = [], schedule(count, spacing, 1.0, time=end)
    while math.isfinite(plan.next):
        instants.append(plan.next)
        plan.index += 1
    return instants


def kept_by(plan: Schedule, times: list[float]) -> list[float]:
    """What a drive keeps that arrives at these times one after the other."""
    kept: list[float] = []
    for time in times:
        while plan.bound <= time:
            del kept[1::2]
            plan.coarsen()
        while plan.next <= time:
            kept.append(plan.next)
            plan.index += 1
    return kept


@given(count=counts, end=ends)
def test_a_linear_grid_is_evenly_spaced_from_0_to_the_very_end(count, end):
    grid = closed_grid(count, "linear", end)
    assert len(grid) == count
    assert (grid[0], grid[-1]) == (0.0, end)
    np.testing.assert_allclose(grid, np.linspace(0, end, count), rtol=1e-14)


@given(count=counts, end=ends, spacing=st.sampled_from(["linear", "log"]))
def test_the_grid_of_an_ensemble_ends_with_its_time_whatever_its_goals(count, end, spacing):
    overrides = {
        "seed": [0, 1],
        "observe": {"times": count, "spacing": spacing},
        "flow.until": {"time": end, "loss": 0.1},
    }
    grid = Schedule.of(flowsim.loads("", overrides=overrides), math.nan)
    assert grid.instants == closed_grid(count, spacing, end)
    assert not grid.bound <= end


@given(count=counts, end=ends)
def test_a_logarithmic_grid_is_0_and_a_geometric_sequence_to_the_very_end(count, end):
    grid = closed_grid(count, "log", end)
    assert len(grid) == count
    assert (grid[0], grid[-1]) == (0.0, end)
    if count > 2:
        np.testing.assert_allclose(grid[1:], np.geomspace(end / LOG_SPAN, end, count - 1), rtol=1e-12)


@given(count=counts, end=ends)
def test_every_step_is_0_and_then_no_instant_of_its_own(count, end):
    plan = schedule(count, "solver", 1.0, time=end)
    assert plan.every_step
    assert closed_grid(count, "solver", end) == [0.0]


@given(count=counts, first_step=first_steps, spacing=st.sampled_from(["linear", "log"]), data=st.data())
def test_with_an_open_end_an_even_grid_of_wanted_size_is_kept_at_any_time(count, first_step, spacing, data):
    # a drive arrives at growing times, which may skip far ahead
    jumps = data.draw(st.lists(st.floats(0.01, 6), min_size=1, max_size=30))
    times = [0.0, *(first_step * 10 ** np.cumsum(jumps))]
    assume(times[-1] < 1e200)
    plan = schedule(count, spacing, first_step, loss=0.1)
    finest = plan.spacing
    kept = kept_by(plan, times)
    assert kept[0] == 0.0
    assert kept == sorted(set(kept))
    assert len(kept) < 2 * count
    assert len(kept) >= count or plan.spacing == finest
    steps = np.diff(kept) if spacing == "linear" else np.diff(np.log(kept[1:]))
    if len(steps) > 1:
        np.testing.assert_allclose(steps, steps[0], rtol=1e-9)
    # nothing before the time reached is missing: the next instant is one step further
    assert times[-1] < plan.next
    if spacing == "linear" and len(kept) > 1:
        assert plan.next <= kept[-1] + steps[0] * (1 + 1e-9)


@given(count=counts, first_step=first_steps)
def test_a_budget_of_steps_beside_a_time_leaves_the_end_known(count, first_step):
    assert not schedule(count, "linear", first_step, time=7.0, steps=3).open_ended
    for until in ({"loss": 0.1}, {"time": 7.0, "loss": 0.1}, {"steps": 3}, {"alignment": 0.9}, {"log10_loss": -3.0}):
        assert schedule(count, "linear", first_step, **until).open_ended


def descent_grid(count: int, spacing: str, step: float, iterations: int) -> Schedule:
    flow = {"method": "gradient_descent", "step": step, "iterations": iterations}
    scenario = flowsim.loads("", overrides={"observe": {"times": count, "spacing": spacing}, "flow": flow})
    return Schedule.of(scenario, step)


@given(
    count=counts,
    step=st.floats(1e-6, 1e3),
    iterations=st.integers(1, 10**6),
    spacing=st.sampled_from(["linear", "log"]),
)
def test_descent_is_kept_at_whole_iterations_none_of_them_twice(count, step, iterations, spacing):
    instants = descent_grid(count, spacing, step, iterations).instants
    kept = np.rint(np.array(instants) / step).astype(int)
    assert instants == [step * int(iteration) for iteration in kept]
    assert (kept[0], kept[-1]) == (0, iterations)
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= count
    if spacing == "linear":
        assert len(kept) == min(count, iterations + 1)
        assert np.ptp(np.diff(kept)) <= 1


@given(count=counts, step=st.floats(1e-6, 1e3), arrivals=st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_with_an_open_end_descent_is_kept_at_evenly_spaced_iterations(count, step, arrivals):
    flow = {"method": "gradient_descent", "step": step, "until": {"loss": 0.1}}
    scenario = flowsim.loads("", overrides={"observe.times": count, "flow": flow})
    plan = Schedule.of(scenario, step)
    reached = [0, *np.cumsum(arrivals).tolist()]
    kept = kept_by(plan, [step * iteration for iteration in range(reached[-1] + 1)])
    iterations = np.rint(np.array(kept) / step).astype(int)
    assert kept == [step * int(iteration) for iteration in iterations]
    assert len(set(np.diff(iterations).tolist())) <= 1
    assert len(kept) >= min(count, reached[-1] + 1)


@given(count=counts, first_step=first_steps)
def test_an_open_ended_grid_goes_on_until_times_are_floats_no_more(count, first_step):
    plan = schedule(count, "log", first_step, loss=0.1)
    assert len(kept_by(plan, [10.0**power for power in range(-9, 309)])) < 2 * count
    assert plan.next > 1e308 / LOG_SPAN


@given(
    count=counts, spacing=st.sampled_from(["linear", "log", "solver"]), end=ends | st.none(), index=st.integers(0, 90)
)
def test_the_first_of_the_instants_ahead_is_the_next_one(count, spacing, end, index):
    plan = schedule(count, spacing, 1.0, **({"loss": 0.1} if end is None else {"time": end}))
    plan.index = index
    known = math.isfinite(plan.next) and plan.next < plan.bound
    assert plan.ahead(1) == ([plan.next] if known else [])
