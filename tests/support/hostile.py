"""Scenarios, tables and results that are wrong in every way that comes to mind."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from hypothesis import strategies as st

from flowsim.scenario import toml
from flowsim.scenario.schema import schema

# ---- scenarios: a small one, of which some keys are others -------------------------------------------------------------

SMALL: dict[str, Any] = {
    "data": {"dimension": 6, "samples": 8, "positive": 1, "negative": 1},
    "model": {"width": 4},
    "flow": {"until": {"steps": 3}},
    "observe": {"times": 3},
}
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    10**9,
    2**31,
    2**63 - 1,
    2**70,
    0.0,
    0.5,
    1e-320,
    1e-300,
    1e300,
    1e308,
    float("inf"),
    float("nan"),
)
TEXTS = (
    "",
    "a",
    "\x1b[31mred",
    "x.csv",
    "x.npz",
    "x.nc",
    "a" * 5000 + ".csv",
    "\u202e",
    "/",
    "..",
    "$\\frac$",
    "\x00.nc",
)
hostile = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(TEXTS),
    st.booleans(),
    st.just([]),
    st.just({}),
    st.just([[[[1]]]]),
    st.lists(st.sampled_from(NUMBERS), max_size=4),
    st.just({"a": {"b": {"c": 1}}}),
)


def variants(node: Any) -> Iterator[Any]:
    """The JSON schemas of tables that a key may hold."""
    if "$ref" in node:
        yield from variants(schema_of_all()["$defs"][node["$ref"].rpartition("/")[2]])
        return
    yield node
    for kind in ("anyOf", "oneOf", "allOf"):
        for variant in node.get(kind, ()):
            yield from variants(variant)


@cache
def schema_of_all() -> Any:
    return schema()


@cache
def keys() -> tuple[tuple[tuple[str, ...], Any], ...]:
    """(path, JSON schema) of every key of every section."""

    def inside(node: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
        for variant in variants(node):
            for name, inner in variant.get("properties", {}).items():
                yield (*path, name), inner
                if depth:
                    yield from inside(inner, (*path, name), depth - 1)

    return tuple(inside(schema_of_all(), (), 3))


@cache
def kinds() -> tuple[tuple[str, Any], ...]:
    """(section, JSON schema) of every kind that a section may be."""
    sections = schema_of_all()["properties"]
    return tuple(
        (name, variant)
        for name in sections
        for variant in variants(sections[name])
        if len(variant.get("properties", ())) > 1
    )


@st.composite
def of_kind(draw: Any, variant: Any) -> dict[str, Any]:
    """The table of a kind, with what it requires, and a few keys besides that may be odd."""
    properties = variant["properties"]
    tags = {name: inner["const"] for name, inner in properties.items() if "const" in inner}
    needed = {name: draw(fitting(properties[name])) for name in variant.get("required", ()) if name not in tags}
    names = draw(st.lists(st.sampled_from(sorted(properties)), max_size=3, unique=True))
    others = {name: draw(st.one_of(fitting(properties[name]), hostile)) for name in names if name not in tags}
    return {**needed, **others, **tags}


def fitting(node: Any) -> st.SearchStrategy[Any]:
    """Values that a key may well take."""
    if "const" in node:
        return st.just(node["const"])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    for kind in ("anyOf", "oneOf"):
        if kind in node:
            return st.one_of([fitting(variant) for variant in node[kind]])
    of_type = {
        "integer": st.integers(0, 12),
        "number": st.floats(0.0, 3.0),
        "boolean": st.booleans(),
        "string": st.sampled_from(("a", "x.csv", "fgm")),
        "array": st.lists(st.floats(0, 2), min_size=1, max_size=3),
        "null": st.just(1),
    }
    return of_type.get(node.get("type", ""), st.just({}))


@st.composite
def scenarios(draw: Any) -> bytes:
    """The text of a scenario, most often a wrong one."""
    values = deepcopy(SMALL)
    for _ in range(draw(st.integers(0, 2))):
        section, variant = draw(st.sampled_from(kinds()))
        kept = values.get(section, {}) if draw(st.booleans()) else {}
        values[section] = deepcopy({**kept, **draw(of_kind(variant))})
    for _ in range(draw(st.integers(0, 3))):
        path, node = draw(st.sampled_from(keys()))
        put(values, path, draw(st.one_of(fitting(node), fitting(node), hostile)))
    if draw(st.integers(0, 9)) == 0:
        swept = [draw(hostile) for _ in range(draw(st.integers(1, 3)))]
        put(values, ("sweep", "grid"), {draw(st.sampled_from(["seed", "data.samples", "init.scale", "data"])): swept})
    text = toml.dumps(values).encode(errors="surrogatepass")
    return draw(torn(text)) if draw(st.integers(0, 4)) == 0 else text


def put(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        inner = values.get(part)
        values[part] = values = inner if isinstance(inner, dict) else {}
    values[path[-1]] = deepcopy(value)


@st.composite
def torn(draw: Any, content: bytes) -> bytes:
    """Content that has lost, doubled or changed something."""
    if not content:
        return content
    begin = draw(st.integers(0, len(content) - 1))
    end = min(begin + draw(st.integers(1, 60)), len(content))
    junk = draw(st.sampled_from([b"", b"\x00", b"\xff", b'"""', b"[[", b"{" * 200, b"=", b"9" * 500, b"\n[a]\n", b"#"]))
    return draw(
        st.sampled_from(
            [
                content[:begin],
                content[:begin] + content[end:],
                content[:end] + content[begin:],
                content[:begin] + junk + content[begin:],
                content[:begin] + bytes(255 - byte for byte in content[begin:end]) + content[end:],
            ]
        )
    )


