"""flowsim run --certify, and what shows its errors."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr


def test_a_certified_run_says_how_wrong_it_is(flowsim):
    answer = flowsim("run", "a.toml", "--certify", "--json")
    assert answer.code == 0
    told = json.loads(answer.out)["error"]
    assert told["rtol"] == [1e-6]
    assert told["companion_rtol"] == [2.5e-7]
    assert 1.5 < told["cost"] < 2.6
    assert 0 < told["worst"]["log_norm"] < 1e-4
    shown = flowsim("show", "a.nc").out
    assert "companion at rtol 2.5e-07" in shown
    assert "log_norm" in shown.partition("error  ")[2]
    assert "error" not in json.loads(flowsim("run", "a.toml", "-o", "plain.nc", "--json").out)
    assert "companion run at rtol 2.5e-07" in flowsim("check", "a.toml", "--set", "flow.certify=true").out


def test_a_certified_run_that_used_up_its_steps_goes_on(flowsim):
    assert flowsim("run", "a.toml", "-o", "whole.nc", "--certify").code == 0
    assert flowsim("run", "a.toml", "--certify", "--set", "flow.until.steps=6").code == 3
    with xr.open_datatree("a.nc") as cut:
        assert "error" not in cut.children
    assert flowsim("run", "a.toml", "--certify", "--resume").code == 0
    with xr.open_datatree("a.nc") as one, xr.open_datatree("whole.nc") as other:
        for name, error in one["error"].data_vars.items():
            np.testing.assert_array_equal(error.values, other["error"][name].values, err_msg=str(name))


def test_descent_is_not_certified(flowsim):
    keys = ['flow.method="gradient_descent"', "flow.step=0.1", "flow.iterations=3"]
    answer = flowsim("run", "a.toml", "--certify", *(word for key in keys for word in ("--set", key)))
    assert answer.code == 2
    assert "only the error of a flow is estimated" in answer.err
