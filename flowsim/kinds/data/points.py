"""A few samples, written in the scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ..drawing import Drawing
from ..regression import with_targets
from ..samples import Samples, Supervision
from ..section import Broken, as_tuple, refuse
from ..split import split
from . import DATA, DataSection, Test, broken_test

Number = Annotated[float, Field(allow_inf_nan=False)]
Row = Annotated[tuple[Number, ...], Field(min_length=1), as_tuple]


class Points(DataSection):
    """Samples that the scenario lists."""

    counted: ClassVar[bool] = False
    alike: ClassVar[bool] = True
    supervision: ClassVar[Supervision] = "class"

    kind: Literal["points"]
    x: Annotated[tuple[Row, ...], Field(min_length=1), as_tuple] = Field(
        description="for each sample the array of its features"
    )
    y: Annotated[tuple[Number, ...], as_tuple] = Field(description="target of each sample")
    test: Test = None

    @model_validator(mode="after")
    def _rules(self) -> Points:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        if len(self.y) != len(self.x):
            yield Broken("y", f"has {len(self.y)} targets, x has {len(self.x)} samples", ("x",))
        for index, row in enumerate(self.x):
            if len(row) != len(self.x[0]):
                yield Broken(f"x[{index}]", f"has {len(row)} features, the first sample has {len(self.x[0])}", ("x",))

    @property
    def real_targets(self) -> bool:
        return not set(self.y) <= {-1.0, 1.0}

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        x, y = np.array(self.x), np.array(self.y)
        rows, held_out = split(self.test, scenario, len(y))
        samples = with_targets(x[rows], y[rows])
        return samples if not len(held_out) else replace(samples, test=with_targets(x[held_out], y[held_out]))


DATA.register("points", Points)
