"""What claims say of a sweep: exponents, each with an interval that has the prediction in it or excludes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from ..errors import UsageError
from .claim import Claim, Rate, selected
from .scaling import Scaling, scaling
from .verdicts import FAILS, HOLDS, NOT_COVERED, OUTSIDE, VERDICTS

#: Half of an interval, of an exponent, that is wider than this has too much in it to confirm anything.
WIDEST = 1.0
#: The origin of a constant that a sweep shows to be one, or not.
FITTED = "fitted"


@dataclass(frozen=True)
class FoundRate:
    """claim: its name. at: the other swept keys and their values, in words, "" where there are none. fit: None where there
    are too few points, which `note` says. outside: how many of the points are outside of the claim's premises."""

    claim: str
    rate: Rate
    at: str
    fit: Scaling | None
    note: str = ""
    outside: int = 0

    @property
    def verdict(self) -> str:
        """outside where some point is outside of the premises; holds where the interval has the prediction in it, or lies
        on the side that the paper allows; not_covered where that is so wide that it would have almost any in it"""
        if self.outside:
            return OUTSIDE
        if self.fit is None:
            return NOT_COVERED
        (low, high), predicted = self.fit.interval, self.rate.exponent
        allowed = {
            "": low <= predicted <= high,
            "at_least": high >= predicted,
            "at_most": low <= predicted,
        }
        if not allowed[self.rate.one_sided]:
            return FAILS
        wide = self.rate.law == "power" and (high - low) / 2 > WIDEST
        return NOT_COVERED if wide else HOLDS

    @property
    def label(self) -> str:
        of = self.rate.of or self.claim
        at = f" at {self.at}" if self.at else ""
        return f"{of} over {self.rate.over}{at}"


def rates(dataset: xr.Dataset, claims: Mapping[str, Claim], names: Iterable[str]) -> list[FoundRate]:
    """What the claims of these names say of the dataset of a sweep: their rates over keys that are swept, and, of each
    claim with a fitted constant, that the constant does not change with a key: the exponent 0."""
    found = []
    told = dataset["claim"].values if "claim" in dataset.dims else ()
    # what no point has anything to say to has no rates
    for name, claim in ((name, claim) for name, claim in selected(claims, names).items() if name in told):
        for rate in _rates_of(claim, _swept(dataset)):
            found += list(_found(dataset, name, rate))
    return found


def layout(found: Iterable[FoundRate]) -> dict[str, xr.DataArray]:
    """Variables along `rate`: the claim, the exponent predicted and found, its interval and the verdict."""
    rows = list(found)
    labels = np.array([row.label for row in rows], dtype=str)
    intervals = [(row.fit.slope, *row.fit.interval) if row.fit else (math.nan,) * 3 for row in rows]
    columns: dict[str, tuple[str, type, list[Any]]] = {
        "rate_claim": ("claim that speaks of the rate", str, [row.claim for row in rows]),
        "rate_predicted": ("exponent that the claim predicts", float, [row.rate.exponent for row in rows]),
        "rate_exponent": ("exponent found", float, [slope for slope, _, _ in intervals]),
        "rate_low": ("lower end of its 95 % interval", float, [low for _, low, _ in intervals]),
        "rate_high": ("upper end of its 95 % interval", float, [high for _, _, high in intervals]),
        "rate_verdict": ("holds, fails, not_covered or outside", str, [row.verdict for row in rows]),
        "rate_note": ("why no exponent was found, or how many points are outside", str, [row.note for row in rows]),
    }
    coordinates = {"rate": ("rate", labels, {"long_name": "rate", "units": "1"})}
    return {
        name: xr.DataArray(
            np.array(values, dtype=kind), coordinates, ("rate",), name, {"long_name": long_name, "units": "1"}
        )
        for name, (long_name, kind, values) in columns.items()
    }


def _swept(dataset: xr.Dataset) -> tuple[str, ...]:
    """The swept keys whose values are numbers, the seed left out"""
    keys = str(dataset.attrs.get("sweep_keys", "")).splitlines()
    numbers = [key for key in keys if key in dataset.coords and dataset[key].dtype.kind in "iuf" and dataset[key].dims]
    return tuple(key for key in numbers if key != "seed" and len(np.unique(dataset[key].values)) > 1)


def _rates_of(claim: Claim, swept: tuple[str, ...]) -> Iterator[Rate]:
    said = [rate for rate in claim.rates if rate.over in swept]
    yield from said
    if any(constant.origin == FITTED and constant.value is None for constant in claim.constants):
        known = {rate.over for rate in said if not rate.of}
        # keys that go side by side move together: one of them stands for all
        first = [key for key in swept if key not in known][:1] if not known else []
        yield from (Rate(key, 0.0) for key in first)


def _found(dataset: xr.Dataset, name: str, rate: Rate) -> Iterator[FoundRate]:
    """For each place of the other dimensions of the sweep, the seed left out"""
    keys = str(dataset.attrs.get("sweep_keys", "")).splitlines()
    own = dataset[rate.over].dims
    others = [key for key in keys if key in dataset.dims and key != "seed" and dataset[key].dims != own]
    for places in product(*(range(dataset.sizes[key]) for key in others)):
        chosen = dict(zip(others, places, strict=True))
        part = dataset.isel(chosen)
        at = ", ".join(f"{key} = {part[key].values}" for key in others)
        outside = _outside(part, name)
        points = "1 point is" if outside == 1 else f"{outside} points are"
        note = f"{points} outside of the premises" if outside else ""
        try:
            fit = scaling(part, rate.of or name, rate.over, rate.law, expected=rate.exponent)
            yield FoundRate(name, rate, at, fit, note, outside)
        except UsageError as reason:
            yield FoundRate(name, rate, at, None, note or str(reason), outside)


def _outside(dataset: xr.Dataset, name: str) -> int:
    """How many points are outside of a claim's premises"""
    if "claim_verdict" not in dataset or name not in dataset["claim"].values:
        return 0
    return int((dataset["claim_verdict"].sel(claim=name) == [*VERDICTS].index(OUTSIDE)).sum())
