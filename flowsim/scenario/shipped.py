"""The scenarios that come with flowsim."""

from __future__ import annotations

import tomllib
from pathlib import Path

from ..errors import UsageError
from ..kinds.names import nearest

#: In a wheel the scenarios lie inside the package, in a checkout beside it.
_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE / "scenarios", _PACKAGE.parent / "scenarios")


def shipped() -> dict[str, Path]:
    """Name, such as ``min_vidal_2025/fig5_random_init``, to file."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    if folder is None:
        return {}
    return {file.relative_to(folder).with_suffix("").as_posix(): file for file in sorted(folder.rglob("*.toml"))}


def find(name: str) -> Path:
    """The file of a shipped scenario. Raises UsageError with the nearest name where there is none."""
    known = shipped()
    name = name.removesuffix(".toml")
    if name not in known:
        raise UsageError(f'no shipped scenario is called "{name}"; {meant(name)}see flowsim list')
    return known[name]


def meant(name: str) -> str:
    """`did you mean "x"? ` for the shipped scenario of nearly this name, or nothing."""
    known = shipped()
    within = [other for other in known if name and name in other]
    return f'did you mean "{within[0]}"? ' if within else nearest(name, known)


def title(file: Path) -> str:
    return str(tomllib.loads(file.read_text(encoding="utf-8")).get("title", ""))
