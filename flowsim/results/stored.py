"""What a result holds of its scenario: the text, and the arrays that came from files or from memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import ScenarioError, UsageError
from ..kinds.plugins_used import missing
from ..scenario import Scenario
from ..scenario.arrays import SECTIONS
from ..scenario.load import reread
from ..scenario.reading import parsed


def scenario_of(tree: xr.DataTree, seed: int | None = None, overrides: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario that ran, with the arrays that came from files or from memory: the files need not be there.

    seed: of one member of an ensemble. overrides: dotted key -> value. Raises UsageError where the text cannot be read by
    this version of flowsim or without a plugin, ScenarioError for wrong overrides.
    """
    if "scenario" not in tree.attrs:
        raise UsageError("this result holds no scenario: its attribute is gone")
    text, changes = str(tree.attrs["scenario"]), dict(overrides or {})
    try:
        scenario = reread(text)
    except ScenarioError as error:
        if absent := missing(tree.attrs):
            raise UsageError(f"its scenario cannot be read as it is: {absent}") from None
        said = "; ".join(str(issue) for issue in error.issues)
        maker = tree.attrs.get("flowsim_version", "an unknown version")
        raise UsageError(f"this version of flowsim cannot read the scenario of flowsim {maker}: {said}") from None
    if scenario.is_ensemble and seed is not None:
        changes = {"seed": seed, **changes}
    scenario = scenario.with_arrays(arrays_of(tree))
    return reread(text, changes).holding(scenario.source.arrays) if changes else scenario


def keys_of(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """The keys that the stored text gives, as TOML has them, whether this version knows them or not."""
    try:
        return parsed(str(attributes.get("scenario", "")))
    except ScenarioError:
        return {}


def arrays_of(tree: xr.DataTree) -> dict[str, dict[str, Floats]]:
    """Section -> name -> the arrays that came from files or from memory: the groups `data` and `init`."""
    groups = {name: tree.children[name].to_dataset(inherit=False) for name in SECTIONS if name in tree.children}
    return {
        section: {str(name): np.ascontiguousarray(array.values, dtype=float) for name, array in group.data_vars.items()}
        for section, group in groups.items()
    }
