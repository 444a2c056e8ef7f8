"""flowsim report, and what `flowsim show` says at a glance."""

from __future__ import annotations

import os
import subprocess
import sys
from html import unescape

import pytest
import xarray as xr
from support.made import ensemble, made

import flowsim as package
from flowsim.present.page.sections import reproduction
from flowsim.present.run import Run

pytest.importorskip("plotly")


@pytest.fixture
def results(folder):
    made().to_netcdf(folder / "a.nc")
    made(seed=1).to_netcdf(folder / "b.nc")
    ensemble().to_netcdf(folder / "e.nc")


@pytest.mark.usefixtures("results")
def test_report_takes_the_first_result_s_name(flowsim, files):
    before = set(files())
    answer = flowsim("report", "a.nc", "b.nc")
    assert (answer.code, answer.out, answer.err) == (0, "", "a.html\n")
    assert set(files()) == {*before, "a.html"}
    assert files()["a.html"].startswith(b"<!doctype html>")


@pytest.mark.usefixtures("results")
def test_report_replaces_a_page_only_when_told(flowsim, folder, files):
    (folder / "mine.html").write_text("mine")
    before = files()
    answer = flowsim("report", "a.nc", "-o", "mine.html")
    assert answer.code == 2
    assert "exists already" in answer.err
    assert files() == before
    assert flowsim("report", "a.nc", "-o", "mine.html", "--overwrite").code == 0
    assert (folder / "mine.html").read_text() != "mine"


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["missing.nc"], "missing.nc: no such file"),
        (["a.nc", "a.toml"], "a.toml: not a NetCDF file"),
        (["a.nc", "-o", "nowhere/a.html"], "does not exist"),
        (["a.nc", "b.nc", "-o", "b.nc", "--overwrite"], "b.nc: is a result to be shown"),
        (["a.nc", "--seed", "1"], "a.nc: is a single run"),
        (["e.nc", "--seed", "4"], "there are 3, 5, 8"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_report_refuses_what_it_cannot_do(flowsim, files, words, complaint):
    before = files()
    answer = flowsim("report", *words)
    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err
    assert files() == before


@pytest.mark.usefixtures("results")
def test_results_of_one_name_are_told_apart_by_their_folders(flowsim, folder):
    (folder / "other").mkdir()
    (folder / "a.nc").rename(folder / "other" / "b.nc")
    assert flowsim("report", "b.nc", "other/b.nc").code == 0
    assert '<p class="file">other/b.nc</p>' in (folder / "b.html").read_text()


@pytest.mark.usefixtures("results")
def test_report_shows_a_member_of_an_ensemble(flowsim, folder):
    assert flowsim("report", "e.nc", "--seed", "5", "-o", "five.html").code == 0
    assert "An ensemble" not in (folder / "five.html").read_text()


def test_the_commands_of_the_page_make_the_run_again(flowsim, folder):
    """They are run as they stand, but for where the programs are."""
    assert flowsim("run", "a.toml", "-o", "it's a run.nc").code == 0
    with package.open("it's a run.nc") as tree:
        shown = reproduction(Run.of("it's a run.nc", tree))
    commands = unescape(shown.partition("<pre")[2].partition(">")[2].partition("</pre>")[0])
    assert len(commands.splitlines()) == 3
    (folder / "bin").mkdir()
    for name, words in (("python", ""), ("flowsim", " -m flowsim")):
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    answer = subprocess.run(
        ["sh", "-e", "-c", commands], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    with package.open("it's a run.nc") as first, package.open("again.nc") as second:
        xr.testing.assert_equal(first.to_dataset(), second.to_dataset())
