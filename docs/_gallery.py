"""The gallery: a card for each shipped scenario, from what docs/gallery.py has kept of its run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from verdicts import fingerprint
from verdicts import kept as of_paper

from flowsim.evaluate.verdicts import counted
from flowsim.gate import duration
from flowsim.scenario.shipped import shipped
from flowsim.scenario.toml import inline

DOCS = Path(__file__).parent
FOLDER = DOCS / "gallery"
#: folder of scenarios -> the heading of its cards, and the page that tells more
FOLDERS = {
    "": ("To begin with", "getting_started.md"),
    "allen_zhu_li_2022": ("Allen-Zhu & Li 2022", "papers/allen_zhu_li_2022.md"),
    "frei_2022": ("Frei et al. 2022", "papers/frei_2022.md"),
    "frei_vardi_2023": ("Frei, Vardi, Bartlett & Srebro 2023", "papers/frei_vardi_2023.md"),
    "images": ("Images", "images.md"),
    "li_2025": ("Li et al. 2025", "papers/li_2025.md"),
    "limits": ("To the limit", "limit.md"),
    "min_vidal_2025": ("Min & Vidal 2025", "papers/min_vidal_2025.md"),
    "sweeps": ("Sweeps", "sweeps.md"),
    "theory": ("Known results", ""),
}
#: Kinds of data whose files a user has to bring.
BROUGHT = ("idx", "cifar10", "cifar100", "images", "table")
#: Seconds up to which a cost is of a class.
CLASSES = {10.0: "seconds", 60.0: "up to a minute", 600.0: "some minutes", 3600.0: "up to an hour"}
#: phase -> what a card says of it
PHASES = {"median_alignment": "the median neuron aligned", "half_loss": "half of the loss"}
#: value at the end -> what a card calls it
FINAL = {"loss": "loss", "test_loss": "test loss", "accuracy": "accuracy", "test_accuracy": "test accuracy"}


def card(name: str) -> Path:
    """The file of what is kept of a scenario's run; its picture has the same name and ends with .png."""
    return FOLDER / f"{name}.json"


def kept(name: str) -> dict[str, Any]:
    """What is kept of a scenario as it stands: the cost that was predicted, and what was measured. Nothing where its keys
    have changed since."""
    file = card(name)
    facts = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return facts if facts.get("sha256") == fingerprint(shipped()[name]) else {}


def out_of_date() -> dict[str, str]:
    """Why a shipped scenario's card is to be renewed, and the command; nothing of those that are as they ran."""
    found = {}
    for name in shipped():
        if not card(name).exists():
            why = "has no card"
        elif "measured" not in kept(name):
            why = "has not run since it changed"
        elif not card(name).with_suffix(".png").exists():
            why = "has no picture"
        else:
            continue
        found[name] = f"{why}; python docs/gallery.py {name}"
    return found


def cards() -> Iterator[str]:
    """The cards of all shipped scenarios, in Markdown."""
    for folder, names in groupby(sorted(shipped(), key=_folder), key=_folder):
        heading, page = FOLDERS.get(folder, (folder, ""))
        yield from (f"## {heading}", "", *([f"[More on these]({page})", ""] if page else []))
        yield from (":::::{grid} 1 1 2 2", ":gutter: 3", "")
        for name in names:
            yield from (*_card(name, heading), "")
        yield from (":::::", "")


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _card(name: str, heading: str) -> Iterator[str]:
    keys = tomllib.loads(shipped()[name].read_text(encoding="utf-8"))
    facts, title = kept(name), str(keys.get("title", name))
    picture = card(name).with_suffix(".png")
    short = title.removeprefix(heading).lstrip(",: ")
    yield f"::::{{grid-item-card}} {_plain(short[0].upper() + short[1:])}"
    if "measured" in facts and picture.exists():
        yield from (
            f":img-top: {picture.relative_to(DOCS).as_posix()}",
            f":img-alt: {facts['measured']['picture']} of {name}",
        )
    yield from ("", f"`{name}`", "")
    if "smaller" in facts:
        yield from (f"*Picture and numbers are of a smaller run*, {_overrides(facts['smaller'])}.", "")
    result = "; ".join(_result(facts.get("measured", {})))
    if result:
        sentence = f"The smaller run: {result}" if "smaller" in facts else f"{result[0].upper()}{result[1:]}"
        yield from (f"{sentence}.", "")
    if found := _claims(name, facts):
        yield from (f"Claims{' at full size' * ('smaller' in facts)}: {found}.", "")
    yield from (":::{card-footer}", _cost(name, facts, keys), ":::", "::::")


