"""The tables of verdicts in these pages, from runs of the shipped scenarios.

    python docs/verdicts.py NAME        run a scenario such as li_2025/fig2a, or all of a paper, keep what they say to their
                                        claims in docs/verdicts/PAPER.json, and write the tables
    python docs/verdicts.py NAME --runs FOLDER    the same; runs are kept in this folder, and those that are there do not
                                        run again: after a change of claims, or where a long series was interrupted
    python docs/verdicts.py NAME --runs FOLDER --claims CLAIM …    of these claims alone; what is kept of the others stays
    python docs/verdicts.py --sweep NAME    the same of a sweep's rates; --runs FOLDER goes on with one that was interrupted
    python docs/verdicts.py             write the tables again
    python docs/verdicts.py --check     say what is out of date, and exit with 1 where something is

A page has a table between the lines `<!-- verdicts: SCENARIO … -->` and `<!-- /verdicts -->`, of scenarios of the page's
paper; `<!-- rates: SCENARIO … -->`, `<!-- scenarios -->`, all of the page's paper, and `<!-- counts -->` likewise.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import xarray as xr

import flowsim
from flowsim.cli.common import finite
from flowsim.cli.sweep_page import summary as sweep_summary
from flowsim.evaluate.claim import CLAIMS, selected
from flowsim.evaluate.verdicts import VERDICTS, counts, rows
from flowsim.papers import evaluate
from flowsim.scenario.shipped import find, shipped

DOCS = Path(__file__).parent
KEPT = DOCS / "verdicts"
#: What is kept of a rate.
OF_RATE = ("claim", "verdict", "predicted", "exponent", "low", "high")
TABLE = re.compile(r"(<!-- (verdicts|rates|scenarios|counts):? ?([^\n]*?) ?-->\n)(.*?)(<!-- /\2 -->)", re.DOTALL)


def claimed() -> dict[str, Path]:
    """The shipped scenarios that are held against claims, by name"""
    return {name: file for name, file in shipped().items() if _keys(file).get("evaluate", {}).get("claims")}


def fingerprint(file: Path) -> str:
    """Of what a scenario's file says, whatever its comments and its order are"""
    return hashlib.sha256(json.dumps(_keys(file), sort_keys=True).encode()).hexdigest()


def kept(paper: str) -> dict[str, Any]:
    """What the runs of a paper's scenarios said"""
    file = KEPT / f"{paper}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def run(name: str, folder: Path | None, only: list[str] | None = None) -> dict[str, Any]:
    """What a shipped scenario's run says to its claims, or to some; the run is taken from the folder where it is there,
    and left there where it is not"""
    scenario = flowsim.load(find(name))
    alone = scenario.replace({"evaluate": {"claims": list(scenario.evaluate.claims)}})
    asked = only or list(scenario.evaluate.claims)
    if folder is None:
        return _told(asked, flowsim.run(alone, progress=False)["claims"].to_dataset(inherit=False))
    file = folder / f"{name.replace('/', '-')}.nc"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        flowsim.run(alone, file, progress=False)
    with flowsim.open(file) as tree:
        if flowsim.loads(tree.attrs["scenario"]).model_dump() not in (alone.model_dump(), scenario.model_dump()):
            raise SystemExit(f"{file}: is of another scenario than {find(name)}")
        if tree["numerics"].attrs["exit_code"]:
            raise SystemExit(f"{file}: is not done, but {tree.attrs['status']}; flowsim run {name} -o {file} --resume")
        return _told(asked, evaluate(tree, asked))


def _told(asked: list[str], group: xr.Dataset) -> dict[str, Any]:
    """The findings, and which claims were asked and are not about the run"""
    names = ("prediction", "verdict", "note")
    claims = {
        row["claim"]: {"measured": _rounded(finite(float(row["measured"])))} | {name: str(row[name]) for name in names}
        for row in rows(group)
        if row["verdict"] != "not_applicable"
    }
    return {"claims": claims, "silent": [name for name in selected(CLAIMS, asked) if name not in claims]}


