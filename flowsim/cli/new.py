"""flowsim new"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..errors import UsageError
from ..scenario.schema import FILE_NAME, schema
from ..scenario.shipped import find
from .terminal import say

_DIRECTIVE = "#:schema "


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a scenario of flowsim list")
    parser.add_argument("-o", "--output", metavar="FILE.toml", help="where to write it (default: its own name, here)")


def execute(options: argparse.Namespace) -> int:
    source = find(options.name)
    target = Path(options.output or source.name)
    text = source.read_text(encoding="utf-8")
    if text.startswith(_DIRECTIVE):
        text = f"{_DIRECTIVE}./{FILE_NAME}\n" + text.partition("\n")[2]
    if target.exists():
        raise UsageError(f"{target}: exists already; use -o to write elsewhere")
    _write(target, text)
    beside = target.with_name(FILE_NAME)
    if not beside.exists():
        _write(beside, json.dumps(schema(), indent=2) + "\n")
    say(f"{target} (its editor schema: {beside})")
    return 0


def _write(file: Path, text: str) -> None:
    """Write a new file aside and put it in place, never over another one."""
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, prefix=f".{file.name}.") as aside:
            aside.write(text)
            aside.flush()
            os.chmod(aside.name, 0o644)
            os.link(aside.name, file)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from None
