"""A small scenario, a [sweep] of six points, and sweeps without Dask."""

from __future__ import annotations

from pathlib import Path

import flowsim
from flowsim.sweep.batches import Estimate, batches
from flowsim.sweep.plan import plan
from flowsim.sweep.store import Store
from flowsim.sweep.worker import fly

BASE = """\
title = "a small mixture"

[data]
dimension = 12
samples = 24
positive = 2
negative = 2
noise = { total = 0.2 }

[model]
width = 6

[init]
scale = 1e-3

[flow]
until = { time = 30.0 }

[observe]
times = 11

"""
GRID = """\
[sweep.grid]
"data.noise.total" = [0.1, 0.3]
seed = [0, 1, 2]
"""


def fly_here(scenario: flowsim.Scenario, folder: Path) -> None:
    """Run the points of a sweep into its folder as a worker would, in this process; no dataset is gathered."""
    planned = plan(scenario)
    with Store.open(folder, planned, resume=False, overwrite=False) as store:
        for batch in batches(planned, store.missing, Estimate(0), workers=1):
            store.keep(fly(batch))
        assert not store.missing, store.manifest.read_text()
