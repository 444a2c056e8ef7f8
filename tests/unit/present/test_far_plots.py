"""Plots of flows on the loss clock, to times that are no floats any more."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.evaluate.spans import spans
from flowsim.present.kinds import plot
from flowsim.present.plots import cosines
from flowsim.present.source import Source


@pytest.fixture(scope="module")
def far() -> xr.DataTree:
    """On the loss clock, to times that are no floats any more."""
    text = "[data]\ndimension=20\npositive=2\nnegative=2\nsamples=40\n[model]\nwidth=12\n[loss]\nkind='exponential'\n"
    text += "[flow]\nrtol=1e-4\nuntil={log10_loss=-800.0}\n[observe]\ntimes=20\nspacing='log'"
    return flowsim.run(flowsim.loads(text))


@pytest.mark.parametrize("kind", ["kkt", "loss", "norms", "alignment", "steps"])
def test_a_flow_on_the_loss_clock_is_drawn_over_the_logarithm_of_its_time(draw, far, kind):
    assert np.isinf(far["time"].values).sum() > 5
    axes = draw(far, kind)
    assert axes.get_xlabel() == "log10 of flow time"
    assert axes.get_xlim()[1] == far["log10_time"][-1]
    drawn = axes.get_lines()[0].get_xydata()
    assert np.isfinite(drawn).all(axis=1).sum() > 10


def test_on_the_loss_clock_an_instant_is_named_and_chosen_by_the_logarithm_of_its_time(draw, far):
    last = f"log10 of flow time {float(far['log10_time'][-1]):.6g}"
    assert draw(far, "cosines").get_title() == last
    place = int(np.isinf(far["time"].values).argmax())
    assert place
    chosen = cosines.series(Source.of(far), at=float(far["log10_time"][place]))
    np.testing.assert_array_equal(chosen.cosine, far["cosine"].values[place][chosen.neuron])


def test_on_the_loss_clock_parts_and_phases_are_told_apart_where_time_is_no_float(far):
    found = flowsim.evaluate.phases(far.to_dataset())
    positive = np.isfinite(found["instant"].values) & (found["instant"].values > 0)
    np.testing.assert_allclose(
        found["log10_instant"].values[positive], np.log10(found["instant"].values[positive]), atol=1e-9
    )
    reached = found["log10_instant"].values[~np.isnan(found["instant"].values)]
    assert np.isin(reached, far["log10_time"].values).all()
    parts = spans(far.to_dataset(), logarithms=True)
    assert parts[-1].end == far["log10_time"][-1]
    assert all(one.end == other.begin for one, other in pairwise(parts))
    late = far.to_dataset().flow.phase(parts[-1].name)
    assert late["log10_time"].values[0] == parts[-1].begin
    assert late["log10_time"].values[-1] == parts[-1].end


def test_a_boundary_on_the_loss_clock_is_at_the_snapshot_nearest_to_the_logarithm(draw):
    text = "[data]\ndimension=2\npositive=1\nnegative=1\nsamples=20\n[model]\nwidth=6\n[loss]\nkind='exponential'\n"
    text += "[flow]\nrtol=1e-4\nuntil={log10_loss=-600.0}\n[observe]\ntimes=20\nsnapshots=20\n"
    run = flowsim.run(flowsim.loads(text))
    assert run.attrs["status"] == "done"
    for place in (5, -1):
        wanted = float(run["snapshot_log10_time"][place])
        assert draw(run, "boundary", at=wanted).get_title() == f"log10 of flow time {wanted:.6g}"


def test_loss_derivatives_that_all_underflow_are_not_drawn(far):
    root = far.to_dataset()
    root["loss_derivative"] = root["loss_derivative"] * (root["time"] == 0)
    with pytest.raises(flowsim.UsageError, match="all of them underflow"):
        plot(root, "loss_derivatives", interactive=False)
