"""Every key of a TOML text has a line, however it is written."""

from __future__ import annotations

import pytest

import flowsim
from flowsim.scenario.places import locate
from flowsim.scenario.source import Source

TEXT = """\
title = "x"            # 1
data.dimension = 3     # 2
data.noise = { total = 0.1, "per coordinate" = [1, { deep = 2 }] }   # 3
"quoted key".'literal' = 1   # 4

[flow]                 # 6
until.time = 1         # 7
until.loss = 2         # 8
times = [              # 9
  # a comment is no element
  1,                   # 11
  [2,                  # 12
   3],                 # 13
]

[[stage]]              # 16
name = "a"             # 17
[[stage]]              # 18
name = "b"             # 19
[stage.attack]         # 20
kind = "fgm"           # 21
[[stage.step]]         # 22
size = 1               # 23
[[stage.step]]         # 24
[[stage]]              # 25
[[stage.step]]         # 26
[a.b."c.d"]            # 27
e = 1                  # 28
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("data",), 2),
        (("data", "dimension"), 2),
        (("data", "noise", "total"), 3),
        (("data", "noise", "per coordinate", 0), 3),
        (("data", "noise", "per coordinate", 1, "deep"), 3),
        (("quoted key", "literal"), 4),
        (("flow",), 6),
        (("flow", "until"), 7),
        (("flow", "until", "time"), 7),
        (("flow", "until", "loss"), 8),
        (("flow", "times"), 9),
        (("flow", "times", 0), 11),
        (("flow", "times", 1), 12),
        (("flow", "times", 1, 1), 13),
        (("stage",), 16),
        (("stage", 0, "name"), 17),
        (("stage", 1), 18),
        (("stage", 1, "name"), 19),
        (("stage", 1, "attack"), 20),
        (("stage", 1, "attack", "kind"), 21),
        (("stage", 1, "step", 0, "size"), 23),
        (("stage", 1, "step", 1), 24),
        (("stage", 2), 25),
        (("stage", 2, "step", 0), 26),
        (("a", "b"), 27),
        (("a", "b", "c.d", "e"), 28),
    ],
)
def test_a_key_is_found_on_its_line(path, line):
    assert locate(TEXT)[path] == line


def test_a_sweep_of_a_thousand_points_has_a_line_for_each():
    """tree-sitter 0.26.0 ended the interpreter on 250 of them."""
    points = "".join(f'  {{ seed = {seed}, "data.noise.total" = 0.1 }},\n' for seed in range(1000))
    scenario = flowsim.loads(f"[sweep]\npoints = [\n{points}]\n", name="a.toml")
    assert scenario.source.place(("sweep", "points", 999, "seed")) == "a.toml:1002"


def test_line_ends_of_windows_and_letters_beyond_ascii_count_as_others():
    assert locate('title = "αβγ"\r\n[data]\r\n"größe" = 1\r\n') == {
        ("title",): 1,
        ("data",): 2,
        ("data", "größe"): 3,
    }


def test_a_key_that_is_not_written_is_placed_at_the_closest_table_around_it():
    source = Source("[data]\n\n[data.noise]\n", "a.toml", lines=locate("[data]\n\n[data.noise]\n"))
    assert source.place(("data", "noise", "total")) == "a.toml:3"
    assert source.place(("data", "samples")) == "a.toml:1"
    assert source.place(("model", "width")) == "a.toml:1"


def test_text_without_a_name_has_no_place():
    assert Source("seed = 1", lines={("seed",): 1}).place(("seed",)) == ""