# ---- tables ------------------------------------------------------------------------------------------------------------

TABLES = (".csv", ".npz", ".nc")
ARRAYS = {
    "x": np.arange(12.0).reshape(6, 2),
    "y": np.array([1.0, -1, 1, -1, 1, -1]),
    "cluster": np.array([0, 1, 0, 1, 0, 1]),
    "centers": np.eye(2),
}


@st.composite
def tables(draw: Any) -> tuple[str, bytes]:
    """(suffix, content) of a table, most often a wrong one."""
    arrays: dict[str, Any] = {name: array for name, array in ARRAYS.items() if draw(st.integers(0, 3))}
    if arrays and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(arrays)))
        arrays[name] = draw(
            st.sampled_from([arrays[name] * value for value in (np.nan, np.inf, 1e308, 1e9, -1, 0.5)] + odd())
        )
    suffix = draw(st.sampled_from(TABLES))
    content = {".csv": as_csv, ".npz": as_npz, ".nc": as_netcdf}[suffix](arrays)
    return suffix, draw(torn(content)) if draw(st.booleans()) else content


def odd() -> list[Any]:
    """Arrays that no table has."""
    return [
        np.zeros(0),
        np.zeros((0, 3)),
        np.array(["a", "b"]),
        np.array(3.0),
        np.array([True]),
        np.ones((6, 2)) + 1j,
        np.ones((2, 2, 2, 2)),
        np.array([2**63], dtype=np.uint64),
        np.full(6, 10**9),
        np.arange(6.0),
    ]


def as_csv(arrays: dict[str, Any]) -> bytes:
    columns = {"a": [1, 2, 3], "y": [1, -1, 1], "cluster": [0, 1, 10**9 if "centers" in arrays else 1]}
    names = [name for name in columns if name == "a" or name in arrays]
    rows = zip(*(columns[name] for name in names), strict=True)
    return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]).encode()


def as_npz(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def as_netcdf(arrays: dict[str, Any]) -> bytes:
    file = netCDF4.Dataset("memory.nc", "w", memory=1024)
    for name, array in arrays.items():
        array = np.asarray(array)
        if array.dtype.kind not in "iuf":
            array = np.zeros(array.shape)
        for axis, length in enumerate(array.shape):
            file.createDimension(f"{name}_{axis}", length)
        file.createVariable(name, array.dtype, [f"{name}_{axis}" for axis in range(array.ndim)])[...] = array
    return bytes(file.close())


# ---- results -----------------------------------------------------------------------------------------------------------


@st.composite
def damages(draw: Any) -> list[tuple[str, Any]]:
    """Kinds of damage, in order, each with a random number that says where."""
    return draw(st.lists(st.tuples(st.sampled_from(sorted(DAMAGE)), st.integers(0, 10**6)), min_size=1, max_size=3))


def damage(file: Path, how: list[tuple[str, int]]) -> None:
    """Change a NetCDF file in place, as far as the library does."""
    for kind, where in how:
        with suppress(AttributeError, RuntimeError), netCDF4.Dataset(file, "a") as root:
            groups = [root, *root.groups.values()]
            DAMAGE[kind](groups[where % len(groups)], where // len(groups))


def _some(names: Any, where: int) -> Any:
    return sorted(names)[where % len(names)] if names else None


def _rename_variable(group: Any, where: int) -> None:
    if name := _some(group.variables, where):
        group.renameVariable(name, f"{name}_of_another")


def _rename_dimension(group: Any, where: int) -> None:
    if name := _some(group.dimensions, where):
        group.renameDimension(name, f"{name}_of_another")


def _no_attribute(group: Any, where: int) -> None:
    if name := _some(group.ncattrs(), where):
        group.delncattr(name)


def _odd_attribute(group: Any, where: int) -> None:
    if name := _some(group.ncattrs(), where):
        group.delncattr(name)
        odd: list[Any] = [3, np.nan, "", "\x1b[31mred", np.arange(3.0), "x = [", "9" * 5000]
        group.setncattr(name, odd[where % len(odd)])


def _odd_values(group: Any, where: int) -> None:
    if name := _some(group.variables, where):
        array = group.variables[name]
        kind = np.dtype(array.dtype).kind
        if kind == "f":
            array[...] = (np.nan, np.inf, -1e308, 0.0)[where % 4]
        elif kind in "iu":
            array[...] = (0, -1, 100)[where % 3] if kind == "i" else 100
        elif kind == "S":
            array[...] = b"\x1b"


def _units(group: Any, where: int) -> None:
    if name := _some(group.variables, where):
        group.variables[name].setncattr("units", ("days since 2000-01-01", "s", 3)[where % 3])


def torn_at_random(content: bytes, random: np.random.Generator, short: bool) -> bytes:
    """A few bytes are others; short: and the end is gone."""
    torn = bytearray(content)
    for _ in range(random.integers(1, 4)):
        torn[random.integers(len(torn))] = random.integers(256)
    return bytes(torn[: random.integers(len(torn))] if short else torn)


DAMAGE = {
    "attribute gone": _no_attribute,
    "attribute odd": _odd_attribute,
    "dimension renamed": _rename_dimension,
    "units": _units,
    "values odd": _odd_values,
    "variable renamed": _rename_variable,
}
