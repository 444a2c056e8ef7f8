"""[sweep] tables and folders of sweeps that are wrong in every way that comes to mind."""

from __future__ import annotations

import json
import os
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from support import hostile
from support.hostile import NUMBERS, SMALL, TEXTS

from flowsim.scenario import toml

#: Swept keys and values that are right.
RIGHT: dict[str, tuple[Any, ...]] = {
    "seed": (0, 1, 2, 2**31),
    "data.samples": (4, 8, 12),
    "data.noise.total": (0.0, 0.1, 0.5),
    "init.scale": (1e-300, 1e-3, 1.0),
    "model.width": (2, 3, 4),
    "flow.until": ({"steps": 1}, {"steps": 2}),
    "flow.until.steps": (1, 2, 3),
    "loss.kind": ("square", "logistic"),
    "observe.times": (2, 3),
}
WRONG = ("", "no.such", "data", "data.", ".", "title", "sweep.grid", "stage[0].name", "stage[9999999999].x", "a" * 300)
VARIABLES = ("loss", "cosine", "log_norm", "margin", "direction", "\x1b[31m")

_numbers = st.sampled_from((*NUMBERS, 1.0, 2, 8, -0.5))
_ranges = st.fixed_dictionaries(
    {"from": _numbers, "to": _numbers, "count": _numbers},
    optional={"spacing": st.sampled_from(("linear", "log", "cubic", 1)), "step": _numbers},
)


def _seldom(draw: Any, often: int = 8) -> bool:
    return bool(draw(st.integers(1, often)) == often)


def _key(draw: Any) -> str:
    return str(draw(st.sampled_from(WRONG if _seldom(draw) else sorted(RIGHT))))


def _value(draw: Any, key: str) -> Any:
    return deepcopy(draw(hostile.hostile if _seldom(draw) else st.sampled_from(RIGHT.get(key, (1,)))))


def _values(draw: Any, key: str) -> Any:
    """An array, seldom a range or anything."""
    if _seldom(draw):
        return deepcopy(draw(st.one_of(hostile.hostile, _ranges)))
    return [_value(draw, key) for _ in range(draw(st.integers(1, 3)))]


def _keys(draw: Any) -> list[str]:
    return [_key(draw) for _ in range(draw(st.integers(1, 2)))]


@st.composite
def sweeps(draw: Any) -> bytes:
    """The text of a scenario with a [sweep], often a wrong one."""
    sweep: Any = {"grid": {key: _values(draw, key) for key in _keys(draw)}}
    if _seldom(draw, 4):
        sweep["zip"] = {key: _values(draw, key) for key in _keys(draw)}
    if _seldom(draw, 4):
        keys = _keys(draw)
        sweep["points"] = [{key: _value(draw, key) for key in keys} for _ in range(draw(st.integers(1, 3)))]
    if _seldom(draw, 4):
        sweep["trajectories"] = draw(st.lists(st.sampled_from(VARIABLES), max_size=2))
    if _seldom(draw):
        name = draw(st.sampled_from(("instants", "grid", "points", "trajectories", "workers")))
        sweep[name] = deepcopy(draw(hostile.hostile))
    if _seldom(draw, 30):
        sweep = deepcopy(draw(hostile.hostile))
    text = toml.dumps({**deepcopy(SMALL), "sweep": sweep}).encode(errors="surrogatepass")
    return draw(hostile.torn(text)) if _seldom(draw) else text


# ---- folders of sweeps -------------------------------------------------------------------------------------------------

#: What may stand where something else should in a line of a manifest.
ODD = (None, True, -1, 10**9, 10**30, 0.5, float("nan"), *TEXTS, [], {}, [[1, 2], 3], {"a": {}}, "../sweep.nc", "0")
Wreck = tuple[str, str, Any]


@st.composite
def wrecks(draw: Any, contents: dict[str, bytes]) -> list[Wreck]:
    """What befalls a folder, in order: (what, file, how). contents: of its files of text."""
    texts = st.sampled_from(sorted(contents))

    @st.composite
    def wreck(draw: Any) -> Wreck:
        what = draw(st.sampled_from(sorted(_WRECK)))
        if what == "torn":
            file = draw(texts)
            return what, file, draw(hostile.torn(contents[file]))
        if what == "odd line":
            return what, "manifest.jsonl", (draw(st.integers(0, 10**6)), draw(st.sampled_from(ODD)))
        if what == "odd arrays":
            return what, draw(st.sampled_from(("sweep.nc", "runs"))), draw(hostile.damages())
        if what == "another":
            return (
                what,
                draw(st.sampled_from(("notes.txt", "runs/x.nc", ".sweep.nc.1", "runs/.y.nc.2"))),
                b"\x00foreign",
            )
        return what, draw(st.sampled_from(("manifest.jsonl", "sweep.toml", "sweep.nc", "runs"))), None

    to_be_made = [("gone", "sweep.nc", None)] if draw(st.booleans()) else []
    return to_be_made + draw(st.lists(wreck(), min_size=1, max_size=2))


def wreck(folder: Path, how: list[Wreck]) -> None:
    """Let it befall a folder. A name of a folder stands for one of its files."""
    for what, name, value in how:
        path = folder / name
        inside = sorted(path.glob("*.nc")) if path.is_dir() else []
        _WRECK[what](inside[0] if inside else path, value)


def _put(path: Path, content: bytes) -> None:
    if path.is_file():
        path.write_bytes(content)


def _another(path: Path, content: bytes) -> None:
    if path.parent.is_dir() and not path.exists():
        path.write_bytes(content)


def _gone(path: Path, _: Any) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _folder(path: Path, _: Any) -> None:
    _gone(path, _)
    path.mkdir()


def _pipe(path: Path, _: Any) -> None:
    _gone(path, _)
    os.mkfifo(path)


def _odd_line(path: Path, how: tuple[int, Any]) -> None:
    """One place in one line of a manifest holds something else."""
    where, value = how
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        told = json.loads(lines[where % len(lines)])
    except (ValueError, ZeroDivisionError):
        return
    places = [*_places(told)] if isinstance(told, dict) else []
    if places:
        table, key = places[where // len(lines) % len(places)]
        table[key] = value
        lines[where % len(lines)] = json.dumps(told)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _places(table: dict[str, Any]) -> Any:
    """Every table within a table, with each of its keys, those outside first."""
    yield from ((table, key) for key in table)
    for inner in table.values():
        if isinstance(inner, dict):
            yield from _places(inner)


def _nested(path: Path, _: Any) -> None:
    if path.is_file():
        path.write_bytes(path.read_bytes() + b'{"sha256": ' + b"[" * 10**5 + b"\n")


def _odd_arrays(path: Path, how: list[tuple[str, int]]) -> None:
    if path.is_file():
        hostile.damage(path, how)


_WRECK = {
    "another": _another,
    "folder": _folder,
    "gone": _gone,
    "nested": _nested,
    "odd arrays": _odd_arrays,
    "odd line": _odd_line,
    "pipe": _pipe,
    "torn": _put,
}
