"""How often the error that a certified run states holds, and how close it is: random problems of every kind.

    python benchmarks/certify.py [--problems 60] [--sorts smooth kink ...] [--first 0] [--keep FOLDER] [--markdown FILE]

See README.md beside this file for what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr
from tables import machine, say, text_table, write_markdown

import flowsim
from flowsim.results import companion as beside
from flowsim.results import layout
from flowsim.run import companion
from flowsim.run.prepare import Prepared

REFERENCE_RTOL = 1e-12
#: What is asked for: so often within, so often no more than so many times as large, and at so much cost.
WITHIN, TIMES, CLOSE, COST = 0.99, 30.0, 0.90, 2.5
#: What reference and run differ by, in units of rounding of the largest of a variable's numbers at an instant, is nobody's
#: error. Logarithms, cosines and what is relative are of order 1.
ROUNDING = 30 * np.finfo(float).eps
OF_ORDER_1 = ("log", "cosine", "balance_drift", "normalised_margin", "smoothed_margin", "active_fraction", "direction")
#: Steps after which a problem whose goal is out of reach is given up, and another takes its place.
BUDGET = 4000
LIBRARIES = ("flowsim", "numpy", "numba", "jax", "diffrax")
COLUMNS = (
    "problems",
    "number",
    "covered",
    "close",
    "entries covered",
    "entries close",
    "worst close",
    "cost",
    "highest",
)
Floats = np.ndarray[Any, np.dtype[np.float64]]
Random = np.random.Generator


@dataclass(frozen=True)
class Measured:
    """One problem. covered, close: the share of pairs of a variable and an instant whose largest error is within the
    largest stated one, and at least a thirtieth of it; of single entries likewise. worst_close: of variables whose
    largest stated error of all instants is close. cost: evaluations of both runs, in those of the run. worst: of variables
    that are not covered everywhere, the instant that is missed most."""

    sort: str
    seed: int
    covered: float
    close: float
    entries_covered: float
    entries_close: float
    worst_close: float
    cost: float
    undetermined: str
    worst: str


def mixture(random: Random, activation: str, **more: Any) -> dict[str, Any]:
    """A mixture and a network of two layers."""
    clusters = int(random.integers(2, 5))
    keys: dict[str, Any] = {
        "seed": int(random.integers(2**31)),
        "data.dimension": clusters + int(random.integers(3, 25)),
        "data.positive": clusters // 2,
        "data.negative": clusters - clusters // 2,
        "data.centers": "orthonormal",
        "data.noise": {"total": float(random.uniform(0.05, 0.6))},
        "data.samples": clusters * int(random.integers(3, 16)),
        "model.activation": activation,
        "model.width": int(random.integers(2, 12)),
        "model.bias": bool(random.random() < 0.3),
        "init.scale": float(10 ** random.uniform(-8, -0.5)),
        "init.balanced": bool(random.random() < 0.7),
        "flow.rtol": float(10 ** random.uniform(-8, -3)),
        "observe.times": 40,
    }
    if activation in ("prelu", "relu_power"):
        keys["model.degree"] = int(random.integers(2, 4))
    return {**keys, **more}


def loss(random: Random) -> str:
    return str(random.choice(["square", "logistic", "exponential"]))


def smooth(random: Random) -> dict[str, Any]:
    keys = mixture(random, str(random.choice(["prelu", "relu_power", "tanh"])), **{"loss.kind": loss(random)})
    if random.random() < 0.25:
        return {**keys, "flow.until": {"loss": 0.05, "steps": BUDGET}}
    return {**keys, "flow.until": {"time": float(10 ** random.uniform(1, 2.7))}}


def kinks(random: Random) -> dict[str, Any]:
    keys = mixture(random, str(random.choice(["relu", "relu", "leaky_relu"])), **{"loss.kind": loss(random)})
    return {**keys, "flow.until": {"time": float(10 ** random.uniform(1, 2.3))}}


def loss_clock(random: Random) -> dict[str, Any]:
    keys = mixture(random, str(random.choice(["relu", "prelu", "leaky_relu"])))
    goal = {"log10_loss": float(-(10 ** random.uniform(0.5, 2.4)))} if random.random() < 0.7 else {"loss": 1e-6}
    spacing = str(random.choice(["linear", "log"]))
    kind = str(random.choice(["logistic", "exponential"]))
    return {**keys, "loss.kind": kind, "flow.until": {**goal, "steps": BUDGET}, "observe.spacing": spacing}


def stages(random: Random) -> dict[str, Any]:
    """A flow, perhaps some iterations of descent, and a flow of another tolerance. No attackers: where the gradient in a
    sample vanishes, the direction of an attack jumps, and there is no reference."""
    keys = mixture(random, str(random.choice(["prelu", "relu"])), **{"loss.kind": loss(random)})
    first: dict[str, Any] = {
        "name": "first",
        "rtol": keys.pop("flow.rtol"),
        "until": {"time": float(10 ** random.uniform(1, 2))},
    }
    later = {"rtol": float(10 ** random.uniform(-8, -3)), "until": {"time": float(10 ** random.uniform(0.5, 1.5))}}
    descent = {"name": "descent", "method": "gradient_descent", "step": 0.05, "iterations": 20}
    between = [descent] if random.random() < 0.4 and keys["init.scale"] > 1e-6 else []
    return {**keys, "stage": [first, *between, {"name": "later", **later}]}


def ensembles(random: Random) -> dict[str, Any]:
    keys = kinks(random) if random.random() < 0.5 else mixture(random, "prelu", **{"flow.until": {"time": 60.0}})
    return {**keys, "seed": [int(seed) for seed in random.integers(2**31, size=3)], "observe.times": 20}


def networks(random: Random) -> dict[str, Any]:
    """Networks that are functions of trees of arrays: deep, linear, diagonal, polynomial."""
    kind = str(random.choice(["mlp", "deep_linear", "diagonal"]))
    keys: dict[str, Any] = {
        "seed": int(random.integers(2**31)),
        "data.kind": "linear_teacher",
        "data.dimension": 6,
        "data.samples": 16,
        "loss.kind": "square",
        "flow.rtol": float(10 ** random.uniform(-8, -3)),
        "flow.until": {"time": float(10 ** random.uniform(0.5, 1.7))},
        "observe.times": 30,
        "init.scale": float(10 ** random.uniform(-3, -0.3)),
    }
    if kind == "mlp":
        keys |= {"model": {"kind": "mlp", "widths": [6, 5], "activation": "tanh"}}
    elif kind == "deep_linear":
        keys |= {"model": {"kind": "deep_linear", "depth": 2, "width": 5}}
    else:
        keys |= {"model": {"kind": "diagonal"}}
    return keys


SORTS: dict[str, Callable[[Random], dict[str, Any]]] = {
    "smooth": smooth,
    "kinks": kinks,
    "loss clock": loss_clock,
    "stages": stages,
    "ensembles": ensembles,
    "networks": networks,
}


def scenarios(sort: str, first: int, count: int) -> Iterator[tuple[int, flowsim.Scenario]]:
    """(number, scenario): as many as are wanted; the caller may ask for more, where one cannot be run."""
    for number in range(first, first + count):
        random = np.random.default_rng([list(SORTS).index(sort), number])
        keys = SORTS[sort](random)
        yield number, flowsim.Scenario().replace(keys)


def reference(scenario: flowsim.Scenario, tree: xr.DataTree) -> xr.DataTree:
    """The same problem at REFERENCE_RTOL, at the instants that the run has kept."""
    if "log10_time" in tree.coords:
        return _by_the_loss_clock(scenario, tree)
    asked: dict[str, Any] = {f"{key}.rtol": REFERENCE_RTOL for key, flow in scenario.flows() if not flow.descends}
    if not scenario.stage and not scenario.flow.until.time:
        times = tree["time"].to_numpy()
        asked |= {"observe.times": times.tolist(), "flow.until": {"time": float(times[-1])}}
    return flowsim.run(scenario.replace(asked), warn=lambda message: None)


def _by_the_loss_clock(scenario: flowsim.Scenario, tree: xr.DataTree) -> xr.DataTree:
    """Beyond any time that [observe] could list. By a pair of order 8: error control does not look at the time of the loss
    clock, and that adds up over the many more steps of a pair of order 5."""
    prepared, kept = Prepared(scenario), layout.trajectory_of(tree)
    prepared.plans = tuple(replace(plan, solver="dop853+rkc2") for plan in prepared.plans)
    with patch.object(companion, "rtol_of", lambda rtol: REFERENCE_RTOL), patch.object(companion, "ROUNDING", 0.0):
        exact = companion.Companion(prepared, kept)
        exact.follow(lambda report: None, lambda: None, np.zeros(1, dtype=np.bool_))
    found = beside.filled(exact.trajectory(complete=False), kept)
    return xr.DataTree(beside.group(scenario, prepared.problem, found, layout.coordinates(prepared.setting)))


def measure(sort: str, number: int, scenario: flowsim.Scenario) -> Measured | None:
    """None where the run does not reach its end."""
    certified = scenario.replace({f"{key}.certify": True for key, flow in scenario.flows() if not flow.descends})
    tree = flowsim.run(certified, warn=lambda message: None)
    if tree.attrs["status"] != "done":
        return None
    truth = reference(scenario, tree)
    units: list[tuple[Floats, Floats]] = []
    entries: list[tuple[Floats, Floats]] = []
    worst, misses = [], []
    for name, (true, stated) in _errors(tree, truth):
        pairs = true.max(axis=1), stated.max(axis=1)
        units.append(pairs)
        entries.append((true[stated > 0], stated[stated > 0]))
        worst.append((pairs[0].max(), pairs[1].max()))
        if (pairs[0] > pairs[1]).any():
            place = int((pairs[0] / np.maximum(pairs[1], 1e-300)).argmax())
            misses.append(f"{name}[{place}]: {pairs[0][place]:.1e} > {pairs[1][place]:.1e}")
    group = tree["error"].attrs
    return Measured(
        sort,
        number,
        *_shares(units),
        *_shares(entries),
        float(np.mean([stated <= TIMES * true for true, stated in worst])),
        float((group["evaluations"] + group["companion_evaluations"]) / group["evaluations"]),
        str(group.get("undetermined", "")),
        "; ".join(misses),
    )


def _shares(pairs: Sequence[tuple[Floats, Floats]]) -> tuple[float, float]:
    """(covered, close) of all pairs of true and stated errors."""
    true, stated = (np.concatenate([pair[place] for pair in pairs]) for place in (0, 1))
    return float((true <= stated).mean()), float((stated <= TIMES * true).mean())


def _errors(tree: xr.DataTree, truth: xr.DataTree) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
    """name -> true and stated errors (instants, entries) of every variable; neither is below what rounding makes of it."""
    groups = [tree.to_dataset(inherit=False), *(node.to_dataset(inherit=False) for node in tree.children.values())]
    others = [truth.to_dataset(inherit=False), *(node.to_dataset(inherit=False) for node in truth.children.values())]
    for name, error in tree.children["error"].to_dataset(inherit=False).data_vars.items():
        over = "time" if "time" in error.dims else "snapshot"
        here = next((group[name] for group in groups if name in group), None)
        there = next((group[name] for group in others if name in group), None)
        if name == "undetermined" or here is None or there is None:
            continue
        arrays = [np.asarray(array.transpose(over, ...).values, dtype=float) for array in (here, there, error)]
        values, exact, stated = (array.reshape(len(array), -1) for array in arrays)
        if not values.size:
            continue
        with np.errstate(invalid="ignore"):
            true = np.where(values == exact, 0.0, np.abs(values - exact))
        size = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=1, keepdims=True)
        least = ROUNDING * np.maximum(size, float(any(word in str(name) for word in OF_ORDER_1)))
        # where a variable has no value there is no error
        there = ~np.isnan(values)
        true, stated = (np.where(there, np.maximum(error, least), 0.0) for error in (true, stated))
        some = there.any(axis=1)
        if some.any():
            yield str(name), (true[some], stated[some])


def main() -> None:
    options = _options()
    for line in machine(LIBRARIES):
        print(line)
    found: dict[str, list[Measured]] = {sort: [] for sort in options.sorts}
    for sort in options.sorts:
        for number, scenario in scenarios(sort, options.first, options.problems):
            one = _kept(options.keep, sort, number)
            if one is None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    one = measure(sort, number, scenario)
                if one is None:
                    say(f"{sort} {number}: does not reach its end")
                    continue
                _keep(options.keep, one)
            found[sort].append(one)
            say(
                f"{sort} {number}: covered {one.covered:.3f} close {one.close:.3f} cost {one.cost:.2f} {one.worst[:100]}"
            )
    every = [one for sort in found.values() for one in sort]
    rows = [_row(sort, those) for sort, those in (*found.items(), ("all", every)) if those]
    print("", *text_table(COLUMNS, rows), "", *_verdict(every), sep="\n")
    if options.markdown:
        write_markdown(options.markdown, COLUMNS, rows)


def _row(name: str, those: Sequence[Measured]) -> tuple[str, ...]:
    def mean(of: str) -> str:
        return f"{100 * np.mean([getattr(one, of) for one in those]):.1f} %"

    shares = ("covered", "close", "entries_covered", "entries_close", "worst_close")
    costs = [one.cost for one in those]
    return (name, str(len(those)), *map(mean, shares), f"{np.mean(costs):.2f}", f"{max(costs):.2f}")


def _verdict(those: Sequence[Measured]) -> Iterator[str]:
    covered, close = (np.mean([getattr(one, of) for one in those]) for of in ("covered", "close"))
    dear = sum(one.cost > COST for one in those)
    for words, holds in (
        (f"the true error is within the stated one in at least {WITHIN:.0%}: {covered:.2%}", covered >= WITHIN),
        (f"the stated one is within {TIMES:g} times the true one in at least {CLOSE:.0%}: {close:.2%}", close >= CLOSE),
        (f"a certified run costs at most {COST:g} runs: {dear} of {len(those)} cost more", not dear),
    ):
        yield f"{'holds' if holds else 'DOES NOT HOLD'}: {words}"
    named = [f"{one.sort} {one.seed}: {one.undetermined}" for one in those if one.undetermined]
    yield f"undetermined neurons: {len(named)} problems" + "".join(f"\n  {line}" for line in named)


def _kept(folder: Path | None, sort: str, number: int) -> Measured | None:
    """What an earlier call has measured."""
    file = folder / f"{sort.replace(' ', '_')}_{number}.json" if folder else None
    return Measured(**json.loads(file.read_text())) if file is not None and file.exists() else None


def _keep(folder: Path | None, one: Measured) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{one.sort.replace(' ', '_')}_{one.seed}.json"
        file.write_text(json.dumps(asdict(one)), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="how often stated errors hold, and how close they are")
    parser.add_argument("--problems", type=int, default=60, help="of each sort (default: 60)")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem (default: 0)")
    parser.add_argument("--sorts", nargs="+", choices=SORTS, default=[*SORTS], help="which (default: all)")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="go on from what an earlier call has measured there"
    )
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as markdown, too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
