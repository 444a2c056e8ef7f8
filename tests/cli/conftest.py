"""A folder to work in, with a scenario of less than a second, and the command line as a function."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowsim.cli import main

SCENARIO = """\
title = "a small run"

[data]
dimension = 12
samples = 24
noise = { total = 0.2 }

[model]
width = 6

[flow]
until = { time = 30.0 }

[observe]
times = 11
"""


@dataclass(frozen=True)
class Answer:
    """code: exit code; out, err: what was printed, but that a kernel was compiled, which only the first run says."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory but for the scenario a.toml."""
    (tmp_path / "a.toml").write_text(SCENARIO)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def flowsim(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    def call(*arguments: str) -> Answer:
        try:
            code = main(arguments)
        except SystemExit as leave:  # how argparse says that it was used wrongly, or has said all
            code = int(leave.code or 0)
        captured = capsys.readouterr()
        assert "an error in flowsim" not in captured.err
        return Answer(code, captured.out, re.sub(r"^compiling once .*\n", "", captured.err, flags=re.MULTILINE))

    return call


@pytest.fixture
def files(folder: Path) -> Callable[[], dict[str, bytes]]:
    """Every file in the working directory with its content."""
    return lambda: {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}