def _beside(own: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a run, with what some of its claims say now"""
    told = {*found["claims"], *found["silent"]}
    claims = {name: row for name, row in own["claims"].items() if name not in told} | found["claims"]
    silent = [name for name in own["silent"] if name not in told] + found["silent"]
    return {
        "claims": {name: claims[name] for name in CLAIMS if name in claims},
        "silent": [name for name in CLAIMS if name in silent],
    }


def swept(name: str, folder: Path | None, workers: int | None) -> dict[str, Any]:
    """The same of the rates of a shipped sweep, of which points that are in the folder do not run again"""
    with tempfile.TemporaryDirectory() as passing:
        place = (folder or Path(passing)) / f"{name.replace('/', '-')}-sweep"
        result = flowsim.sweep.sweep(find(name), place, workers=workers, resume=place.exists())
        if result.exit_code:
            raise SystemExit(f"{name}: {result.done} of {result.points} points of its sweep are done")
        with flowsim.open_sweep(place) as dataset:
            return {"rates": _only(sweep_summary(dataset).get("rates", {}), OF_RATE)}


def keep(name: str, found: dict[str, Any], some: bool = False) -> None:
    """some: whether these are findings of some claims, beside which those of the others stay."""
    paper, _, scenario = name.partition("/")
    known = kept(paper)
    own, sha256 = known.get(scenario, {}), fingerprint(find(name))
    same = own if own.get("sha256") == sha256 else {}
    if some:
        if "claims" not in same:
            raise SystemExit(f"{name}: has changed, or has not run; its claims are to be asked all together")
        found = _beside(same, found)
    known[scenario] = {**same, "sha256": sha256, **found}
    KEPT.mkdir(exist_ok=True)
    text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False)
    (KEPT / f"{paper}.json").write_text(text + "\n", encoding="utf-8")


def stale() -> Iterator[str]:
    """What does not fit together: scenarios that have changed, claims that came or went, tables that say something else"""
    scenarios = claimed()
    for name, file in scenarios.items():
        paper, _, scenario = name.partition("/")
        found = kept(paper).get(scenario)
        if found is None or found["sha256"] != fingerprint(file) or "claims" not in found:
            yield f"{name}: has changed, or has not run; python docs/verdicts.py {name}"
            continue
        known = [*found["claims"], *found["silent"]]
        asked = selected(CLAIMS, _keys(file)["evaluate"]["claims"])
        gone = [claim for claim in known if claim not in asked]
        new = [claim for claim in asked if claim not in known]
        if gone or new:
            yield f"{name}: claims came or went ({', '.join(gone + new)}); python docs/verdicts.py {name}"
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for name in (name for kind, names in _tables(text) if kind == "rates" for name in names):
            if "rates" not in kept(page.stem).get(name, {}):
                full = f"{page.stem}/{name}"
                yield f"{full}: its sweep has changed, or has not run; python docs/verdicts.py --sweep {full}"
        if written(page) != text:
            yield f"{page.relative_to(DOCS)}: its tables are older than docs/verdicts; python docs/verdicts.py"


def pages() -> Iterable[Path]:
    found = (page for page in sorted(DOCS.glob("**/*.md")) if not {"generated", "_build"} & set(page.parts))
    return (page for page in found if TABLE.search(page.read_text(encoding="utf-8")))


def _tables(text: str) -> Iterator[tuple[str, list[str]]]:
    """(kind, names) of the tables of a page"""
    return ((match[2], match[3].split()) for match in TABLE.finditer(text))


def written(page: Path) -> str:
    """The text of a page with its tables as the runs have them"""

    def table(match: re.Match[str]) -> str:
        opening, kind, names, _, closing = match.groups()
        tables = {"verdicts": _verdicts, "rates": _rates, "scenarios": _scenarios, "counts": _counts}
        lines = tables[kind](page.stem, names.split())
        return "\n".join([opening.rstrip(), *lines, closing])

    return TABLE.sub(table, page.read_text(encoding="utf-8"))


def _verdicts(paper: str, scenarios: list[str]) -> Iterator[str]:
    """A row for each claim: what was predicted, and of each scenario the verdict and what was measured"""
    found = [kept(paper).get(scenario, {}).get("claims", {}) for scenario in scenarios]
    yield from _row("claim", "predicted", *(f"`{scenario}`" for scenario in scenarios))
    yield from _row(*["---"] * (2 + len(scenarios)))
    for claim in CLAIMS:
        own = [claims.get(claim) for claims in found]
        if any(own):
            predicted = dict.fromkeys(row["prediction"] for row in own if row and row["prediction"])
            yield from _row(f"`{claim.removeprefix(paper + '.')}`", "; ".join(predicted), *map(_cell, own))


def _rates(paper: str, scenarios: list[str]) -> Iterator[str]:
    yield from _row("sweep", "exponent of", "predicted", "found, 95 % interval", "verdict")
    yield from _row(*["---"] * 5)
    for scenario in scenarios:
        found = kept(paper).get(scenario, {}).get("rates")
        if found is None:
            yield from _row(f"`{scenario}`", "has not run", "", "", "")
        for name, rate in (found or {}).items():
            numbers = "—" if rate["exponent"] is None else "{exponent:.3g}, {low:.3g} to {high:.3g}".format(**rate)
            yield from _row(
                f"`{scenario}`", name.replace(f"{paper}.", ""), f"{rate['predicted']:g}", numbers, rate["verdict"]
            )


def _scenarios(paper: str, names: list[str]) -> Iterator[str]:
    """Of each shipped scenario of the paper, how many findings have which verdict, and which claims fail"""
    words = [word for word in VERDICTS if word != "not_applicable"]
    yield from _row("scenario", *(f"`{word}`" for word in words), "what fails")
    yield from _row(*["---"] * (2 + len(words)))
    for name in claimed():
        own, _, scenario = name.partition("/")
        if own == paper:
            run = kept(paper).get(scenario, {}).get("claims")
            found = counts(row["verdict"] for row in (run or {}).values())
            cells = [found.get(word, 0) if run else "—" for word in words]
            fails = [claim.removeprefix(f"{paper}.") for claim, row in (run or {}).items() if row["verdict"] == "fails"]
            yield from _row(
                f"`{scenario}`", *cells, ", ".join(f"`{claim}`" for claim in fails) if run else "has not run"
            )


def _counts(page: str, names: list[str]) -> Iterator[str]:
    """How many of the findings of all shipped scenarios have which verdict, paper by paper"""
    words = [word for word in VERDICTS if word != "not_applicable"]
    yield from _row("paper", "claims", "scenarios run", *(f"`{word}`" for word in words))
    yield from _row(*["---"] * (3 + len(words)))
    for paper in dict.fromkeys(claim.partition(".")[0] for claim in CLAIMS):
        runs = [run["claims"] for run in kept(paper).values() if "claims" in run]
        found = counts(row["verdict"] for run in runs for row in run.values())
        claims = sum(claim.startswith(f"{paper}.") for claim in CLAIMS)
        there = sum(name.startswith(f"{paper}/") for name in claimed())
        cells = (found.get(word, 0) for word in words) if runs else ("—" for _ in words)
        yield from _row(f"`{paper}`", claims, f"{len(runs)} of {there}", *cells)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    number = "" if row["measured"] is None else f" {row['measured']:.3g}"
    return f"{row['verdict']}{number}"


def _row(*cells: object) -> Iterator[str]:
    told = (str(cell).replace("|", "\\|") for cell in cells)
    yield f"| {' | '.join(told)} |"


def _only(rows: dict[str, dict[str, Any]], names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return {name: {key: _rounded(row[key]) for key in names} for name, row in rows.items()}


def _rounded(value: Any) -> Any:
    """To four digits: beyond those, processors round in their own ways"""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _keys(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a shipped scenario, or a paper: all of its scenarios")
    parser.add_argument("--sweep", action="store_true", help="run their sweeps")
    parser.add_argument("--claims", nargs="+", metavar="CLAIM", help="ask these alone")
    parser.add_argument("--workers", type=int, metavar="N", help="processes of a sweep; as many as there are cores")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="results that are there already")
    parser.add_argument("--check", action="store_true", help="say what is out of date, and change nothing")
    options = parser.parse_args()
    if options.check:
        old = list(stale())
        print("\n".join(old), file=sys.stderr)
        return int(bool(old))
    for name in options.names:
        of_paper = [known for known in claimed() if known.startswith(f"{name}/")]
        for scenario in of_paper or [name]:
            print(scenario, file=sys.stderr)
            if options.sweep:
                keep(scenario, swept(scenario, options.runs, options.workers))
            else:
                keep(scenario, run(scenario, options.runs, options.claims), some=bool(options.claims))
    for page in pages():
        page.write_text(written(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
