"""The spread over samples, from these themselves or from the quantiles that were kept in their place."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...observe import QUANTILE_SUFFIX
from ..source import SHARES, Band, Source, pooled


def bands_of_samples(source: Source, name: str, size: bool = False) -> tuple[str, tuple[Band, ...]]:
    """(what it is of, bands) of a variable over samples; size: of its absolute value, zeros left out."""
    summary = name + QUANTILE_SUFFIX
    if source.has(summary) and not source.has(name):
        return source.label(summary), (_of_quantiles(source, summary, size),)
    values, errors = _sized(source.over_time(name, "sample"), size), source.errors_over_time(name, "sample")
    if not source.has("clean_label"):
        known = None if errors is None else pooled(errors)
        return source.label(name), (Band.of("all samples", pooled(values), errors=known),)
    flipped = np.broadcast_to(
        source.known("clean_label", "sample") != source.known("label", "sample"), values.shape[1:]
    )
    kinds = {"clean labels": ~flipped, "flipped labels": flipped}
    return source.label(name), tuple(
        Band.of(f"{kind} ({int(mask.sum())})", values[:, mask], errors=None if errors is None else errors[:, mask])
        for kind, mask in kinds.items()
        if mask.any()
    )


def _of_quantiles(source: Source, summary: str, size: bool) -> Band:
    """Extremes over all clusters, and the mean over the clusters of each other quantile."""
    shares = source.trajectory["quantile"].values
    dims = ("cluster", "quantile") if "cluster" in source.trajectory[summary].dims else ("quantile",)
    kept = _sized(source.over_time(summary, *dims), size)
    values = np.sort(kept.reshape(len(kept), -1, len(shares)), axis=-1)
    low, *inner, high = (values[..., int(np.abs(shares - share).argmin())] for share in SHARES)
    means = [np.nanmean(quantile, axis=1) for quantile in inner]
    rows = np.array([np.nanmin(low, axis=1), *means, np.nanmax(high, axis=1)])
    return Band("all samples; inner quantiles are means over clusters", rows, count=len(shares))


def _sized(values: Floats, size: bool) -> Floats:
    return np.where(values == 0, np.nan, np.abs(values)) if size else values
