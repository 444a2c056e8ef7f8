"""Sparklines and sheets."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given
from hypothesis import strategies as st
from support.made import ensemble, made, without

from flowsim.cli.page import summary, text
from flowsim.cli.sparklines import LEVELS, Sheet, over_time, sparkline, timeline
from flowsim.present.summary import completed

VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=50).map(np.array)


@given(values=VALUES, plain=st.booleans())
def test_a_sparkline_is_as_long_as_its_values_and_rises_where_they_do(values, plain):
    line = sparkline(values, plain)
    assert len(line) == len(values)
    assert [character == " " for character in line] == (~np.isfinite(values)).tolist()
    there = np.flatnonzero(np.isfinite(values))
    order = there[np.argsort(values[there])]
    levels = [LEVELS[plain].index(line[place]) for place in order]
    assert levels == sorted(levels)


@example(values=np.array([0.0, 5e-324]))
@given(values=st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=50, unique=True).map(np.array))
def test_a_sparkline_reaches_from_the_lowest_level_to_the_highest(values):
    line = sparkline(values)
    assert line[values.argmin()] == LEVELS[0][0]
    assert line[values.argmax()] == LEVELS[0][-1]


@given(width=st.integers(1, 200), encoding=st.sampled_from(["utf-8", "ascii", "latin-1", "cp437"]))
def test_nothing_is_wider_than_the_terminal_and_all_can_be_encoded(width, encoding):
    page = Sheet(width, encoding).fitted(
        ["a title with ▁ and words that are long " * 5, "", "  name   value", "x" * 300]
    )
    assert max(len(line) for line in page.split("\n")) <= width
    page.encode(encoding)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, None])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("tree", [made(), ensemble()], ids=["run", "ensemble"])
def test_a_page_fits_on_its_sheet(tree, encoding, width):
    page = text(tree, Sheet(width, encoding))
    page.encode(encoding)
    if width is not None:
        assert max(len(line) for line in page.splitlines()) <= width
    if encoding == "ascii":
        assert "?" not in page


def test_a_page_has_curves_phases_and_claims_at_a_glance():
    page = text(made(), Sheet())
    curve = next(line for line in page.splitlines() if line.startswith("  log10_loss "))
    assert curve.endswith("▁  -0.3 to -5")
    assert "█" in curve
    assert "claims       1 hold, 1 fail" in page
    assert "    premises: b <= 1 (0.1, margin 0.9)" in page
    assert "    constants: b = 0.1 (chosen)" in page
    assert "    span: [0, 10] in time" in page
    assert "├" in page


def test_phases_are_numbered_as_they_were_reached():
    tree = made(instants=40)
    (line,), marks = timeline(tree, Sheet())
    instants = tree["phases"]["instant"].to_series().dropna().sort_values(kind="stable")
    assert [int(marks[name]) for name in instants.index] == list(range(1, len(instants) + 1))
    drawn = [character for character in line.split("  ")[-2] if character.isdigit()]
    assert drawn == sorted(drawn)
    assert len(drawn) == len(instants)


def test_a_file_that_kept_little_shows_what_it_can():
    kept = without(made(), "cosine", "log_norm", "margin", "log10_loss", "accuracy")
    names = [line.split()[0] for line in over_time(kept, Sheet())[1:]]
    assert names == ["loss", "step_size"]


def test_a_stream_that_is_no_terminal_sets_no_width():
    assert Sheet.of(io.TextIOWrapper(io.BytesIO(), "ascii")) == Sheet(None, "ascii")


def test_a_terminal_s_width_is_that_of_its_window(monkeypatch):
    monkeypatch.setenv("COLUMNS", "33")
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert Sheet.of(stream).width == 33


@pytest.mark.parametrize("tree", [made(), ensemble()], ids=["run", "ensemble"])
def test_a_part_of_a_result_is_shown_as_far_as_it_goes(tree):
    part = xr.DataTree(tree.to_dataset()[["loss"]].drop_attrs().assign_attrs(flowsim_version="0.1.0"))
    page = text(completed(part), Sheet())
    assert "status       unknown" in page
    assert "  loss " in page
    json.dumps(summary(completed(part)), allow_nan=False)
