"""The normal law from a table, since the compiler turns a table and a polynomial into vector instructions, and erfc not.

Around an entry a, with its density n(a) and Hermite's polynomials H_k:
n(a + t) = n(a) sum_k (-t)^k H_k(a) / k!, and N(a + t) = N(a) + n(a) sum_k (-1)^k t^(k + 1) H_k(a) / (k + 1)!.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from .compiled import inlined

#: Beyond so many standard deviations nothing happens.
SURE = 9.0
#: Entries per standard deviation: terms up to t^6 then leave an error of 1e-15.
DENSE = 32.0
MIDDLE = int(SURE * DENSE)

_ENTRIES = np.arange(-MIDDLE, MIDDLE + 1) / DENSE
SHARE = ndtr(_ENTRIES)
DENSITY = np.exp(-0.5 * _ENTRIES**2) / np.sqrt(2 * np.pi)


@inlined
def normal(x: float) -> tuple[float, float]:
    """(N(x), n(x)), what is below x and the density there; those of -9 and 9 beyond these."""
    x = x if x > -SURE else -SURE  # nan too
    x = x if x < SURE else SURE
    entry = int((x + SURE) * DENSE + 0.5)
    a = (entry - MIDDLE) / DENSE
    t, share, density = x - a, SHARE[entry], DENSITY[entry]
    square = a * a
    h2 = square - 1.0
    h3 = a * (square - 3.0)
    h4 = square * (square - 6.0) + 3.0
    h5 = a * (square * (square - 10.0) + 15.0)
    h6 = square * (square * (square - 15.0) + 45.0) - 15.0
    below = 1.0 - t * (a / 2.0 - t * (h2 / 6.0 - t * (h3 / 24.0 - t * (h4 / 120.0 - t * (h5 / 720.0)))))
    here = 1.0 - t * (a - t * (h2 / 2.0 - t * (h3 / 6.0 - t * (h4 / 24.0 - t * (h5 / 120.0 - t * (h6 / 720.0))))))
    return share + density * t * below, density * here
