"""Kinds from outside of flowsim: files that are named, and packages that are installed."""

from __future__ import annotations

import ast
import hashlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from functools import wraps
from importlib.util import find_spec
from inspect import unwrap
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ..errors import FlowsimError, UsageError
from .origin import Plugin, registered_by
from .registry import REGISTRIES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

P = ParamSpec("P")
R = TypeVar("R")

#: The entry point group of installed packages that register kinds.
GROUP = "flowsim.plugins"


class PluginError(UsageError):
    """Code of a plugin raised; the message says where."""


#: path as given -> (plugin, content) of every file that is loaded
_files: dict[str, tuple[Plugin, bytes]] = {}
_installed_are_loaded = False


def plugin(path: str | PathLike[str]) -> Plugin:
    """Run a Python file that registers kinds, so that scenarios may name them.

    A file that has changed since it was loaded takes the place of what it was. Raises UsageError where it cannot be read,
    and where it raises itself: the message then names its line.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"plugin {path}: {error.strerror or 'cannot be read'}") from None
    return load(str(path), content)


def load(path: str, content: bytes) -> Plugin:
    """The same of a file's content; path is what messages call it."""
    found = Plugin(Path(path).stem, _version(path, content), hashlib.sha256(content).hexdigest())
    for other, (known, _) in list(_files.items()):
        if known == found:
            return known
        if known.name == found.name and Path(other).resolve() != Path(path).resolve():
            raise UsageError(f"plugin {path}: {other} is loaded already, and plugins need different names; rename one")
        if known.name == found.name:
            _forget(known)
            del _files[other]
    module = ModuleType(f"flowsim_plugin_{found.name}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where annotations look names up
    try:
        with registered_by(found):
            exec(compile(content, path, "exec"), module.__dict__)
    except Exception as error:
        _forget(found)
        raise PluginError(_told(error, path)) from error
    _files[path] = found, content
    return found


def files() -> tuple[tuple[str, bytes], ...]:
    """(path, content) of the files that are loaded, for other processes to `hold`."""
    return tuple((path, content) for path, (_, content) in _files.items())


def hold(wanted: Iterable[tuple[str, bytes]]) -> None:
    """Load these files and forget all others: what is loaded is then as it was where `files` gave them."""
    wanted = tuple(wanted)
    for path, (known, content) in list(_files.items()):
        if (path, content) not in wanted:
            _forget(known)
            del _files[path]
    for path, content in wanted:
        load(path, content)


def load_installed() -> bool:
    """Load the installed packages that register kinds, unless they are, and say whether there were any. One that raises is
    warned of and left out."""
    global _installed_are_loaded
    if _installed_are_loaded:
        return False
    from importlib.metadata import entry_points  # takes longer than all else here, and most runs name no such kind

    _installed_are_loaded = True
    installed = entry_points(group=GROUP)
    for entry in installed:
        found = Plugin(entry.name, entry.dist.version if entry.dist else "", _digest_of_package(entry))
        try:
            with registered_by(found):
                entry.load()
        except Exception as error:
            _forget(found)
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f'the installed plugin "{entry.name}" cannot be loaded: {reason}', stacklevel=2)
    return bool(installed)


def answering(function: Callable[P, R], what: str, *passed: type[Exception]) -> Callable[P, R]:
    """A plugin's function, whose exceptions, but those that are passed on, become a PluginError that names the line.

    what: what messages call it, such as 'observable "participation"'.
    """
    code = getattr(unwrap(function), "__code__", None)
    file = code.co_filename if code is not None else ""
    let_through: tuple[type[Exception], ...] = (FlowsimError, *passed)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except let_through:
            raise
        except Exception as error:
            raise PluginError(f"{_told(error, file)} (in the {what})") from error

    return call


def _told(error: Exception, file: str) -> str:
    """file:line: what was raised."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{file}:{error.lineno}: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    told = str(error) if isinstance(error, FlowsimError) else f"{type(error).__name__}: {error}"
    return f"{file}:{lines[-1]}: {told}" if lines else told


def _version(path: str, content: bytes) -> str:
    """What the file says as ``__version__ = "…"``; "" where it does not."""
    try:
        tree = ast.parse(content, path)
    except (SyntaxError, ValueError) as error:
        raise PluginError(_told(error, path)) from None
    values = (node.value for node in tree.body if isinstance(node, ast.Assign) and _assigns_version(node))
    return next((str(value.value) for value in values if isinstance(value, ast.Constant)), "")


def _assigns_version(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "__version__" for target in node.targets)


def _digest_of_package(entry: EntryPoint) -> str:
    """SHA-256 of its Python files, "" where they cannot be found."""
    spec = find_spec(entry.module.partition(".")[0])
    if spec is None or spec.origin is None:
        return ""
    file = Path(spec.origin)
    digest = hashlib.sha256()
    for source in sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _forget(plugin: Plugin) -> None:
    for registry in REGISTRIES.values():
        registry.forget(plugin)
