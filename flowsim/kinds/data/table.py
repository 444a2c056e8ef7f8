"""A user's own samples, from a file or from arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from ..drawing import Drawing
from ..files import TABLE_SUFFIXES
from ..samples import Samples, Supervision
from ..section import refuse, suffix_in
from ..split import check_kept, split
from ..tables import (
    HELD_OUT,
    held_out_of_arrays,
    labels_only,
    of_arrays,
    problems,
    read_arrays,
    rows_of,
    table_error,
    vectors_too,
)
from . import DATA, DataSection, Test, broken_test


class Table(DataSection):
    """Samples read from a file with arrays x, y and, where known, cluster and centers; or handed over from Python."""

    takes_arrays: ClassVar[bool] = True
    counted: ClassVar[bool] = False
    alike: ClassVar[bool] = True

    kind: Literal["table"]
    path: Annotated[str, AfterValidator(suffix_in(TABLE_SUFFIXES))] | None = Field(
        None,
        description="CSV, NPZ or NetCDF file, x.npy with y.npy beside it, or Zarr store, relative to the scenario's "
        "folder; only from Python may it be left out",
    )
    supervision: Supervision = "class"
    test: Test = None

    @property
    def file(self) -> str:
        """The path, or "" for data in memory."""
        return self.path or ""

    @model_validator(mode="after")
    def _rules(self) -> Table:
        refuse(broken_test(self))
        return self

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """From arrays that the scenario has with it, or else from the file that it names."""
        if sibling is not None:
            return sibling
        arrays = scenario.arrays("data") or read_arrays(scenario, "data.path")
        wrong = [
            ("data.path", text)
            for text in problems(arrays, labels_only(scenario, self.supervision), vectors_too(scenario))
        ]
        if self.supervision == "cluster" and "cluster" not in arrays:
            wrong.append(("data.supervision", '"cluster" needs the array cluster, which this table does not have'))
        if wrong:
            raise table_error(scenario, wrong)
        # where held-out samples stand beside them, these are what was left
        count = len(arrays["x"])
        apart = HELD_OUT["x"] in arrays
        rows, held_out = (np.arange(count), np.arange(0)) if apart else split(self.test, scenario, count)
        training = rows_of(arrays, rows)
        if "cluster" in arrays and "centers" not in arrays:
            check_kept(scenario, arrays["cluster"].astype(np.int64), training["cluster"].astype(np.int64))
        samples = of_arrays(training, self.supervision)
        if not len(held_out):
            return samples
        return replace(samples, test=held_out_of_arrays(rows_of(arrays, held_out), samples, self.supervision))


DATA.register("table", Table)
