"""The results of a sweep's points, in the folder of the sweep: a manifest, and files that hold one result or several."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import xarray as xr

from ..errors import UsageError
from ..gate import obstacle
from .damage import check_file
from .layouts import migrated

MANIFEST, RUNS = "manifest.jsonl", "runs"
#: What every line of a manifest has.
KEYS = {"sha256", "status", "exit_code", "file", "point", "values"}
#: A message names at most so many points.
NAMED = 5
#: The name of a file of results: the SHA-256 of its content. Flowsim 0.1.0 named files by a point.
NAME = re.compile(r"([0-9a-f]{64})\.nc")
NAME_0_1 = re.compile(r"[0-9a-f]{16}\.nc")


def open_point(folder: str | PathLike[str], point: str | Mapping[str, Any]) -> xr.DataTree:
    """The whole result of a point, by the values of swept keys that no other point shares, or by the beginning of its
    SHA-256, which the sweep's dataset has as `sha256`.

    Laid out as by `flowsim.run`, of a point that was run with others of its family as an ensemble of one. Raises UsageError
    where there is none.
    """
    latest = {line["sha256"]: line for line in entries(Path(folder))}
    found = [line for line in latest.values() if _is(line, point)]
    if len(found) != 1:
        some = found or [*latest.values()]
        listed = "; ".join(_said(line) for line in some[:NAMED]) + ("; …" if len(some) > NAMED else "")
        raise UsageError(f"{folder}: {len(found) or 'no'} points are {_words(point)}; there are {listed}")
    line = found[0]
    if not line["file"]:
        raise UsageError(f"{folder}: the point {_said(line)} has no result: {line['status']}")
    file = Path(folder) / RUNS / line["file"]
    if why := damage(file):
        raise UsageError(f"{file}: {why}; flowsim sweep --resume runs its points again")
    check_file(file)
    with xr.open_datatree(file, engine="netcdf4") as tree:
        of_batch = tree.children[line["group"]] if line["group"] else tree
        loaded = xr.DataTree.from_dict(
            {
                node.relative_to(of_batch) if node is not of_batch else "/": node.to_dataset(inherit=False).load()
                for node in of_batch.subtree
            }
        )
    whole = migrated(loaded, str(file))
    return whole if line["member"] is None else _member(whole, line["member"])


def name_of(content: bytes) -> str:
    """The name of the file that holds these results."""
    return f"{hashlib.sha256(content).hexdigest()}.nc"


def damage(file: Path) -> str:
    """Why a file of results cannot be used: it is gone, or its content is not that of its name. "" where it can."""
    if why := obstacle(file):
        return why
    if known := NAME.fullmatch(file.name):
        with file.open("rb") as opened:
            if hashlib.file_digest(opened, "sha256").hexdigest() != known[1]:
                return "is damaged"
    return ""


def is_named(file: Path) -> bool:
    """Whether a file has the name of a file of results."""
    return bool(NAME.fullmatch(file.name) or NAME_0_1.fullmatch(file.name))


def entries(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a manifest, as JSON has them; a last one without its end is not there. Raises UsageError where there is
    no manifest, or where it cannot be read."""
    file = folder / MANIFEST
    if why := obstacle(file):
        raise UsageError(f"{folder}: is not the folder of a sweep: {MANIFEST}: {why}")
    with file.open(encoding="utf-8", errors="replace") as manifest:
        for number, text in enumerate(manifest, start=1):
            if not text.endswith("\n"):
                return
            line = _parsed(text)
            if not (isinstance(line, dict) and line.keys() >= KEYS and _is_entry(line)):
                raise UsageError(f"{file}:{number}: is not a line of a manifest")
            yield line


def _is_entry(line: Mapping[str, Any]) -> bool:
    """Whether what stands under the keys is of the types that are written there."""
    texts = all(isinstance(line[key], str) for key in ("sha256", "status"))
    tables = all(isinstance(line[key], dict) for key in ("point", "values"))
    file = line["file"] or ""
    inside = isinstance(file, str) and Path(file).name == file
    return texts and tables and inside and isinstance(line["exit_code"], int)


def _is(line: Mapping[str, Any], point: str | Mapping[str, Any]) -> bool:
    if isinstance(point, str):
        return str(line["sha256"]).startswith(point)
    own = line["point"]
    return all(key in own and own[key] == _plain(value) for key, value in point.items())


def _plain(value: Any) -> Any:
    """As JSON gives it back."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return list(value) if isinstance(value, tuple) else value


def _said(line: Mapping[str, Any]) -> str:
    return _words(line["point"])


def _words(point: str | Mapping[str, Any]) -> str:
    if isinstance(point, str):
        return f"of SHA-256 {point}"
    return ", ".join(f"{key} = {value}" for key, value in point.items())


def _member(tree: xr.DataTree, member: int) -> xr.DataTree:
    """A member of an ensemble, still along `seed`: a result as of an ensemble of one."""
    chosen = tree.isel(seed=[member])
    chosen.attrs = {**tree.attrs, "seed": chosen.to_dataset()["seed"].values}
    if "error" in chosen.children:  # what it says of the largest errors is of all members
        group = chosen.children["error"].to_dataset(inherit=False)
        for variable in group.data_vars.values():
            variable.attrs = {key: value for key, value in variable.attrs.items() if not key.startswith("worst")}
        group.attrs.pop("undetermined", None)
        chosen = chosen.assign({"error": xr.DataTree(group)})
    return chosen


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
