"""The bounds of what is read: their names and values, files that are none, memory that there is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import flowsim
from flowsim import gate, machine
from flowsim.cli import main
from flowsim.kinds.files import read_table
from flowsim.markup import escape, visible
from flowsim.results.points import entries
from flowsim.scenario.edit import edited
from flowsim.scenario.reading import check_bounds

PAGE = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
SMALL = "[data]\ndimension = 6\nsamples = 8\n[model]\nwidth = 4\n[flow]\nuntil = { steps = 3 }\n"


@pytest.mark.parametrize("name", gate.LIMITS)
def test_every_bound_is_documented_with_its_value(name):
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    value = gate.LIMITS[name].value
    written = row.split("|")[2].strip()
    if value is None:
        assert written in ("what is available", "what is free")
    else:
        sized = {"bytes": gate.size(value), "seconds": f"{value / 86400:g} days"}
        assert written == sized.get(gate.LIMITS[name].unit, f"{value:.0f} {gate.LIMITS[name].unit}")


def test_a_bound_is_raised_in_this_process_and_in_those_that_it_starts(monkeypatch):
    monkeypatch.setenv("FLOWSIM_LIMITS", "points=7")
    gate.set_limit("memory=2GiB")
    assert (gate.limit("points"), gate.limit("memory")) == (7, 2**31)
    assert os.environ["FLOWSIM_LIMITS"] == "points=7,memory=2147483648"


@pytest.mark.parametrize("text", ["memory", "memory=", "memory=0", "memory=-1", "memory=1XB", "memroy=1", "memory=nan"])
def test_what_is_no_bound_is_refused(text, monkeypatch):
    monkeypatch.setenv("FLOWSIM_LIMITS", "")
    with pytest.raises(flowsim.UsageError, match="limit"):
        gate.set_limit(text)


def test_pipes_devices_and_folders_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "pipe or a device" in gate.obstacle(tmp_path / "pipe")
    assert "pipe or a device" in gate.obstacle(Path("/dev/zero"))
    assert gate.obstacle(tmp_path) == "is a folder"
    assert gate.obstacle(tmp_path / "none") == "no such file"
    assert "too long" in gate.obstacle(tmp_path / ("a" * 5000))
    (tmp_path / "file").touch()
    assert gate.obstacle(tmp_path / "file") == ""


def test_memory_that_is_available_is_some_of_what_there_is():
    assert 0 < machine.available() <= machine.memory()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x = " + "[" * 5000, 1, "nested more than 64 levels deep"),
        ("\nx = " + "{a = " * 5000, 2, "nested more than 64 levels deep"),
        (".".join("a" * 200_000) + " = 1", 1, "nested more than 64 levels deep"),
        ("\n[" + ".".join("a" * 5000) + "]", 2, "nested more than 64 levels deep"),
        ("\nseed = " + "9" * 5000, 2, "has 5000 characters"),
        ("[data]\nsamples = " + "9" * 50, 2, "data.samples: an integer of 167 bits"),
        ("[sweep]\ngrid = { seed = [1979-05-27] }", 2, "a date or time is not allowed"),
    ],
    ids=["arrays", "tables", "dotted key", "header", "digits", "integer", "date"],
)
def test_a_text_beyond_a_bound_is_answered_at_its_line(text, line, said):
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.loads(text, name="a.toml")
    assert str(caught.value).startswith(f"a.toml:{line}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize("nested", [lambda n: "x = " + "[" * n + "]" * n, lambda n: ".".join("x" * n) + " = 1"])
def test_as_many_levels_as_the_bound_says_are_read(nested):
    check_bounds(nested(64), "a.toml")
    with pytest.raises(flowsim.ScenarioError, match="nested more than 64 levels"):
        check_bounds(nested(65), "a.toml")


def test_a_raised_bound_lets_more_through(monkeypatch):
    text = "title = '" + "a" * 100 + "'\n"
    monkeypatch.setenv("FLOWSIM_LIMITS", "scenario-bytes=50")
    with pytest.raises(flowsim.ScenarioError, match=r"--limit scenario-bytes"):
        flowsim.loads(text)
    monkeypatch.setenv("FLOWSIM_LIMITS", "scenario-bytes=500")
    assert flowsim.loads(text).title == "a" * 100


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"data.samples": 10**15}, "data.samples"),
        ({"model.width": 10**15}, "model.width"),
        ({"observe.times": 10**9, "flow.until": {"time": 1.0}}, "observe.times"),
        ({"evaluate.robustness": {"radii": [0.1], "samples": 10**13}}, "evaluate.robustness.samples"),
        ({"evaluate.robustness": {"radii": [0.1], "restarts": 10**12}}, "evaluate.robustness.restarts"),
        ({"observe.grid": [{"from": 0, "to": 1, "count": 10**4}] * 6, "observe.variables": ["loss"]}, "observe.grid"),
        ({"flow": {"method": "gradient_descent", "step": 0.1, "iterations": 10**15}}, "flow.iterations"),
        ({"evaluate.smoothing": {"radii": [0.1], "noise": 0.1, "samples": 10**13}}, "evaluate.smoothing.samples"),
        ({"evaluate.smoothing": {"radii": [0.1], "noise": 0.1, "draws": 10**15}}, "evaluate.smoothing.draws"),
        ({"evaluate.density": {"radius": 0.1, "attack": "pgd", "steps": 10**14}}, "evaluate.density.steps"),
    ],
    ids=[
        *("samples", "neurons", "instants", "attacked samples", "restarts", "probes", "iterations"),
        *("smoothed samples", "noisy copies", "steps of densities"),
    ],
)
def test_what_cannot_fit_is_refused_at_its_key_before_anything_is_drawn(keys, key, tmp_path, capsys):
    file = tmp_path / "s.toml"
    file.write_text(flowsim.loads(SMALL, overrides=keys).source.text, encoding="utf-8")
    for command in (["check", str(file)], ["run", str(file), "-o", str(tmp_path / "run.nc")]):
        assert main(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"{file}:")
        assert f": {key}: " in line
    assert not (tmp_path / "run.nc").exists()


def test_a_disk_without_room_is_said_before_a_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setenv("FLOWSIM_LIMITS", "disk=100")
    assert main(["run", str(tmp_path / "s.toml"), "-o", str(tmp_path / "run.nc")]) == 2
    assert "are free in" in capsys.readouterr().err
    monkeypatch.setattr("flowsim.gate.free", lambda place: 100.0)
    monkeypatch.delenv("FLOWSIM_LIMITS")
    words = ["run", str(tmp_path / "s.toml"), "-o", str(tmp_path / "run.nc"), "--set", "flow.until.steps=1"]
    assert main(words) == 2
    # what is foretold is no more than the arrays are, which are packed
    assert main([*words, "--limit", re.search(r"--limit (disk=\w+)", capsys.readouterr().err)[1]]) == 0


def test_a_terminal_is_shown_no_control_characters(tmp_path, capsys):
    file = tmp_path / "s.toml"
    file.write_text('title = "a\\u001b[31mred\\u202e"\n' + SMALL, encoding="utf-8")
    assert main(["check", str(file)]) == 0
    assert "a\\x1b[31mred\\u202e" in capsys.readouterr().out
    assert visible("a\tb\nä") == "a\tb\nä"
    assert escape("<\x9b>") == "&lt;\\x9b&gt;"


@pytest.mark.parametrize("line", [b"\xcc\xff\n", b"{}\n", b"[1, 2]\n", b'{"sha256": 1, "point": 2}\n'])
def test_a_damaged_manifest_is_answered_at_its_line(tmp_path, line):
    (tmp_path / "manifest.jsonl").write_bytes(line)
    with pytest.raises(flowsim.UsageError, match=r"manifest\.jsonl:1: is not a line of a manifest"):
        [*entries(tmp_path)]


@pytest.mark.parametrize(
    "keys",
    ["step = 1e-320\nuntil = { time = 1000.0 }", "step = 1e308\niterations = 1000"],
    ids=["endless iterations", "endless time"],
)
def test_a_step_whose_iterations_or_time_are_no_numbers_is_refused(keys):
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:3: flow\.step: too (small|large)"):
        flowsim.loads(f'[flow]\nmethod = "gradient_descent"\n{keys}\n', name="a.toml")


def test_an_archive_that_announces_more_than_fits_is_not_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros((3000, 3000)), y=np.ones(3000))
    monkeypatch.setenv("FLOWSIM_LIMITS", "memory=1GiB")
    with pytest.raises(ValueError, match=r"times its file, more than 1000 times.*--limit unpacked=\d+"):
        gate.check_unpacked(65_000, 68e6)
    monkeypatch.setenv("FLOWSIM_LIMITS", "memory=10MiB")
    with pytest.raises(ValueError, match=r"bomb\.npz cannot be read: its arrays need 68\.\d+ MiB"):
        read_table(tmp_path / "bomb.npz")


def test_an_index_of_a_cluster_is_below_the_number_of_samples(tmp_path):
    (tmp_path / "t.csv").write_text("a,cluster,y\n1,1000000000,1\n2,0,-1\n", encoding="utf-8")
    scenario = flowsim.loads('[data]\nkind = "table"\npath = "t.csv"\n', name="a.toml", folder=tmp_path)
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:3: data\.path: cluster has the index 1e\+09"):
        flowsim.build(scenario)


def test_a_comment_stays_where_keys_around_it_change():
    text = "# first\nseed = 1 # of all\n\n[data] # samples\ndimension = 6\nsamples = 8 # few\nnoise = { total = 0.1 }\n"
    after = edited(text, {"seed": 2, "data": {"samples": 8, "noise": {"total": 0.2}}, "model": {"width": 3}})
    expected = text.replace("seed = 1", "seed = 2").replace("dimension = 6\n", "").replace("0.1", "0.2")
    assert after == f"{expected}\n[model]\nwidth = 3\n"
