"""The coefficients of pairs are those that SciPy has."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from flowsim.solve.dormand_prince import DOP853, RK45


@pytest.mark.parametrize(
    ("own", "scipys", "names"),
    [(RK45, integrate.RK45, "A B E P"), (DOP853, integrate.DOP853, "A B A_EXTRA E3 E5 D")],
    ids=["RK45", "DOP853"],
)
def test_every_coefficient_is_scipy_s(own, scipys, names):
    for name in names.split():
        np.testing.assert_array_equal(getattr(own, name), getattr(scipys, name))
