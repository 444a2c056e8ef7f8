"""Polynomials: what they are, and that none is robust where a decoder is (Allen-Zhu & Li 2022, Corollary 5.7)."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim

TEXT = """
[data]
kind = "sparse_coding"
dimension = 10
sparsity = 5.0
basis = "axes"
noise = { total = 0.0 }
label_weights = [0.9, 1.1]
samples = 200
[model]
kind = "polynomial"
degree = 3
width = 4
[init]
scale = 0.1
[loss]
kind = "logistic"
[[stage]]
name = "clean"
method = "gradient_descent"
step = 0.5
iterations = 40
[observe]
times = 2
variables = ["loss", "accuracy"]
[evaluate]
claims = ["allen_zhu_li_2022.corollary_5_7", "allen_zhu_li_2022.theorem_5_6"]
"""


@pytest.fixture(scope="module")
def run():
    return flowsim.run(flowsim.loads(TEXT))


def test_it_is_a_polynomial_of_its_degree(run):
    """Along any line, differences of one order more than the degree are 0."""
    rng = np.random.default_rng(0)
    with flowsim.reopen(run) as case:
        network = case.network
        start, step = rng.standard_normal((2, 10))
        values = network(start + np.arange(6)[:, None] * step)
    differences = np.diff(values, 4)
    assert np.abs(differences).max() < 1e-9 * np.abs(np.diff(values, 3)).max()
    assert np.abs(np.diff(values, 3)).max() > 1e-6


def test_it_learns_and_is_lost_where_decoding_withstands(run):
    claims = run["claims"].to_dataset()
    name = "allen_zhu_li_2022.corollary_5_7"
    assert claims["verdict"].sel(claim=name).item() == "holds"
    assert claims["measured"].sel(claim="allen_zhu_li_2022.theorem_5_6.clean_error").item() < 0.1
    assert claims["verdict"].sel(claim="allen_zhu_li_2022.theorem_5_6.robust_error").item() == "not_applicable"
