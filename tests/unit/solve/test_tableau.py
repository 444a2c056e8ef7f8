"""The coefficients of the compiled engine: the order of its pairs, and of what lies between two steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

from flowsim.solve.numba.tableau import TABLEAUS

SCIPY = {"dopri5": RK45, "dop853": DOP853}

EVERY = pytest.mark.parametrize("name", TABLEAUS)
#: eps times the sum of the sizes of terms that cancel: 5000 for chains of five coefficients of dop853.
ROUNDING = 1e-12


def nodes(name: str) -> np.ndarray:
    return TABLEAUS[name].a.sum(axis=1)


@EVERY
def test_a_step_is_exact_for_polynomials_up_to_its_order(name):
    tableau = TABLEAUS[name]
    for power in range(int(tableau.order)):
        assert tableau.weights @ nodes(name) ** power == pytest.approx(1 / (power + 1), rel=ROUNDING)
    assert abs(tableau.weights @ nodes(name) ** int(tableau.order) - 1 / (tableau.order + 1)) > 1e-6


@EVERY
def test_the_order_conditions_of_trees_of_four_nodes_hold(name):
    # Hairer, Norsett & Wanner, II.2, table 2.1
    tableau = TABLEAUS[name]
    a, b, c = tableau.a, tableau.weights, nodes(name)
    for left, right in (
        (b @ a @ c, 1 / 6),
        (b @ (c * (a @ c)), 1 / 8),
        (b @ a @ c**2, 1 / 12),
        (b @ a @ a @ c, 1 / 24),
        (b @ a @ a @ a @ c, 1 / 120),
        (b @ (c**2 * (a @ c)), 1 / 10),
        (b @ ((a @ c) ** 2), 1 / 20),
    ):
        assert left == pytest.approx(right, rel=ROUNDING)


@EVERY
def test_the_step_of_a_linear_equation_is_the_exponential_up_to_the_order(name):
    tableau = TABLEAUS[name]
    ones, stages = np.ones(len(tableau.a)), tableau.weights
    for power in range(1, int(tableau.order) + 1):
        # the coefficient of z^power in the stability function is b A^(power - 1) 1
        assert stages @ ones == pytest.approx(1 / np.prod(np.arange(1.0, power + 1)), rel=ROUNDING)
        ones = tableau.a @ ones


@EVERY
def test_the_last_stage_is_where_the_next_step_begins(name):
    tableau = TABLEAUS[name]
    np.testing.assert_array_equal(tableau.a[tableau.stages - 1], tableau.weights)
    assert (tableau.weights[tableau.stages - 1 :] == 0).all()
    assert (tableau.a[0] == 0).all()
    assert (np.triu(tableau.a) == 0).all()


@EVERY
def test_error_estimates_vanish_for_polynomials_of_lower_degree(name):
    tableau = TABLEAUS[name]
    for estimate, order in zip(tableau.error, {"dopri5": (4, 4), "dop853": (5, 3)}[name], strict=True):
        assert (estimate[tableau.stages :] == 0).all()
        for power in range(order):
            assert abs(estimate @ nodes(name) ** power) < ROUNDING
    assert np.abs(tableau.error[1]).any() == (name == "dop853")


def field(time, y):
    return np.array([y[1], -y[0] * (1 + 0.5 * np.sin(time))])


@EVERY
def test_a_step_and_its_dense_output_are_scipy_s(name):
    tableau, start, size = TABLEAUS[name], np.array([1.0, 0.3]), 0.4
    solver = SCIPY[name](field, 0.0, start, 10.0, first_step=size, max_step=size, rtol=1e-2, atol=1.0)
    solver.step()
    assert solver.t == size
    rates = np.zeros((len(tableau.a), 2))
    for stage in range(len(tableau.a)):
        rates[stage] = field(nodes(name)[stage] * size, start + size * tableau.a[stage] @ rates)
    np.testing.assert_allclose(start + size * tableau.weights @ rates, solver.y, rtol=ROUNDING)
    interpolant = solver.dense_output()
    for part in np.linspace(0, 1, 9):
        powers = part ** np.arange(1, tableau.dense.shape[1] + 1)
        found = start + size * (tableau.dense @ powers) @ rates
        np.testing.assert_allclose(found, interpolant(part * size), atol=ROUNDING)


@EVERY
def test_dense_output_begins_and_ends_with_its_step_s_states_and_velocities(name):
    tableau = TABLEAUS[name]
    first, last = np.eye(len(tableau.a))[[0, tableau.stages - 1]]
    np.testing.assert_allclose(tableau.dense.sum(axis=1), tableau.weights, atol=ROUNDING)
    np.testing.assert_allclose(tableau.dense[:, 0], first, atol=ROUNDING)
    slope = tableau.dense @ np.arange(1, tableau.dense.shape[1] + 1)
    np.testing.assert_allclose(slope, last, atol=10 * ROUNDING)
