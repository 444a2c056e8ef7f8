"""flowsim transfer"""

from __future__ import annotations

import argparse
from typing import Any

from .common import add_json, finite, print_json, put

COLUMNS = ("attacked_accuracy", "transferred_accuracy", "random_accuracy", "transfer_rate")
#: Column widths of the page of text.
FIRST, OTHERS = 8, 22


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A.nc", help="a result of flowsim run, whose network is attacked")
    parser.add_argument("b", metavar="B.nc", help="another one, which sees the moved samples as well")
    parser.add_argument("--radii", type=float, nargs="+", required=True, metavar="R", help="sizes of perturbations")
    parser.add_argument(
        "--attacks", nargs="+", default=["fgm", "pgd"], metavar="NAME", help="fgm, pgd or both (default)"
    )
    parser.add_argument("--norm", default="l2", help="l2 (default) or linf")
    parser.add_argument("--samples", type=int, default=1000, help="fresh test samples (default: %(default)s)")
    parser.add_argument(
        "--at", type=int, default=-1, help="which of the kept weights of A, from 0 on (default: the last)"
    )
    parser.add_argument("--onto", type=int, default=-1, help="which of those of B (default: the last)")
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    from ..evaluate.robustness import transfer

    names = ("attacks", "norm", "samples", "at", "onto")
    found = transfer(options.a, options.b, options.radii, **{name: getattr(options, name) for name in names})
    if options.json:
        print_json({"a": options.a, "b": options.b, "norm": options.norm, "rows": _rows(found)})
    else:
        put(f"{'attack':<{FIRST}}{'radius':>{FIRST}}" + "".join(f"{name:>{OTHERS}}" for name in COLUMNS))
        for row in _rows(found):
            numbers = "".join(f"{'' if row[name] is None else f'{row[name]:.3f}':>{OTHERS}}" for name in COLUMNS)
            put(f"{row['attack']:<{FIRST}}{row['radius']:>{FIRST}g}{numbers}")
    return 0


def _rows(found: Any) -> list[dict[str, Any]]:
    """One for each attack and radius; None where there is no such share."""
    return [
        {
            "attack": attack,
            "radius": radius,
            **{name: finite(found[name].sel(attack=attack, radius=radius).item()) for name in COLUMNS},
        }
        for attack in found["attack"].values.tolist()
        for radius in found["radius"].values.tolist()
    ]
