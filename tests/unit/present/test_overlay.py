"""Several runs on one axis: whose lines they are, on which clock, and what is not drawn so."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from support.made import made, on_loss_clock

import flowsim
from flowsim.present.overlay import overlay
from flowsim.present.run import Run
from flowsim.present.style import PALETTE

pytest.importorskip("matplotlib")


@pytest.fixture
def runs() -> list[Run]:
    return [Run.of("a.nc", made()), Run.of("b.nc", made(seed=1, neurons=4, clusters=2, instants=7))]


def test_each_run_has_a_line_of_its_colour_at_its_own_instants(runs):
    axes = overlay(runs, "alignment", interactive=False)
    assert [line.get_label() for line in axes.lines] == ["a.nc", "b.nc"]
    assert [line.get_color() for line in axes.lines] == list(PALETTE[:2])
    for line, run in zip(axes.lines, runs, strict=True):
        x, y = line.get_data()
        np.testing.assert_array_equal(x, run.trajectory["time"])
        np.testing.assert_allclose(y, run.trajectory["cosine"].max("cluster").median("neuron"), rtol=1e-12)


def test_the_clock_is_that_which_is_chosen_and_a_flow_on_the_loss_clock_brings_its_own(runs):
    axes = overlay(runs, "norms", clock="log_loss", interactive=False)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), made()["log10_loss"], rtol=1e-12)
    assert axes.xaxis_inverted()
    parts = overlay(runs, "norms", clock="progress", interactive=False)
    assert [label.get_text() for label in parts.get_xticklabels()][1:3] == ["alignment", "growth"]
    far = overlay([runs[0], Run.of("far.nc", on_loss_clock())], "loss", interactive=False)
    assert far.get_xlabel() == "log10 of flow time"


def robust(radius: str) -> Run:
    accuracy = np.array([[[1.0, 0.6]]])
    group = xr.Dataset(
        {
            "robust_accuracy": (("classifier", "attack", "radius"), accuracy),
            "attacked_radius": (("classifier", "test_sample"), [[0.1]]),
        },
        {"classifier": ["network"], "attack": ["strong"], "radius": ("radius", [0.0, 1.0], {"long_name": radius})},
    )
    return Run.of(f"{radius}.nc", xr.DataTree.from_dict({"/": made().to_dataset(), "/robustness": group}))


def test_robust_accuracies_lie_over_radii_of_one_kind():
    axes = overlay([robust("l2 radius")] * 2, "robustness", interactive=False)
    assert axes.get_xlabel() == "l2 radius"
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), [1.0, 0.6])
    with pytest.raises(flowsim.UsageError, match="radii of different kinds"):
        overlay([robust("l2 radius"), robust("linf radius")], "robustness", interactive=False)


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("cosines", {}, "cosines: is drawn of one run at a time"),
        ("kkt", {}, "a.nc: kkt: it needs the group kkt"),
        ("loss", {"clock": "los"}, 'no clock is called "los"'),
        ("loss", {"at": 3.0}, "loss: takes no at"),
    ],
)
def test_what_cannot_be_overlaid_is_answered(runs, kind, options, said):
    with pytest.raises(flowsim.UsageError, match=said):
        overlay(runs, kind, interactive=False, **options)
