"""Where tiny sets of images lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.pictures import write_sets


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where tiny MNIST and CIFAR-10 lie, and the scenarios of these tests, too."""
    monkeypatch.delenv("FLOWSIM_DATA", raising=False)
    return write_sets(tmp_path)
