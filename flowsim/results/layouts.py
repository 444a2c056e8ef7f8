"""The version of a result's layout, and the steps that bring older ones up to it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..errors import ScenarioError, UsageError
from ..scenario.edit import edited
from ..scenario.reading import parsed

#: The layout that is written. Files without the attribute are of layout 1, which flowsim 0.1.0 wrote.
FORMAT = 3
#: The root's attributes about the layout. CF asks for strictly increasing coordinates, which `time` beyond floats is not,
#: so the layout goes by a name of its own.
LAYOUT: dict[str, Any] = {"format_version": FORMAT, "Conventions": f"flowsim-{FORMAT}"}


def check(name: str, attributes: Mapping[Any, Any]) -> None:
    """Raise UsageError for a layout that is newer than this flowsim knows."""
    found = _version(attributes)
    if found > FORMAT:
        raise UsageError(
            f"{name}: has layout {found}, of flowsim {attributes.get('flowsim_version', '?')}; "
            f"this flowsim reads layouts up to {FORMAT}, so update flowsim"
        )


def migrated(tree: xr.DataTree, name: str = "the result") -> xr.DataTree:
    """The result in the present layout; itself where it is in that already. Raises UsageError for a newer one."""
    check(name, tree.attrs)
    version = _version(tree.attrs)
    if version == FORMAT:
        return tree
    # the arrays of the trajectory stay as they are: the tree's own file stays open
    changed = tree.copy()
    changed.set_close(tree.close)
    for step in range(version, FORMAT):
        STEPS[step](changed)
    changed.attrs.update(LAYOUT)
    return changed


def _version(attributes: Mapping[Any, Any]) -> int:
    return int(attributes.get("format_version", 1))


def _to_2(tree: xr.DataTree) -> None:
    """In layout 1 the scenario's text says a seed that did not run, where the scenario was a copy with another one."""
    text, seed = str(tree.attrs.get("scenario", "")), tree.attrs.get("seed")
    try:
        values = parsed(text)
    except ScenarioError:
        return
    if "scenario" not in tree.attrs or seed is None or np.array_equal(values.get("seed", 0), seed):
        return
    tree.attrs["scenario"] = edited(text, {**values, "seed": np.asarray(seed).tolist()})
    tree.attrs["scenario_sha256"] = hashlib.sha256(tree.attrs["scenario"].encode()).hexdigest()


#: A claim's verdict in layouts before 3 -> what it is called now.
VERDICTS = {
    "does not hold": "fails",
    "outside the assumptions": "outside",
    "not applicable": "not_applicable",
}


def _to_3(tree: xr.DataTree) -> None:
    """Before layout 3 verdicts of claims had other words."""
    if "claims" not in tree.children:
        return
    found = tree.children["claims"].to_dataset(inherit=False)
    if "verdict" not in found:
        return
    words = np.array([VERDICTS.get(word, word) for word in map(str, found["verdict"].values)], dtype=str)
    tree["claims"] = xr.DataTree(found.assign(verdict=("claim", words, found["verdict"].attrs)))


#: layout -> what makes the next one of it, in place
STEPS: dict[int, Callable[[xr.DataTree], None]] = {1: _to_2, 2: _to_3}
