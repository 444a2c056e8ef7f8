"""Where a kind comes from: flowsim itself, or a plugin."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Plugin:
    """Whoever registers kinds from outside of flowsim: a file, an installed package, or Python code that runs now.

    sha256: of the file, or of all files of the package; of code that runs now, of the source of the one kind, "" where
    nobody has that.
    """

    name: str
    version: str = ""
    sha256: str = ""

    def __str__(self) -> str:
        version = f" {self.version}" if self.version else ""
        digest = f" (SHA-256 {self.sha256[:12]})" if self.sha256 else ""
        return f"{self.name}{version}{digest}"


_registering: ContextVar[Plugin | None] = ContextVar("registering", default=None)


def registering() -> Plugin | None:
    """The plugin whose kinds are being registered; None while they are flowsim's own."""
    return _registering.get()


@contextmanager
def registered_by(plugin: Plugin | None) -> Iterator[None]:
    """What is registered in the block comes from the plugin."""
    token = _registering.set(plugin)
    try:
        yield
    finally:
        _registering.reset(token)


def of_running_code(kind: Any) -> Plugin:
    """The module of a function or class that registers itself while a program runs, as in a notebook."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):
        source = ""
    return Plugin(kind.__module__, sha256=hashlib.sha256(source.encode()).hexdigest() if source else "")
