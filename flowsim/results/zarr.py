"""Results as folders of the Zarr format 3: written whole, without compression and with checksums; read only where every
array is one of numbers or texts whose size its header says."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Hashable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import xarray as xr

from ..durable import METADATA, is_store, written_aside
from ..errors import UsageError
from ..gate import check_unpacked

#: A header is no larger than this: it has the group's attributes, of which the scenario's text is the longest.
MOST_BYTES = 16 * 2**20
#: What arrays may hold; of a text, its entry counts as a pointer.
ITEM_BYTES = {
    "bool": 1,
    **{f"{kind}{8 * size}": size for kind in ("int", "uint") for size in (1, 2, 4, 8)},
    **{"float16": 2, "float32": 4, "float64": 8, "string": 8},
}
#: What turns their chunks into bytes. None of these makes more of a chunk than its file has, and none executes anything.
CODECS = {"bytes", "crc32c", "vlen-utf8"}
#: Names of headers in format 2, whose filters may be pickles.
OLD = {".zarray", ".zgroup", ".zattrs", ".zmetadata"}


def check_installed(path: Path) -> None:
    """Raise UsageError where a path is a Zarr store's and the package is missing."""
    if is_store(path) and find_spec("zarr") is None:
        raise UsageError(f"{path}: a Zarr store needs Zarr: pip install 'flowsim[zarr]'; or write to a .nc file")


def write_store(tree: xr.DataTree, path: Path) -> None:
    """Write a result to a folder, of which no reader ever sees a part. Raises NotWritten."""
    check_installed(path)
    from zarr.codecs import Crc32cCodec
    from zarr.errors import ZarrUserWarning

    datasets = {node.path: _with_texts_of_any_length(node.to_dataset(inherit=False)) for node in tree.subtree}
    room = sum(array.nbytes for dataset in datasets.values() for array in dataset.variables.values())
    as_they_are = {"compressors": (Crc32cCodec(),)}
    encoding = {name: {str(of): as_they_are for of in dataset.variables} for name, dataset in datasets.items()}
    whole = xr.DataTree.from_dict(datasets)
    with written_aside(path, room) as aside, catch_warnings():
        # xarray looks for headers in one place first; that this is no part of the format yet does not harm its readers
        simplefilter("ignore", ZarrUserWarning)
        aside.unlink(missing_ok=True)  # what asked for room
        whole.to_zarr(aside, mode="w-", zarr_format=3, consolidated=True, encoding=encoding)


def check_store(path: Path) -> None:
    """Raise UsageError where a folder is no Zarr store that is as flowsim writes them, by its headers, or where its arrays
    are beyond the bounds of :mod:`flowsim.gate`. No array is read."""
    try:
        packed = unpacked = 0.0
        for place, file in _files(path):
            packed += file.stat().st_size
            if file.name == METADATA:
                unpacked += _size(_header(file), place)
        check_unpacked(packed, unpacked)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None


def open_store(path: Path) -> xr.DataTree:
    """A store that `check_store` let through; arrays are read when they are used."""
    check_installed(path)
    # the headers that were checked, and not the copies of them that the root may have
    found = xr.open_datatree(path, engine="zarr", zarr_format=3, consolidated=False, decode_times=False)
    tree = xr.DataTree.from_dict({node.path: _read(node.to_dataset(inherit=False)) for node in found.subtree})
    tree.encoding["source"] = str(path)
    tree.set_close(found.close)
    return tree


def _with_texts_of_any_length(dataset: xr.Dataset) -> xr.Dataset:
    """Format 3 has no texts of a fixed length; an index would make objects of them, and numbers where there are none."""
    kind = np.dtypes.StringDType()
    texts = {name: of for name, of in dataset.variables.items() if of.dtype.kind in "UO"}
    kept = {name: xr.Variable(of.dims, of.values.astype(str).astype(kind), of.attrs) for name, of in texts.items()}
    return _with(
        dataset.drop_encoding().drop_indexes([name for name in texts if name in dataset.xindexes]), kept, indexed=False
    )


def _with(dataset: xr.Dataset, variables: Mapping[Hashable, Any], indexed: bool) -> xr.Dataset:
    """The dataset with these in place of its variables and coordinates of the same names. indexed: coordinates along
    themselves get an index."""
    coords = {name: of for name, of in variables.items() if name in dataset.coords}
    others = {name: of for name, of in variables.items() if name not in dataset.coords}
    return dataset.assign_coords(coords if indexed else xr.Coordinates(coords, indexes={})).assign(others)


def _read(dataset: xr.Dataset) -> xr.Dataset:
    """Texts as NetCDF files give them, and variables in an order that is no folder's."""
    texts = {name: array for name, array in dataset.variables.items() if array.dtype.kind not in "biuf"}
    loaded = {name: (of.dims, of.values.astype(object), of.attrs) for name, of in texts.items()}
    found = _with(dataset, loaded, indexed=True)
    found = found[sorted(map(str, found.data_vars))]
    # JSON has lists in place of arrays
    return found.assign_attrs({name: np.array(of) if isinstance(of, list) else of for name, of in found.attrs.items()})


def _files(path: Path) -> list[tuple[str, Path]]:
    """(place in the store, file) of all files. Raises ValueError where something is no file or of another format."""
    found = []
    for folder, folders, names in os.walk(path):
        for name in (*folders, *names):
            file = Path(folder) / name
            place, mode = str(file.relative_to(path)), file.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise ValueError(f"{place} is a link, a pipe or a device, which a store of flowsim does not have")
            if name in OLD:
                raise ValueError(f"{place}: a Zarr store of format 2; flowsim reads format 3")
            if stat.S_ISREG(mode):
                found.append((place, file))
    if METADATA not in dict(found):
        raise ValueError(f"not a Zarr store: it has no {METADATA}")
    return found


def _header(file: Path) -> dict[str, Any]:
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file.name} has more than {MOST_BYTES // 2**20} MiB, which no header has")
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"damaged: a {METADATA} is no JSON") from None
    if not isinstance(found, dict) or found.get("zarr_format") != 3:
        raise ValueError(f"a {METADATA} is not of Zarr format 3")
    return found


def _size(header: dict[str, Any], place: str) -> float:
    """Bytes of the array that a header is of. Raises ValueError where flowsim writes no such array."""
    if header.get("node_type") == "group":
        return 0.0
    shape, kind = header.get("shape"), header.get("data_type")
    if not isinstance(shape, list) or not all(isinstance(length, int) and length >= 0 for length in shape):
        raise ValueError(f"{place}: damaged: its shape is no list of lengths")
    if not isinstance(kind, str) or kind not in ITEM_BYTES:
        raise ValueError(f"{place}: holds {str(kind)[:60]}, and not numbers or texts")
    used = header.get("codecs")
    names = (
        [codec.get("name") if isinstance(codec, dict) else codec for codec in used] if isinstance(used, list) else []
    )
    if not names or not all(isinstance(name, str) and name in CODECS for name in names):
        raise ValueError(
            f"{place}: is stored by {', '.join(map(str, names))[:60] or 'no codec'}; flowsim reads arrays without "
            f"compression ({', '.join(sorted(CODECS))})"
        )
    if header.get("storage_transformers"):
        raise ValueError(f"{place}: is stored by transformers, which flowsim does not read")
    return float(math.prod(shape)) * ITEM_BYTES[kind]
