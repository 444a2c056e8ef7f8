"""What tests of sweeps share: a small sweep, and what a folder contains."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from support.sweeps import BASE, GRID

import flowsim
from flowsim.sweep import Result, sweep

# no example is slow, only machines are
settings.register_profile("sweeps", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sweeps")


@pytest.fixture
def swept(within: None, tmp_path: Path) -> Callable[..., Result]:
    """Run BASE with this [sweep], and overrides such as ``model__width=3``, in the folder `out`."""

    def run(table: str = GRID, folder: str = "out", base: str = BASE, **options: Any) -> Result:
        given = {key: options.pop(key) for key in ("resume", "overwrite", "watch") if key in options}
        overrides = {key.replace("__", "."): value for key, value in options.items()}
        return sweep(flowsim.loads(base + table, folder=tmp_path, overrides=overrides), tmp_path / folder, **given)

    return run


@pytest.fixture
def contents() -> Callable[[Path], dict[str, tuple[bytes, int]]]:
    """Every file beneath a folder: its content, and when it was written."""

    def read(folder: Path) -> dict[str, tuple[bytes, int]]:
        files = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
        return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}

    return read
