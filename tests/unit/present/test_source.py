"""What is drawn: quantiles, thinned clocks, members of ensembles, and answers to what is missing."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import flowsim
from flowsim.present.plots import margins
from flowsim.present.source import MAX_INSTANTS, SHARES, Source
from flowsim.present.summary import quantiles


@given(
    arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 9)), elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
)
def test_the_spread_is_numpy_s_quantiles_of_what_is_there(values):
    values[:, 0] = np.nan_to_num(values[:, 0])
    expected = np.nanquantile(values, SHARES, axis=1)
    rounding = np.finfo(float).tiny + 1e-9 * np.nanmax(np.abs(values))
    np.testing.assert_allclose(quantiles(values, SHARES), expected, atol=rounding)


def test_where_nothing_is_there_the_spread_is_nan():
    assert np.isnan(quantiles(np.full((2, 3), np.nan), SHARES)).all()


@given(st.integers(1, 3000))
def test_the_clock_has_both_ends_and_never_too_many_instants(kept):
    source = Source(xr.Dataset(coords={"time": np.arange(float(kept))}))
    index = source.clock.index
    assert len(index) == min(kept, MAX_INSTANTS)
    assert (index[0], index[-1]) == (0, kept - 1)
    assert (np.diff(index) > 0).all()


def test_descent_is_drawn_over_its_iterations():
    time = ("time", [0.0, 0.5, 1.0])
    run = xr.Dataset(
        coords={"time": time, "iteration": ("time", [0, 5, 10], {"long_name": "iteration of descent; and so on"})}
    )
    source = Source(run)
    assert source.clock.label == "iteration of descent"
    assert source.clock.values.tolist() == [0, 5, 10]
    assert source.on_clock(0.75) == 7.5


def test_units_are_named_unless_there_are_none():
    run = xr.Dataset({"a": ("time", [1.0], {"long_name": "size", "units": "m"}), "b": ("time", [1.0], {"units": "1"})})
    assert (Source(run).label("a"), Source(run).label("b")) == ("size (m)", "b")


def test_kept_quantiles_give_the_bands_that_the_samples_give(small):
    """Where every cluster's quantiles are those of all, extremes and their means over clusters are those of all, too."""
    values = np.linspace(-1.0, 2.0, 41)[None, :] * np.arange(1.0, 4.0)[:, None]
    shares = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    kept = np.quantile(values, shares, axis=1).T[:, None].repeat(2, axis=1)
    clock = {"time": [0.0, 1.0, 2.0]}
    samples = xr.Dataset({"margin": (("time", "sample"), values)}, clock)
    summary = xr.Dataset({"margin_quantile": (("time", "cluster", "quantile"), kept)}, {**clock, "quantile": [*shares]})
    exact, found = (margins.series(Source(run)).bands[0].quantiles for run in (samples, summary))
    np.testing.assert_allclose(found, exact)


def test_what_was_not_kept_is_named_with_the_key_that_keeps_it(small):
    run = flowsim.run(small(observe__variables=["loss"], observe__snapshots="none")).to_dataset()
    with pytest.raises(flowsim.UsageError, match=r"needs cosine, which was not kept; add it to observe\.variables"):
        run.flow.plot.alignment()
    with pytest.raises(flowsim.UsageError, match=r"needs direction, which was not kept; observe\.snapshots"):
        run.flow.plot.boundary()


def test_a_dataset_from_a_file_finds_its_groups_and_one_from_memory_says_what_it_lacks(result):
    with xr.open_dataset(result) as run:
        assert run.flow.plot.steps(interactive=False).get_yscale() == "log"
        with pytest.raises(flowsim.UsageError, match="needs the group numerics"):
            run.load().drop_encoding().flow.plot.steps()


def test_groups_are_of_the_members_and_instants_that_are_looked_at(small, tmp_path):
    file = tmp_path / "ensemble.nc"
    flowsim.run(small(seed=[2, 7]), file)
    with flowsim.open(file) as tree, xr.open_dataset(file) as run:
        expected = tree["numerics/steps"].values[1]
        assert Source.of(tree).group("numerics").sizes["seed"] == 2
        for source in (Source.of(tree).member(7), Source(run).member(7), Source(run.sel(seed=7))):
            np.testing.assert_array_equal(source.group("numerics")["steps"], expected)
        part = Source(run.sel(seed=7).isel(time=slice(3, 6)))
        np.testing.assert_array_equal(part.group("numerics")["steps"], expected[3:6])


def test_what_was_given_in_memory_is_drawn_from_what_the_result_holds():
    x = np.array([[1.0, 0.2], [0.5, 1.0], [-1.0, -0.2], [-0.5, -1.0]])
    start = flowsim.Weights(0.1 * np.array([[1.0, 0.5], [-0.3, 1.0]]), 0.1 * np.array([1.2, -1.1]))
    asked = {"model": {"activation": "tanh"}, "flow": {"until": {"time": 1.0}}, "observe": {"times": 3}}
    run = flowsim.run(asked, data=flowsim.Data(x, [1, 1, -1, -1]), init=start)
    axes = run.flow.plot.boundary(interactive=False)
    drawn = {tuple(point) for line in axes.lines for point in line.get_xydata().tolist()}
    assert {tuple(point) for point in x.tolist()} <= drawn
