"""The cards of docs/shipped.md: what each shipped scenario costs, how its run ended, and a small picture of it.

    python docs/gallery.py NAME …       run scenarios, and keep what their cards say and show in docs/gallery
    python docs/gallery.py --predict    reckon the cost of those that have not run since they changed
    python docs/gallery.py --under 20   run those of them that were reckoned to take less than so many seconds

A scenario with a [sweep] runs as a sweep. Seconds are of the processor; run `flowsim warm` before, so that what is compiled
once for a machine does not count. The page is written from docs/gallery at each build, by docs/_gallery.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import xarray as xr
from _gallery import card, kept
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from verdicts import fingerprint

import flowsim
from flowsim.cli.check import described
from flowsim.cli.page import summary as run_summary
from flowsim.cli.sweep_page import summary as sweep_summary
from flowsim.errors import FlowsimError, UsageError
from flowsim.evaluate.verdicts import counts
from flowsim.present import sweeps
from flowsim.present.kinds import plot
from flowsim.present.summary import completed
from flowsim.scenario.shipped import find, shipped

DOCS = Path(__file__).parent
#: The kinds of plots that show what a run is about; the first one that can be drawn is its picture.
KINDS = ("boundary", "robustness", "class_cosines", "alignment", "loss")
#: What is drawn in their place of some scenarios, or of those of a folder: the kind and its options.
SPECIAL: dict[str, tuple[str, dict[str, Any]]] = {
    "allen_zhu_li_2022": ("purity", {}),
    "limits": ("kkt", {}),
    "quickstart": ("alignment", {}),
    "sweeps/alignment_time": ("scaling", {"of": "half_loss", "over": "init.scale", "law": "log"}),
    "sweeps/burn_in": ("lines", {"of": "median_alignment", "over": "data.dimension", "by": "init.nudge"}),
    "sweeps/noise": ("scaling", {"of": "final_loss", "over": "data.noise.total"}),
    "sweeps/robust_radius": (
        "lines",
        {"of": "median_attacked_radius", "over": "data.positive", "by": "model.degree"},
    ),
    "theory/edge_of_stability": ("variable", {"of": "sharpness"}),
    "theory/diagonal": ("variable", {"of": "log10_test_loss"}),
    "theory/kernel_to_rich": ("lines", {"of": "final_test_loss", "over": "init.scale"}),
}
#: Final values that a card tells.
TOLD = ("loss", "log10_loss", "accuracy", "test_loss", "test_accuracy")
#: Width and height of a picture in inches, its resolution, and how many colours it has: a few kilobytes.
SIZE, DPI, COLORS = (3.2, 2.1), 100, 64


def predicted(name: str) -> dict[str, float]:
    """What `flowsim check` reckons: evaluations of a run, points, seconds of one core with what is evaluated."""
    facts, _ = described(flowsim.load(find(name)))
    seconds = facts["run_seconds"] + sum(facts["evaluate_seconds"].values())
    if "sweep" in facts:
        return {"points": facts["sweep"]["points"], "seconds": _rounded(facts["sweep"]["core_seconds"])}
    return {"evaluations": round(facts["evaluations"]), "seconds": _rounded(seconds)}


def measured(name: str) -> dict[str, Any]:
    """Run a scenario, draw its picture, and give what its card says."""
    scenario, begun = flowsim.load(find(name)), time.process_time()
    if scenario.sweep.keys:
        with tempfile.TemporaryDirectory() as folder:
            flowsim.sweep.sweep(scenario, folder)
            with flowsim.open_sweep(folder) as dataset:
                seconds = float(dataset["cpu_seconds"].sum())
                return {**_of_sweep(dataset), "seconds": _rounded(seconds), "picture": draw(name, dataset)}
    tree = flowsim.run(scenario, progress=False)
    seconds = time.process_time() - begun
    return {**_of_run(tree), "seconds": _rounded(seconds), "picture": draw(name, tree)}


def _of_run(tree: xr.DataTree) -> dict[str, Any]:
    facts = run_summary(completed(tree))
    final = {str(key): values for key, values in facts["final"].items()}
    last = tree.to_dataset().isel(time=-1)
    for key in TOLD:
        if key in last and not last[key].dims:
            final[key] = float(last[key])
    claims = counts(claim["verdict"] for claim in facts.get("claims", {}).values())
    return {
        "status": facts["status"],
        "evaluations": facts.get("evaluations"),
        "final": {key: _rounded(_single(final[key])) for key in TOLD if final.get(key) is not None},
        "phases": {
            key: _rounded(_single(instant))
            for key, instant in {**facts["phases"], **facts.get("log10_phases", {})}.items()
            if _single(instant) is not None
        },
        **({"log10_phases": True} if "log10_phases" in facts else {}),
        **({"limit": tree["limit"].attrs["verdict"]} if "limit" in tree.children else {}),
        **({"claims": claims} if claims else {}),
    }


def _of_sweep(dataset: xr.Dataset) -> dict[str, Any]:
    facts = sweep_summary(dataset)
    return {
        "status": "done" if facts["done"] == facts["points"] else f"{facts['points'] - facts['done']} failed",
        "points": facts["points"],
        "rates": {
            name: {key: _rounded(rate[key]) for key in ("predicted", "exponent", "low", "high", "verdict")}
            for name, rate in facts.get("rates", {}).items()
        },
    }


def _single(value: Any) -> Any:
    """A number, or the median over an ensemble's members."""
    return value["median"] if isinstance(value, dict) else value


