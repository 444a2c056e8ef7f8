"""Every key of any TOML text is located on the line on which it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from flowsim.scenario.places import locate

bare = st.from_regex(r"\A[A-Za-z0-9_-]{1,6}\Z")
names = st.one_of(bare, st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=6))
scalars = st.one_of(st.integers(-9, 9), st.booleans(), st.text(st.characters(codec="ascii"), max_size=5))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=12,
)
documents = st.dictionaries(names, values, max_size=4)


def paths(value: Any, prefix: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*prefix, key)
        yield from paths(inner, (*prefix, key))


@given(document=documents)
def test_exactly_the_keys_of_the_text_are_located(document):
    text = tomlkit.dumps(document)
    assert set(locate(text)) == set(paths(tomllib.loads(text)))


@given(document=documents)
def test_a_bare_key_stands_on_its_line(document):
    text = tomlkit.dumps(document)
    lines = text.split("\n")
    for path, line in locate(text).items():
        if isinstance(path[-1], str) and re.fullmatch(r"[A-Za-z0-9_-]+", path[-1]):
            assert path[-1] in lines[line - 1]
