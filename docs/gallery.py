"""The cards of docs/shipped.md: what each shipped scenario costs, how its run ended, and a small picture of it.

    python docs/gallery.py NAME …       run scenarios, and keep what their cards say and show in docs/gallery
    python docs/gallery.py NAME --set KEY=VALUE … --unset KEY …     make it smaller; overrides are kept for the next time
    python docs/gallery.py NAME --whole    run it at its full size, whatever that costs
    python docs/gallery.py --renew      run all that have no card or picture, or that have changed since they ran
    python docs/gallery.py --check      say which those are, and exit with 1 where there are any

A smaller run is made with the overrides that are kept for a scenario. Where there are none, one is made of scenarios that
take longer than a minute, as `flowsim check` reckons, with sizes under caps (docs/_smaller.py). One with a [sweep] runs
as a sweep. Seconds are of the processor; run `flowsim warm` before, so that what is compiled once for a machine does not
count. Scenarios of images look for their files in the folder that FLOWSIM_DATA names. The page is written from docs/gallery
at each build, by docs/_gallery.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import xarray as xr
from _gallery import card, out_of_date
from _smaller import smaller
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
from flowsim.gate import set_limit
from flowsim.present import sweeps
from flowsim.present.kinds import plot
from flowsim.present.summary import completed
from flowsim.scenario.load import parse_assignment
from flowsim.scenario.shipped import find

DOCS = Path(__file__).parent
#: Seconds up to which a scenario runs at its full size, and that a smaller run may take.
WHOLE, SMALLER = 60.0, 10.0
#: The kinds of plots that show what a run is about; the first one that can be drawn is its picture.
KINDS = ("boundary", "robustness", "class_cosines", "alignment", "loss")
#: What is drawn in their place of some scenarios, or of those of a folder: the kind and its options.
SPECIAL: dict[str, tuple[str, dict[str, Any]]] = {
    "allen_zhu_li_2022": ("purity", {}),
    "frei_vardi_2023/over_clusters": (
        "scaling",
        {"of": "frei_vardi_2023.theorem_4_2.strength", "over": "data.positive"},
    ),
    "frei_vardi_2023/over_dimension": (
        "scaling",
        {"of": "frei_vardi_2023.theorem_4_2.strength", "over": "data.dimension"},
    ),
    "limits": ("kkt", {}),
    "min_vidal_2025/census": ("heat", {"of": "final_clusters_owned"}),
    "min_vidal_2025/census_sizes": ("lines", {"of": "final_clusters_owned", "over": "data.positive"}),
    "min_vidal_2025/fig4": ("alignment", {}),
    "min_vidal_2025/fig5_random_init": ("alignment", {}),
    "min_vidal_2025/fig5_random_init_flow": ("alignment", {}),
    "min_vidal_2025/fig6_nudged_init": ("alignment", {}),
    "min_vidal_2025/fig6_nudged_init_flow": ("alignment", {}),
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
#: So many names of columns, and letters of a label, fit below a picture.
MOST_NAMES, LONGEST = 10, 45


def predicted(name: str, overrides: Mapping[str, Any]) -> dict[str, float]:
    """What `flowsim check` reckons: evaluations of a run, points, seconds of one core with what is evaluated."""
    facts, _ = described(flowsim.load(find(name), overrides))
    seconds = facts["run_seconds"] + sum(facts["evaluate_seconds"].values())
    if "sweep" in facts:
        return {"points": facts["sweep"]["points"], "seconds": _rounded(facts["sweep"]["core_seconds"])}
    return {"evaluations": round(facts["evaluations"]), "seconds": _rounded(seconds)}


def measured(name: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Run a scenario, draw its picture, and give what its card says."""
    scenario, begun = flowsim.load(find(name), overrides), time.process_time()
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
    told = [other.get_ylabel() for other in axes.get_figure().axes]
    for other in axes.get_figure().axes:
        other.set_ylabel("")
        for text in [*other.texts]:
            text.remove()
    if len(names := axes.get_xticklabels()) > MOST_NAMES and axes.images:
        every = -(-len(names) // MOST_NAMES)
        axes.set_xticks(axes.get_xticks()[::every], [name.get_text() for name in names[::every]])
    if len(axes.get_xlabel()) > LONGEST:
        axes.set_xlabel(axes.get_xlabel().partition(",")[0])
    # of a sweep, the colours of a map or the height of lines say what is drawn, where no option does
    drawn = told[-1] if kind in ("heat", "lines") and told[-1] else kind.replace("_", " ")
    axes.set_title(axes.get_title() or drawn, fontsize=7)


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


def renewed(name: str, asked: Mapping[str, Any] | None) -> dict[str, Any]:
    """Run a scenario, and give what is kept of it.

    asked: the overrides that make it smaller, none for its full size; None: those that suit its cost.
    """
    whole = predicted(name, {})
    overrides = _suiting(name, whole["seconds"]) if asked is None else dict(asked)
    made = {"smaller": overrides} if overrides else {}
    return {"sha256": fingerprint(find(name)), "predicted": whole, **made, "measured": measured(name, overrides)}


def _suiting(name: str, seconds: float) -> dict[str, Any]:
    """The overrides that were kept for a scenario, whether or not it has changed since; else those that caps give."""
    if card(name).exists() and (used := json.loads(card(name).read_text(encoding="utf-8")).get("smaller")):
        return used
    if seconds <= WHOLE:
        return {}
    keys = tomllib.loads(find(name).read_text(encoding="utf-8"))
    return smaller(keys, lambda overrides: predicted(name, overrides)["seconds"], SMALLER)


def keep(name: str, facts: Mapping[str, Any]) -> None:
    file = card(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a shipped scenario")
    parser.add_argument("--renew", action="store_true", help="run all that are out of date")
    parser.add_argument("--check", action="store_true", help="say what is out of date")
    parser.add_argument("--set", dest="overrides", action="append", metavar="KEY=VALUE", help="run a smaller one")
    parser.add_argument("--unset", action="append", metavar="KEY", help="take a key out of the smaller one")
    parser.add_argument("--whole", action="store_true", help="run it at its full size")
    options = parser.parse_args(arguments)
    if options.check:
        stale = out_of_date()
        print("\n".join(f"{name}: {why}" for name, why in stale.items()), end="\n" * bool(stale))
        return bool(stale)
    asked: dict[str, Any] | None = {} if options.whole else None
    if options.overrides or options.unset:
        asked = dict(map(parse_assignment, options.overrides or ())) | dict.fromkeys(options.unset or ())
    names = [*options.names, *(out_of_date() if options.renew else ())]
    return max([_tell(name, asked) for name in names], default=0)


def _tell(name: str, asked: Mapping[str, Any] | None) -> int:
    """Renew a card, and say what it is made from; or say why there is none, and return 1."""
    try:
        facts = renewed(name, asked)
    except FlowsimError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    keep(name, facts)
    print(name, facts, file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    set_limit("seconds=inf")  # what takes years is reckoned, too
    sys.exit(main())
