"""What tests of plugins share: a folder with a plugin's file and a scenario that names its kinds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.plugins import LAB, SCENARIO

from flowsim.kinds import plugins


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """Kinds that a test registers go with it."""
    yield
    plugins.hold(())


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the current one, with my_lab.py and scenario.toml."""
    (tmp_path / "my_lab.py").write_text(LAB)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path
