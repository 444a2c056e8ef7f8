"""flowsim explore: a file of KKT points, a page and a summary, and answers to what is wrong."""

from __future__ import annotations

import json

import xarray as xr

SCENARIO = """
[data]
dimension = 3
positive = 1
negative = 1
samples = 6
centers = "random_sphere"
noise = { total = 0.4 }

[model]
activation = "relu"
width = 4

[loss]
kind = "logistic"
"""
FEW = ("--starts", "2", "--patterns", "3", "--samples", "20", "--probes", "1")


def test_a_file_a_page_and_a_summary_say_the_same(flowsim, tmp_path):
    (tmp_path / "own.toml").write_text(SCENARIO)
    page = flowsim("explore", "own.toml", "-o", "points.nc", *FEW)
    assert page.code == 0
    with xr.open_dataset("points.nc") as points:
        assert f"{points['normalised_margin'].values[0]:.5g}" in page.out.splitlines()[1]
        assert "points.nc: " in page.err
        margins = points["normalised_margin"].values.tolist()
    summary = flowsim("explore", "own.toml", "-o", "points.nc", "--overwrite", "-q", "--json", *FEW)
    told = json.loads(summary.out)
    assert (summary.code, summary.err) == (0, "")
    assert [row["normalised_margin"] for row in told["points"]] == margins
    assert told["best_margin_at_least"] == margins[0]


def test_what_is_wrong_is_answered_in_words(flowsim, tmp_path):
    (tmp_path / "own.toml").write_text(SCENARIO)
    for words, given in {
        "ends with .nc": ("own.toml", "-o", "points.csv"),
        "widths": ("own.toml", "-o", "points.nc", "--widths", "0"),
        "two trained layers": (
            "own.toml",
            "-o",
            "points.nc",
            "--set",
            "model.output=fixed",
            "--set",
            "model.output_weight=1",
        ),
        "--set": ("run.nc", "-o", "points.nc", "--set", "model.width=3"),
    }.items():
        answer = flowsim("explore", *given)
        assert answer.code == 2
        assert words in answer.err
    assert not (tmp_path / "points.nc").exists()
