"""Robust accuracy over the radius of the perturbations, as numbers."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from ..robust import curves, median_radius
from ..run import Run, number
from .curves import Figure

#: Of the attacks that are weaker than the strongest.
DASHES = ("dot", "dash", "dashdot", "longdash")


def over_radius(run: Run) -> Figure | None:
    """None where the file has no group `robustness`."""
    if "robustness" not in run.groups:
        return None
    group = run.group("robustness")
    found = curves(group)
    tones = {name: index for index, name in enumerate(found.classifiers)}
    drawn: list[dict[str, Any]] = [
        {"name": band.label, "low": band.low, "high": band.high, "tone": tones[band.classifier]} for band in found.bands
    ]
    dashes = cycle(DASHES)
    drawn += [
        {
            "name": curve.label,
            "y": curve.accuracy,
            "tone": tones[curve.classifier],
            "dash": next(dashes) if curve.weak else "solid",
        }
        for curve in found.curves
    ]
    said = [
        f"{curve.label}: from {number(curve.accuracy[0])} to {number(curve.accuracy[-1])}." for curve in found.curves
    ]
    said += [f"{name}: half of the samples lost at {number(size)}." for name, size in median_radius(group).items()]
    caption = "The robust accuracy lies between what is certified and what the strongest attack leaves."
    return Figure(
        key="robustness",
        title="Robust accuracy",
        x=found.x,
        y=found.y,
        at=found.radius,
        curves=drawn,
        said=" ".join(said),
        caption=caption if found.bands else "",
    )
