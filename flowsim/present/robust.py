"""The group `robustness` as curves over the radius, for plots, pages and text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..arrays import Floats

STRONG = "strong"


@dataclass(frozen=True)
class Curve:
    """accuracy (R,). weak: whether another attack on the same classifier is stronger."""

    classifier: str
    attack: str
    accuracy: Floats
    weak: bool = False

    @property
    def label(self) -> str:
        return f"{self.classifier}, {self.attack}"


@dataclass(frozen=True)
class Sandwich:
    """Between low (R,), which is certain, and high (R,), which the strongest attack leaves, lies the robust accuracy."""

    classifier: str
    low: Floats
    high: Floats

    @property
    def label(self) -> str:
        return f"{self.classifier}, certified to attacked"


@dataclass(frozen=True)
class Curves:
    """x, y: labels of the axes; radius (R,); classifiers: the network first."""

    x: str
    y: str
    radius: Floats
    classifiers: tuple[str, ...]
    curves: tuple[Curve, ...]
    bands: tuple[Sandwich, ...]


def curves(group: xr.Dataset) -> Curves:
    """The strongest attack on every classifier, the weaker ones on the first, and what is certified of any."""
    names = tuple(str(name) for name in group["classifier"].values)
    attacks = [str(name) for name in group["attack"].values]
    accuracy = group["robust_accuracy"].transpose("classifier", "attack", "radius").values
    found, bands = [], []
    for index, (name, values) in enumerate(zip(names, accuracy, strict=True)):
        strongest = values.min(axis=0)
        if index == 0:
            weaker = zip(attacks, values, strict=True)
            found += [Curve(name, attack, weak, True) for attack, weak in weaker if attack != _best(attacks)]
        found.append(Curve(name, _best(attacks), strongest))
        certified = group["certified_accuracy"].values[index] if "certified_accuracy" in group else np.array(np.nan)
        if (certified < strongest).any():  # of an exact radius there is nothing between; NaN where nothing is certified
            bands.append(Sandwich(name, certified, strongest))
    return Curves(
        str(group["radius"].attrs.get("long_name", "radius")),
        "robust accuracy",
        np.asarray(group["radius"].values, dtype=float),
        names,
        tuple(found),
        tuple(bands),
    )


def _best(attacks: list[str]) -> str:
    """What the strongest curve is called."""
    if STRONG in attacks or len(attacks) == 1:
        return STRONG if STRONG in attacks else attacks[0]
    return "best attack"


def median_radius(group: xr.Dataset) -> dict[str, float]:
    """classifier -> the radius at which the attacks have changed the class of half of the samples; inf where never"""
    medians = np.median(group["attacked_radius"].transpose("classifier", "test_sample").values, axis=1)
    return {str(name): float(value) for name, value in zip(group["classifier"].values, medians, strict=True)}
