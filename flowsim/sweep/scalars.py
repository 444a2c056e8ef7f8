"""The numbers that a sweep keeps of each run: how it ended, its phases, its final values, what was evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from ..evaluate.verdicts import VERDICTS
from ..observe import NUMERICS, OBSERVABLES

#: Groups of a result that hold arrays of another kind, or have a place of their own here.
ELSEWHERE = {"phases", "claims", "numerics", "final", "data", "checkpoint"}
#: Dimensions of arrays that are no summary of a run.
LARGE = {"time", "neuron", "sample", "snapshot", "feature", "row"}
#: What is known of each of these is summed up in its median too.
TEST_SAMPLE = "test_sample"
#: Groups whose variables keep their own names; others get that of their group before it.
OWN_NAMES = ("distance", "robustness")
#: No larger array is taken.
MAX_CELLS = 1000


@dataclass(frozen=True)
class Cells:
    """A number, or a small array with labelled dimensions. labels: dimension -> label of each of its places."""

    values: Any
    labels: Mapping[str, tuple[Any, ...]]
    long_name: str

    @property
    def json(self) -> dict[str, Any]:
        """What JSON can hold, to the last bit; the inverse is `of`."""
        return {"values": _plain(self.values), "labels": dict(self.labels), "long_name": self.long_name}

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Cells:
        shape = tuple(len(labels) for labels in saved["labels"].values())
        values = np.array(_numbers(saved["values"]), dtype=float).reshape(shape)
        return cls(values, {name: tuple(labels) for name, labels in saved["labels"].items()}, saved["long_name"])


def scalars(tree: xr.DataTree) -> list[dict[str, Cells]]:
    """Of a result, name -> cells, for each member of an ensemble; for a single run, one."""
    members = tree.sizes.get("seed", 1)
    found: list[dict[str, Cells]] = [{} for _ in range(members)]
    for name, array in _arrays(tree):
        if "seed" not in array.dims:
            array = array.expand_dims(seed=members)
        array = array.transpose("seed", ...)
        labels = {str(dim): _labels(array, str(dim)) for dim in array.dims[1:]}
        long_name = str(array.attrs.get("long_name", name))
        values = array.values.astype(float)
        for member, of_member in enumerate(found):
            of_member[name] = Cells(values[member], labels, long_name)
    return found


def _arrays(tree: xr.DataTree) -> Iterator[tuple[str, xr.DataArray]]:
    """Everything that is kept, of an ensemble along `seed` too."""
    groups = {str(name): node.to_dataset(inherit=False) for name, node in tree.children.items()}
    last = groups["final"] if "final" in groups else _last(tree.to_dataset(), groups["numerics"])
    for name, array in last.data_vars.items():
        if set(array.dims) <= {"seed"}:
            known = OBSERVABLES.get(str(name))
            said = known.long_name if known else NUMERICS.get(str(name), str(name))
            prefix = "final_" if known else ""
            yield f"{prefix}{name}", array.assign_attrs(long_name=f"{said}, at the end")
    yield "phase_instant", groups["phases"]["instant"]
    if "claims" in groups:
        yield from _of_claims(groups["claims"])
    for group, dataset in groups.items():
        if group not in ELSEWHERE:
            for name, array in dataset.data_vars.items():
                if array.dtype.kind in "biuf" and not LARGE & set(array.dims) and _size(array) <= MAX_CELLS:
                    own = group in OWN_NAMES or str(name).startswith(group)
                    yield (str(name) if own else f"{group}_{name}"), array
                if TEST_SAMPLE in array.dims and array.dtype.kind == "f":
                    said = f"{array.attrs.get('long_name', name)}, median over the test samples"
                    yield f"median_{name}", array.median(TEST_SAMPLE).assign_attrs(long_name=said)


def _of_claims(found: xr.Dataset) -> Iterator[tuple[str, xr.DataArray]]:
    """Numbers of the findings; verdicts as their places in VERDICTS, which the long name spells out."""
    for name in ("measured", "bound", "holds"):
        yield f"claim_{name}", found[name]
    words = [*VERDICTS]
    places = np.array([words.index(str(word)) for word in found["verdict"].values], dtype=float)
    spelt = ", ".join(f"{place} {word}" for place, word in enumerate(words))
    yield "claim_verdict", found["holds"].copy(data=places).assign_attrs(long_name=f"verdict: {spelt}")
    for name, labels in (("premise_margin", "premise"), ("constant_value", "constant")):
        if found.sizes[labels]:
            yield f"claim_{name}", found[name]


def _last(root: xr.Dataset, numerics: xr.Dataset) -> xr.Dataset:
    """What a single run ended with, as the group `final` of an ensemble has it."""
    found = {
        str(name): array.variable.isel(time=-1)
        for part in (root, numerics)
        for name, array in part.data_vars.items()
        if array.dims == ("time",) and array.size
    }
    return xr.Dataset(found)


def _size(array: xr.DataArray) -> int:
    return math.prod(length for dim, length in array.sizes.items() if dim != "seed")


def _labels(array: xr.DataArray, dim: str) -> tuple[Any, ...]:
    if dim in array.coords:
        return tuple(str(label) if isinstance(label, str) else label for label in array[dim].values.tolist())
    return tuple(range(array.sizes[dim]))


def _plain(values: Any) -> Any:
    """Nested lists in which a number that JSON does not have is a word."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return values if math.isfinite(values) else str(values)


def _numbers(values: Any) -> Any:
    return [_numbers(value) for value in values] if isinstance(values, list) else float(values)
