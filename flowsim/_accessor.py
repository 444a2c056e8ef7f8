"""Registers `ds.flow` as soon as xarray is there, without importing xarray: `flowsim --help` must answer at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def register_with_xarray() -> None:
    """Register the accessor now if xarray is imported already, otherwise right after it is."""
    if "xarray" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _XarrayWatcher())


def _register() -> None:
    from .present import accessor  # noqa: F401


class _XarrayWatcher(MetaPathFinder):
    """Finds xarray as usual, and has its loader register the accessor once the module has run."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "xarray":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


class _Registering(Loader):
    def __init__(self, usual: Loader):
        self._usual = usual

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._usual.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._usual.exec_module(module)
        _register()
