"""Results at addresses such as ``s3://bucket/run.nc``, by fsspec: written here and sent whole, fetched whole and read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

from ..durable import claimed as claimed_file
from ..durable import is_store
from ..errors import NotWritten, UsageError
from ..gate import disk_limit, limit, raised, size
from ..kinds.files import first_line

SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")


def placed(path: str | PathLike[str]) -> Path | str:
    """The file that a path or a ``file://`` address names, or an address elsewhere as it is. Raises UsageError for the
    address of a Zarr store."""
    address = fspath(path)
    if not SCHEME.match(address):
        return Path(address)
    if urlsplit(address).scheme == "file":
        return Path(unquote(urlsplit(address).path))
    if is_store(Path(address)):
        raise UsageError(
            f"{address}: a Zarr store has many files, which no address has as a whole; use a .nc file there, or copy the "
            "store"
        )
    return address


def claimed(path: str | PathLike[str], overwrite: bool) -> AbstractContextManager[None]:
    """As :func:`flowsim.durable.claimed`; at an address, where nobody can hold a lock, it is checked alone that nothing is
    there."""
    place = placed(path)
    return claimed_file(place, overwrite) if isinstance(place, Path) else _free(place, overwrite)


@contextmanager
def _free(address: str, overwrite: bool) -> Iterator[None]:
    system, path = _system(address)
    try:
        there = bool(system.exists(path))
    except Exception as error:
        raise _unreachable(address, error) from None
    if there and not overwrite:
        raise UsageError(f"{address}: exists already; use --overwrite to replace it, or -o to write elsewhere")
    yield


@contextmanager
def to_send(address: str) -> Iterator[Path]:
    """Yield a path to write a file to, which is then sent whole. Raises NotWritten where it cannot be."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / Path(address).name
        yield file
        system, path = _system(address)
        try:
            system.put_file(str(file), path)
        except Exception as error:
            raise NotWritten(f"{address}: could not be written: {first_line(error)}") from error


@contextmanager
def fetched(address: str) -> Iterator[Path]:
    """Yield a copy of the file, which is removed at the end. Raises UsageError where there is none, or no room for it."""
    system, path = _system(address)
    with TemporaryDirectory() as folder:
        file = Path(folder) / Path(address).name
        try:
            if not system.isfile(path):
                raise UsageError(f"{address}: no such file")
            _check_room(address, system.size(path), file)
            system.get_file(path, str(file))
        except UsageError:
            raise
        except Exception as error:
            raise _unreachable(address, error) from None
        yield file


def _check_room(address: str, count: float | None, file: Path) -> None:
    for name, most in (("disk", disk_limit(file.parent)), ("memory", limit("memory"))):
        if (count or 0) > most:
            told = (
                f"it has {size(count or 0)}, and {size(most)} of {name} is there; {raised(name, count or 0)} reads it"
            )
            raise UsageError(f"{address}: {told}")


def _system(address: str) -> tuple[Any, str]:
    """(fsspec's file system, the path in it). Raises UsageError where something is not installed."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f"{address}: addresses need fsspec: pip install 'flowsim[remote]'") from None
    try:
        system, path = url_to_fs(address)
    except Exception as error:  # a protocol that nobody knows, or whose package is not installed
        raise UsageError(f"{address}: {first_line(error)}") from None
    return system, str(path)


def _unreachable(address: str, error: Exception) -> UsageError:
    return UsageError(f"{address}: cannot be reached: {first_line(error)}")
