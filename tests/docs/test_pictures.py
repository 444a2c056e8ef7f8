"""The scripts that make the pictures of the pages, on small runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.scripts import DOCS, script

import flowsim

pytestmark = [
    pytest.mark.skipif(not DOCS.is_dir(), reason="a source distribution comes without the docs"),
    pytest.mark.slow,
]

CLUSTERS = """
title = "a small one: pReLU"
[data]
dimension = 12
positive = 2
negative = 1
samples = 30
noise = { total = 0.05 }
[model]
width = 12
[init]
scale = 1e-4
shape = "nudged"
nudge = 0.35
toward = "own"
[loss]
reduction = "per_cluster"
[flow]
until = { time = 15.0 }
[observe]
times = 31
snapshots = 6
[evaluate]
distance = { to = "ideal", over_time = true }
robustness = { radii = [0.0, 0.2, 0.45, 0.6, 0.8], attacks = ["pgd", "strong"], samples = 60, compare = ["bayes"] }
"""
STAGES = """
[data]
kind = "sparse_coding"
dimension = 12
sparsity = 2.0
samples = 40
[model]
kind = "symmetric_relu"
width = 14
threshold = 0.02
[init]
scale = 0.02
[loss]
kind = "logistic"
[[stage]]
name = "clean"
method = "sgd"
step = 1.0
batch = 40
fresh = true
iterations = 60
[[stage]]
name = "adversarial"
method = "sgd"
step = 1.0
batch = 40
fresh = true
iterations = 40
attack = { kind = "fgm", norm = "l2", radius = 0.1 }
[observe]
times = 6
variables = ["log_norm", "loss", "pure_part", "dense_mixture"]
[evaluate]
robustness = { radii = [0.0, 0.1], attacks = ["pgd"], samples = 20, steps = 5 }
"""

MODES = """
[data]
kind = "linear_teacher"
dimension = 3
outputs = 2
strengths = [2.0, 1.0]
samples = 6
[model]
kind = "deep_linear"
[init]
shape = "aligned"
[loss]
kind = "square"
[flow]
until = { time = 5.0 }
[observe]
times = 6
snapshots = "all"
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pictures")

    def run(text: str) -> Path:
        file = folder / f"{len(text)}.nc"
        if not file.exists():
            flowsim.run(flowsim.loads(text), file)
        return file

    return run


def test_between_the_radii_the_curve_of_the_strong_attack_is_that_of_the_samples_own_radii(result):
    file = result(CLUSTERS)
    with flowsim.open(file) as tree:
        group = tree["robustness"].to_dataset(inherit=False).load()
    found = script("picture_robustness").curves(str(file), "strong")
    assert [*found] == ["pReLU", "Bayes' rule"]
    for (radius, accuracy, _), name in zip(found.values(), group["classifier"].values, strict=True):
        told = group["robust_accuracy"].sel(classifier=name, attack="strong").values
        # a step: the last of the values at a radius is that beyond it
        drawn = [accuracy[np.flatnonzero(radius <= at)[-1]] for at in group["radius"].values]
        np.testing.assert_allclose(drawn, told, atol=1e-12)
        assert (np.diff(accuracy) <= 0).all()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("picture_robustness", CLUSTERS, ["--panel", "weak", "pgd", "{}", "--panel", "strong", "strong", "{}"]),
        ("picture_min_vidal_2025_fig4", CLUSTERS, ["{}"]),
        ("picture_deep_linear", MODES, ["{}"]),
        ("picture_allen_zhu_li_2022", STAGES, ["{}", "--radii", "0.0", "0.1"]),
    ],
)
def test_a_script_draws_a_picture(result, tmp_path, monkeypatch, name, text, words):
    plt = pytest.importorskip("matplotlib.pyplot")
    file, output = str(result(text)), tmp_path / "a.png"
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *(word.format(file) for word in words), "-o", str(output)])
    with plt.rc_context():
        script(name).main()
    plt.close("all")
    assert output.read_bytes().startswith(b"\x89PNG")
