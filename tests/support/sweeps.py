"""A small scenario, and a [sweep] of six points."""

from __future__ import annotations

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