def _overrides(smaller: Mapping[str, Any]) -> str:
    """What makes a run smaller, as `flowsim run` takes it"""
    changed = [f"`{key} = {inline(value)}`" for key, value in smaller.items() if value is not None]
    without = [f"`{key}`" for key, value in smaller.items() if value is None]
    parts = [words + ", ".join(names) for words, names in (("with ", changed), ("without ", without)) if names]
    return "; ".join(parts)


def _result(measured: Mapping[str, Any]) -> Iterator[str]:
    """How the run ended"""
    if measured:
        points = f"{measured['points']} points " if "points" in measured else ""
        yield f"{points}{_plain(measured['status'])}"
    final = {key: value for key, value in measured.get("final", {}).items() if key in FINAL}
    if final:
        log10 = measured["final"].get("log10_loss", 0.0)
        told = {
            key: f"1e{log10:g}" if key == "loss" and log10 < -300 else f"{value:.3g}" for key, value in final.items()
        }
        yield ", ".join(f"{FINAL[key]} {value}" for key, value in told.items())
    phases = measured.get("phases", {})
    if reached := [
        f"{words} at {'1e' * ('log10_phases' in measured)}{phases[key]:g}"
        for key, words in PHASES.items()
        if key in phases
    ]:
        yield ", ".join(reached)
    if "limit" in measured:
        yield _plain(measured["limit"].partition(";")[0].partition(":")[0])
    for rate in measured.get("rates", {}).values():
        yield f"slope {rate['exponent']:g}, predicted {rate['predicted']:g}"


def _claims(name: str, facts: Mapping[str, Any]) -> str:
    """What the run said of claims: where none at full size was made for the gallery, the last one for docs/verdicts."""
    if "claims" in facts.get("measured", {}) and "smaller" not in facts:
        return counted(word for word, count in facts["measured"]["claims"].items() for _ in range(count))
    paper, _, scenario = name.partition("/")
    found = of_paper(paper).get(scenario, {})
    if found.get("sha256") != fingerprint(shipped()[name]):
        return ""
    return counted(row["verdict"] for row in found.get("claims", {}).values())


def _cost(name: str, facts: Mapping[str, Any], keys: Mapping[str, Any]) -> str:
    again = f"`python docs/gallery.py {name}`"
    if "measured" not in facts:
        brought = " with [your files](images.md#where-the-files-are)" * (keys.get("data", {}).get("kind") in BROUGHT)
        return f"Has not run since it changed: {again}{brought}"
    taken = _taken(facts["measured"])
    if "smaller" not in facts:
        return taken
    whole = facts["predicted"]
    size = f"{whole['points']} points" if "points" in whole else f"{whole['evaluations']:,} evaluations"
    value, unit = duration(whole["seconds"]).split()
    order = f"of the order of {float(f'{float(value):.1g}'):g} {unit}"
    return f"Full size: {size}, {order} by `flowsim check`. The smaller run, {again}: {taken}"


def _taken(measured: Mapping[str, Any]) -> str:
    evaluations = f"{measured['evaluations']:,.0f} evaluations, " if measured.get("evaluations") else ""
    return f"{evaluations}{_class(measured['seconds'])}"


def _class(seconds: float) -> str:
    return next((words for most, words in CLASSES.items() if seconds < most), "hours")


def _plain(text: str) -> str:
    return text.replace("*", r"\*").replace("_", r"\_")
