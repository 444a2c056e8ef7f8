"""flowsim compare: a page, a summary, and answers to what cannot be compared."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import flowsim as package

DESCENT = ["--set", 'flow={method="gradient_descent", step=0.5, iterations=60}']


@pytest.fixture
def results(flowsim):
    """flow.nc, and descent.nc from the same start."""
    assert flowsim("run", "a.toml", "-o", "flow.nc").code == 0
    assert flowsim("run", "a.toml", "-o", "descent.nc", *DESCENT).code == 0


def test_the_page_says_what_was_compared_and_how_far_apart_it_is(flowsim, results):
    answer = flowsim("compare", "descent.nc", "flow.nc")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].startswith("1            descent.nc: descent gradient_descent, step 0.5; done, ")
    assert lines[1].startswith("2            flow.nc: numba dopri5, rtol 1e-06; done, reached time 30; to time 30")
    assert "instants     11 that both have kept, up to time 30" in lines
    worst = float(package.compare("descent.nc", "flow.nc")["cosine_difference"].max())
    (cosine,) = (line.split() for line in lines if line.startswith("cosine_difference"))
    assert cosine[1] == f"{worst:.6g}"


def test_the_summary_names_the_worst_neuron_and_when(flowsim, results):
    answer = flowsim("compare", "descent.nc", "flow.nc", "--json")
    (facts,) = json.loads(answer.out)["distances"]
    found = package.compare("descent.nc", "flow.nc")["log_norm_difference"]
    size = np.abs(found).sel(time=facts["log_norm_difference"]["time"])
    assert facts["log_norm_difference"]["worst"] == np.abs(found).max()
    assert size[facts["log_norm_difference"]["neuron"]] == np.abs(found).max()
    assert facts["log_norm_difference"]["median_at_end"] == np.median(np.abs(found[-1]))


def test_instants_of_one_run_alone_are_left_out_where_both_share_enough(flowsim, results):
    flowsim("run", "a.toml", "-o", "fine.nc", "--set", "observe.times=21")
    answer = flowsim("compare", "fine.nc", "flow.nc")
    assert "11 that both have kept, up to time 30; the other 10 of fine.nc are left out" in answer.out


def test_where_they_share_too_few_interpolation_is_warned_of(flowsim, results):
    flowsim("run", "a.toml", "-o", "odd.nc", "--set", "observe.times=14")
    answer = flowsim("compare", "odd.nc", "flow.nc")
    assert "warning      at 12 of them flow.nc is interpolated linearly" in answer.out


def test_runs_of_any_width_stand_beside_each_other_and_their_neurons_are_not_matched(flowsim, results):
    other = ["--set", "model.width=5", "--set", "data.samples=28"]
    assert flowsim("run", "a.toml", "-o", "other.nc", *other).code == 0
    answer = flowsim("compare", "flow.nc", "other.nc", "descent.nc")
    assert (answer.code, answer.err) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in answer.out.splitlines() if line.startswith("  ")}
    assert rows["model.width"] == ["6", "5", "6"]
    assert rows["flow.step"] == ["—", "—", "0.5"]
    assert "seed" not in rows
    why = "neurons      of flow.nc and other.nc are not matched: a has 6 neurons and b has 5; they have different data"
    assert why in answer.out
    assert "neurons      of flow.nc and descent.nc are the same ones on the same data" in answer.out


def test_the_summary_is_the_dataset(flowsim, results):
    facts = json.loads(flowsim("compare", "flow.nc", "descent.nc", "--json").out)
    found = package.side_by_side(["flow.nc", "descent.nc"])
    assert facts["differences"].keys() == set(found["key"].values)
    assert facts["final"]["loss"] == found["final"].sel(number="loss").values.tolist()
    for name in ("best_cosine", "log10_loss"):
        np.testing.assert_array_equal(facts["curves"][name], found["curve"].sel(quantity=name))
    np.testing.assert_array_equal(facts["curves"]["progress"], found["progress"])


def test_what_cannot_be_compared_exits_2(flowsim, results):
    assert flowsim("compare", "flow.nc", "missing.nc").code == 2
    answer = flowsim("compare", "flow.nc")
    assert (answer.code, answer.err) == (2, "flow.nc: is one result; compare takes two or more\n")


def test_instants_beyond_the_largest_float_are_written_as_powers_of_ten(flowsim):
    options = ["--set", 'loss.kind="exponential"', "--set", "flow.until={ log10_loss = -400 }"]
    options += ["--set", 'observe.spacing="log"']
    assert flowsim("run", "a.toml", "-o", "coarse.nc", *options, "--set", "flow.rtol=1e-4").code == 0
    assert flowsim("run", "a.toml", "-o", "fine.nc", *options).code == 0
    answer = flowsim("compare", "coarse.nc", "fine.nc")
    assert (answer.code, answer.err) == (0, "")
    assert re.search(r"; to time 1e[34]\d\d", answer.out.splitlines()[0])
    assert "inf" not in answer.out
    (facts,) = json.loads(flowsim("compare", "coarse.nc", "fine.nc", "--json").out)["distances"]
    assert facts["end"] is None
    assert 308 < facts["log10_end"] < 500