def _rounded(value: Any) -> Any:
    """To three digits: what a card needs, and no more than other processors give."""
    return float(f"{value:.3g}") if isinstance(value, float) else value


def draw(name: str, result: xr.Dataset | xr.DataTree) -> str:
    """Write the picture of a result, and say what kind of plot it is."""
    with mpl.rc_context({"font.size": 7, "axes.linewidth": 0.6, "lines.linewidth": 1.0, "legend.fontsize": 6}):
        for kind, options in _choices(name, result):
            axes = Figure(figsize=SIZE, layout="constrained").add_subplot()
            try:
                if isinstance(result, xr.DataTree):
                    plot(result, kind, axes, **options)
                else:
                    sweeps.plot(result, kind, axes, **options)
            except UsageError:
                continue
            _bare(axes, options.get("of", kind))
            _save(axes.get_figure(), card(name).with_suffix(".png"))
            return kind
    raise UsageError(f"none of {', '.join(KINDS)} can be drawn of it; give it a line in SPECIAL of docs/gallery.py")


def _bare(axes: Axes, kind: str) -> None:
    """Without the words that a small picture has no room for: its title says what is drawn."""
    if (legend := axes.get_legend()) is not None:
        legend.remove()
    for other in axes.get_figure().axes:
        other.set_ylabel("")
        for text in [*other.texts]:
            text.remove()
    axes.set_title(axes.get_title() or kind.replace("_", " "), fontsize=7)


def _choices(name: str, result: xr.Dataset | xr.DataTree) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (SPECIAL[key] for key in (name, name.partition("/")[0]) if key in SPECIAL)
    kinds = KINDS if isinstance(result, xr.DataTree) else ("heat", "lines")
    yield from ((kind, {}) for kind in kinds)


def _save(figure: Figure, file: Path) -> None:
    """As a PNG of few colours."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI)
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.open(drawn).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(file, optimize=True)


def keep(name: str, facts: dict[str, Any]) -> None:
    file, facts = card(name), {"sha256": fingerprint(find(name)), **facts}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a shipped scenario")
    parser.add_argument("--predict", action="store_true", help="reckon the cost of those that have not run")
    parser.add_argument(
        "--under", type=float, default=0.0, metavar="SECONDS", help="run what takes less, and has not run"
    )
    options = parser.parse_args()
    names = list(options.names)
    for name in shipped():
        facts = kept(name)
        if options.predict and not facts:
            tell(name, lambda name: {"predicted": predicted(name)})
        known = facts.get("predicted", {}).get("seconds", options.under)
        if known < options.under and "measured" not in facts:
            names.append(name)
    for name in names:
        tell(
            name, lambda name: {"predicted": kept(name).get("predicted") or predicted(name), "measured": measured(name)}
        )


def tell(name: str, find_out: Callable[[str], dict[str, Any]]) -> None:
    """Keep what is found out of a scenario, and say it; or say why there is nothing."""
    try:
        facts = find_out(name)
    except FlowsimError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return
    keep(name, facts)
    print(name, facts, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
