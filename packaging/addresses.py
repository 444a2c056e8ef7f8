"""Addresses of packaging/addresses.toml, where they belong."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

KEYS = ("repository", "documentation", "page", "file")
#: A link of Markdown, or with ! before it a picture, to a file of the repository.
RELATIVE = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)#\s]+)(?P<part>#[^)]*)?\)")


def addresses(root: Path) -> dict[str, str]:
    """Key -> address, of those that are set. Raises ValueError for a key that is none of KEYS."""
    found = tomllib.loads((root / "packaging" / "addresses.toml").read_text(encoding="utf-8"))
    if strange := found.keys() - {*KEYS}:
        raise ValueError(f"packaging/addresses.toml: {', '.join(sorted(strange))}: allowed are {', '.join(KEYS)}")
    return found


def urls(known: Mapping[str, str], version: str) -> dict[str, str]:
    """[project.urls]: what a package index links to."""
    found = {key.capitalize(): known[key] for key in ("repository", "documentation") if key in known}
    if "page" in known:
        found["Changelog"] = known["page"].format(version=version, path="CHANGELOG.md")
    return found


def readme(text: str, known: Mapping[str, str], version: str) -> str:
    """The README with addresses in place of paths, so that its pictures and links work wherever it is shown."""

    def absolute(link: re.Match[str]) -> str:
        key = "file" if link["picture"] else "page"
        if key not in known:
            return link[0]
        address = known[key].format(version=version, path=link["path"])
        return f"{link['picture']}[{link['words']}]({address}{link['part'] or ''})"

    return RELATIVE.sub(absolute, text)


def version(root: Path) -> str:
    """That of the package, which need not be importable while it is built."""
    found = re.search(r'^__version__ = "(.+)"$', (root / "flowsim" / "__init__.py").read_text(encoding="utf-8"), re.M)
    assert found is not None, "flowsim/__init__.py has no __version__"
    return found[1]
