"""A plot as it is seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.axes import Axes

from flowsim.present.kinds import plot


@pytest.fixture
def draw() -> Callable[..., Axes]:
    """A plot that has been laid out."""

    def make(result, kind, **options) -> Axes:
        axes = plot(result, kind, interactive=False, **options)
        axes.get_figure().draw_without_rendering()
        return axes

    return make
