"""Smaller runs of scenarios that are too costly for the gallery: their sizes are held under caps, which are halved until a
run costs little enough. What they are too small to be asked, such as claims, is left out.

(The tests have reductions of their own, tests/support/reduced.py, to runs that do all that a scenario asks for; these do
less, at sizes that still show what it is about.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: key of [data], [model] or a stage -> the most that a smaller run has at first, and ever
CAPS = {
    "samples": (2000, 100),
    "dimension": (400, 50),
    "width": (64, 10),
    "widen": (0.5, 0.05),
    "iterations": (1000, 20),
    "batch": (100, 20),
    "test_samples": (1000, 100),
    "attacked": (100, 20),
    "attack_steps": (20, 10),
    "radii": (8, 4),
    "points": (8, 2),
    "seeds": (4, 1),
}
#: After so many, all caps are at their least.
MOST_HALVINGS = 6
#: What is kept of [evaluate]: what cards draw or tell.
DRAWN = ("robustness", "limit")
#: Kinds of data whose other keys are made for their dimension, and for the width that goes with it.
TIED = ("sparse_coding",)
#: Kinds of data with all samples of their files, unless fewer are asked for.
OF_FILES = ("idx", "cifar10", "cifar100", "images")
#: Kinds of data with ten classes.
TEN = ("digits", "idx", "cifar10", "cifar100")
#: Kinds of networks as wide as model.widen says, by default 1.
WIDENED = ("resnet", "wide_resnet", "alexnet")


def smaller(keys: Mapping[str, Any], cost: Callable[[Mapping[str, Any]], float], most: float) -> dict[str, Any]:
    """Overrides, dotted key -> value (None takes it out), of the largest run whose cost in seconds is at most `most`; where
    no run is so cheap, of the smallest one.

    keys: of the scenario's file. cost: what overrides make a run cost.
    """
    found = dict(_evaluate(keys.get("evaluate", {}), lambda name: CAPS[name][0]))
    for halvings in range(MOST_HALVINGS):
        if cost(found) <= most:
            break
        found = dict(_held(keys, lambda name, halved=halvings: max(CAPS[name][0] / 2**halved, CAPS[name][1])))
    return found


def _held(keys: Mapping[str, Any], cap: Callable[[str], float]) -> Iterator[tuple[str, Any]]:
    """Overrides that hold the sizes of a scenario under caps."""
    yield from _data(keys["data"], cap)
    if keys["data"].get("kind") not in TIED:
        # where only a part has its fine label, the two classes are outputs beside the clusters
        outputs = _clusters(keys["data"]) + 2 * ("fine" in keys["data"])
        yield from _network(keys.get("model", {}), outputs, cap)
    for place, stage in enumerate(keys.get("stage", ())):
        yield from _flow(f"stage[{place}]", stage, cap)
    yield from _flow("flow", keys.get("flow", {}), cap)
    yield from _evaluate(keys.get("evaluate", {}), cap)
    for kind in ("grid", "zip"):
        if kind in (swept := keys.get("sweep", {})):
            yield from _swept(kind, swept[kind], cap)


def _data(data: Mapping[str, Any], cap: Callable[[str], float]) -> Iterator[tuple[str, Any]]:
    clusters = _clusters(data)
    most = int(cap("samples")) // clusters * clusters
    if data.get("samples", 0 if data.get("kind") not in OF_FILES else most + 1) > most:
        yield "data.samples", most
    if data.get("kind") not in TIED and data.get("dimension", 0) > (least := max(int(cap("dimension")), 2 * clusters)):
        yield "data.dimension", least
    test = data.get("test", {})
    if "standard" in test or test.get("samples", 0) > cap("test_samples"):
        yield "data.test", {"samples": int(cap("test_samples"))}


def _clusters(data: Mapping[str, Any]) -> int:
    """Of which samples may have to be an equal number each."""
    if data.get("kind") in TEN:
        return 10
    named = [data.get(sign, 1) for sign in ("positive", "negative")]
    return sum(len(one) if isinstance(one, list) else one for one in named)


def _network(model: Mapping[str, Any], outputs: int, cap: Callable[[str], float]) -> Iterator[tuple[str, Any]]:
    if model.get("width", 0) > (most := max(int(cap("width")) // outputs, 1) * outputs):
        yield "model.width", most
    if model.get("kind") in WIDENED and model.get("widen", 1.0) > cap("widen"):
        yield "model.widen", cap("widen")


def _flow(section: str, flow: Mapping[str, Any], cap: Callable[[str], float]) -> Iterator[tuple[str, Any]]:
    for key in ("iterations", "batch"):
        if flow.get(key, 0) > cap(key):
            yield f"{section}.{key}", int(cap(key))
    shorter = min(cap("iterations") / flow.get("iterations", 1), 1.0)
    if "warmup" in flow.get("attack", {}) and shorter < 1:
        yield f"{section}.attack.warmup", int(shorter * flow["attack"]["warmup"])


def _evaluate(asked: Mapping[str, Any], cap: Callable[[str], float]) -> Iterator[tuple[str, Any]]:
    yield from ((f"evaluate.{key}", None) for key in asked if key not in DRAWN)
    if robustness := asked.get("robustness"):
        if len(robustness["radii"]) > cap("radii"):
            yield "evaluate.robustness.radii", _evenly(robustness["radii"], int(cap("radii")))
        for key, name in (("samples", "attacked"), ("steps", "attack_steps")):
            if robustness.get(key, CAPS[name][0] + 1) > cap(name):
                yield f"evaluate.robustness.{key}", int(cap(name))


def _swept(kind: str, swept: Mapping[str, Any], cap: Callable[[str], float]) -> Iterator[tuple[str, Any]]:
    fewer = {key: _fewer(values, int(cap("seeds" if key == "seed" else "points"))) for key, values in swept.items()}
    if fewer != dict(swept):
        yield f"sweep.{kind}", fewer


def _fewer(values: Any, most: int) -> Any:
    if isinstance(values, list):
        return _evenly(values, most)
    if values.get("spacing") == "log" or values["count"] <= most:
        return {**values, "count": min(values["count"], most)}
    last = values["from"] + (values["to"] - values["from"]) * (most - 1) / (values["count"] - 1)
    whole = isinstance(values["from"], int) and last.is_integer()
    return {**values, "to": int(last) if whole else last, "count": most}


def _evenly(values: list[Any], most: int) -> list[Any]:
    """So many of them, the first and the last among them where there are two or more."""
    if len(values) <= most:
        return values
    return [values[round(place * (len(values) - 1) / max(most - 1, 1))] for place in range(most)]
