"""flowsim plot: pictures in several formats, and answers to what cannot be drawn."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture
def run(flowsim):
    """a.nc"""
    assert flowsim("run", "a.toml").code == 0


@pytest.mark.parametrize(("suffix", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_written_in_the_format_of_its_name(flowsim, run, files, suffix, begin):
    answer = flowsim("plot", "a.nc", "loss", "-o", f"fig.{suffix}", "--log-time")
    assert (answer.code, answer.out, answer.err) == (0, "", f"fig.{suffix}\n")
    assert files()[f"fig.{suffix}"].startswith(begin)


def test_without_a_name_it_is_called_after_run_and_kind(flowsim, run, files):
    assert flowsim("plot", "a.nc", "cosines", "--at", "3").code == 0
    assert "a-cosines.png" in files()


def test_a_picture_is_replaced_only_where_that_is_wanted(flowsim, run, files):
    assert flowsim("plot", "a.nc", "loss", "-o", "fig.svg").code == 0
    before = files()
    answer = flowsim("plot", "a.nc", "norms", "-o", "fig.svg")
    assert answer.code == 2
    assert "exists already; use --overwrite" in answer.err
    assert files() == before
    assert flowsim("plot", "a.nc", "norms", "-o", "fig.svg", "--overwrite").code == 0
    assert files() != before


def test_several_results_are_drawn_on_one_axis(flowsim, run, files):
    assert flowsim("run", "a.toml", "-o", "wide.nc", "--set", "model.width=8").code == 0
    answer = flowsim("plot", "a.nc", "wide.nc", "alignment", "--clock", "progress")
    assert (answer.code, answer.err) == (0, "a-alignment.png\n")
    assert files()["a-alignment.png"].startswith(b"\x89PNG")
    for words, said in (
        (["a.nc", "wide.nc"], "several results need a kind"),
        (["a.nc", "gone.nc", "loss"], "gone.nc: no such file"),
        (["a.nc", "loss", "--clock", "time"], "a.nc: is one result; --clock is for several"),
    ):
        answer = flowsim("plot", *words)
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["losss"], 'no plot is called "losss"; did you mean "loss"? there are alignment, cosines'),
        (["loss", "-o", "fig.bmp"], "fig.bmp: a picture's name ends with .png, .svg, .pdf"),
        (["loss", "-o", "nowhere/fig.png"], "the folder nowhere does not exist"),
        (["loss", "--at", "3"], "loss: takes no at; it takes seed, log_time"),
        (["loss", "--seed", "7"], "loss: this is a single run, of seed 0; leave the seed out"),
        (["alignment", "--clusters", "9"], "alignment: there is no cluster 9; they are 0 to "),
        (["alignment", "--clusters", "x"], '"x" is not a list of clusters such as 0,3'),
        (["boundary"], "boundary: it needs data in two dimensions, and these have 12"),
    ],
)
def test_what_cannot_be_drawn_exits_2_and_leaves_nothing(flowsim, run, files, words, message):
    before = files()
    answer = flowsim("plot", "a.nc", *words)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert files() == before


def test_a_file_without_some_variables_gives_the_plots_that_are_possible(flowsim):
    flowsim("run", "a.toml", "--set", 'observe={variables=["loss", "log_norm"], snapshots="none"}')
    answer = flowsim("plot", "a.nc")
    assert answer.code == 0
    impossible = {line.split()[0] for line, after in zip_next(answer.out) if "not from this result" in after}
    of_variables = {"alignment", "cosines", "mass", "margins", "loss_derivatives", "phase_portrait"}
    of_weights = {"boundary", "class_cosines", "filters", "correlations", "lottery", "purity"}
    of_groups = {"robustness", "kkt", "exciting_inputs", "active_units", "density", "reconstructions"}
    assert impossible == of_variables | of_weights | of_groups
    assert flowsim("plot", "a.nc", "loss").code == 0
    refused = flowsim("plot", "a.nc", "margins")
    assert refused.code == 2
    assert refused.err == "margins: it needs margin, which was not kept; add it to observe.variables and run again\n"


def zip_next(text: str) -> list[tuple[str, str]]:
    lines = text.splitlines()
    return list(zip(lines, [*lines[1:], ""], strict=True))


def test_without_matplotlib_it_says_what_to_install(folder, run):
    code = "import sys; sys.modules['matplotlib'] = None; from flowsim.cli import main; sys.exit(main(sys.argv[1:]))"
    answer = subprocess.run(
        [sys.executable, "-c", code, "plot", "a.nc", "loss"], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 2
    assert answer.stderr == "plots need Matplotlib, which is not installed; pip install 'flowsim[plot]'\n"
