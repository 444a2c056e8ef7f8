"""Exponents of sweeps beside those that claims predict."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from flowsim import Constant, Rate
from flowsim.evaluate.claim import Claim
from flowsim.evaluate.rates import layout, rates
from flowsim.evaluate.verdicts import VERDICTS

NOISE = np.geomspace(0.05, 0.4, 6)


def claim(*, fitted: bool = False, **rate: object) -> Claim:
    constants = (Constant("C", None, "fitted"),) if fitted else ()
    said = (Rate("data.noise.total", **rate),) if rate else ()
    return Claim("p. 1", "loss is O(noise^2)", lambda evidence: 0.0, 1.0, constants=constants, rates=said)


def dataset(exponent: float, widths: tuple[int, ...] = (), points: int = 6) -> xr.Dataset:
    """Of a sweep over the noise, and over widths, where the loss goes like a power but for 1 % from seed to seed"""
    dims = {"data.noise.total": points} | ({"model.width": len(widths)} if widths else {})
    loss = NOISE[:points].reshape(-1, *[1] * len(dims)) ** exponent * np.array([0.99, 1.0, 1.01])
    loss = np.broadcast_to(loss, (*dims.values(), 3))
    coords = {"data.noise.total": NOISE[:points], "seed": [0, 1, 2], "claim": ["a.b"]}
    coords |= {"model.width": list(widths)} if widths else {}
    variables = {"final_loss": ((*dims, "seed"), loss), "claim_measured": ((*dims, "seed", "claim"), loss[..., None])}
    return xr.Dataset(variables, coords, {"sweep_keys": "\n".join([*dims, "seed"])})


@pytest.mark.parametrize(
    ("predicted", "side", "verdict"),
    [
        (2.0, "", "holds"),
        (1.8, "", "fails"),
        (2.2, "", "fails"),
        (1.8, "at_least", "holds"),
        (2.2, "at_least", "fails"),
        (2.2, "at_most", "holds"),
        (1.8, "at_most", "fails"),
    ],
)
def test_an_interval_that_excludes_the_prediction_says_so(predicted, side, verdict):
    said = claim(exponent=predicted, of="final_loss", one_sided=side)
    (found,) = rates(dataset(2.0), {"a.b": said}, ["a"])
    assert found.fit.slope == pytest.approx(2)
    assert found.verdict == verdict
    table = layout([found])
    assert table["rate_verdict"].values.tolist() == [verdict]
    assert table["rate_low"] < table["rate_exponent"] < table["rate_high"]


def test_a_fitted_constant_is_to_be_one():
    """What is measured may not change with the size."""
    for exponent, verdict in ((0.0, "holds"), (0.3, "fails")):
        (found,) = rates(dataset(exponent), {"a.b": claim(fitted=True)}, ["a.b"])
        assert (found.rate.exponent, found.verdict) == (0.0, verdict)


def test_a_rate_is_outside_where_some_of_its_points_are():
    swept = dataset(2.0)
    verdict = xr.zeros_like(swept["claim_measured"])
    inside = rates(swept.assign(claim_verdict=verdict), {"a.b": claim(exponent=2.0)}, ["a"])
    verdict[0, 0] = [*VERDICTS].index("outside")
    (found,) = rates(swept.assign(claim_verdict=verdict), {"a.b": claim(exponent=2.0)}, ["a"])
    assert [inside[0].verdict, found.verdict] == ["holds", "outside"]
    assert found.note == "1 point is outside of the premises"
    assert found.fit is not None


def test_other_keys_are_told_apart():
    found = rates(dataset(2.0, widths=(4, 8)), {"a.b": claim(exponent=2.0)}, ["a"])
    assert [row.label for row in found] == [
        "a.b over data.noise.total at model.width = 4",
        "a.b over data.noise.total at model.width = 8",
    ]
    assert {row.verdict for row in found} == {"holds"}


def test_two_places_give_no_interval_and_other_keys_no_rate():
    small = dataset(2.0, points=2).isel(seed=[0])
    (found,) = rates(small, {"a.b": claim(exponent=2.0)}, ["a"])
    assert (found.verdict, found.fit) == ("not_covered", None)
    assert "three points" in found.note
    assert np.isnan(layout([found])["rate_exponent"][0])
    assert rates(dataset(2.0), {"a.b": claim()}, ["a"]) == []
    assert layout([])["rate_verdict"].sizes == {"rate": 0}


def test_a_claim_that_no_point_is_about_has_no_rates():
    claims = {"a.b": claim(exponent=2.0), "a.c": claim(exponent=2.0)}
    assert [row.claim for row in rates(dataset(2.0), claims, ["a"])] == ["a.b"]


@pytest.mark.parametrize(("spread", "verdict"), [(0.2, "holds"), (3.0, "not_covered")])
def test_an_interval_that_has_almost_any_exponent_in_it_confirms_none(spread, verdict):
    swept = dataset(0.0).isel(seed=[0])
    noise = np.exp(spread * np.array([1.0, -1.0, -1.0, 1.0, -1.0, 1.0]))[:, None]
    (found,) = rates(
        swept.assign(final_loss=swept["final_loss"] * noise), {"a.b": claim(exponent=0.0, of="final_loss")}, ["a"]
    )
    low, high = found.fit.interval
    assert low < 0 < high
    assert ((high - low) / 2 > 1, found.verdict) == (verdict == "not_covered", verdict)
