"""Attacks on classifiers. An attack is one module here and one line in ATTACKS."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ....arrays import Floats
from . import fgm, minimal, pgd, targeted, universal
from .options import Options
from .target import Found, Target

#: evaluate.robustness.attacks -> function of the samples, the radii in increasing order, and options
ATTACKS: dict[str, Callable[[Target, Floats, Options], Found]] = {
    "fgm": fgm.attack,
    "pgd": pgd.attack,
    "universal": universal.attack,
    "targeted": targeted.attack,
    "minimal": minimal.attack,
}
STRONG = "strong"

__all__ = ["ATTACKS", "STRONG", "Found", "Options", "Target", "attacked"]


def attacked(
    target: Target,
    radii: Floats,
    names: Iterable[str],
    options: Options | None = None,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Found]:
    """What each attack finds; "strong", which runs all of them, is the best of all, refined.

    radii (R,): in increasing order. progress: called with the name of each attack as it begins.
    """
    chosen, options = tuple(names), options or Options()
    found = {}
    for name in ATTACKS if STRONG in chosen else chosen:
        if progress is not None:
            progress(name)
        found[name] = ATTACKS[name](target, radii, options)
    if STRONG in chosen:
        found[STRONG] = _strongest(target, radii, list(found.values()))
    return {name: found[name] for name in chosen}


def _strongest(target: Target, radii: Floats, all_found: list[Found]) -> Found:
    starts = [target.shortened(found.closest) for found in all_found]
    best = minimal.refined(target, radii, starts)
    for found in all_found:
        best.withstands &= found.withstands
        best.take(slice(None), found.closest, found.size)
    return best
