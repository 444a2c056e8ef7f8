"""flowsim check"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..gate import duration
from ..kinds.plugins_used import listed, used
from ..scenario import Scenario
from .common import add_json, add_scenario, print_json, put, read_scenario


def configure(parser: argparse.ArgumentParser) -> None:
    add_scenario(parser)
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    facts, lines = described(read_scenario(options))
    if options.json:
        print_json(facts)
    else:
        put(f"{options.scenario}: valid")
        put("\n".join(lines))
    return 0


def described(scenario: Scenario) -> tuple[dict[str, Any], list[str]]:
    """What would run, for machines and in lines for people. Raises ScenarioError where that could not be kept."""
    from ..run.cost import check_disk
    from ..run.estimate import outlook
    from ..run.prepare import Prepared

    prepared = Prepared(scenario)
    check_disk(prepared.selection.bytes, Path(), "this run", "keep fewer observe.times")
    facts = _facts(prepared, outlook(prepared))
    if not scenario.sweep.keys:
        return facts, _lines(facts)
    from ..sweep.estimate import outlook as of_sweep
    from ..sweep.estimate import table

    facts["sweep"] = of_sweep(scenario)
    check_disk(facts["sweep"]["kept_bytes"], Path(), "this sweep", "make fewer points, or keep fewer observe.times")
    return facts, [*_lines(facts), *table(facts["sweep"])]


def _facts(prepared: Any, expected: Any) -> dict[str, Any]:
    from ..run.companion import rtol_of, rtols
    from ..run.cost import data_bytes

    problem, reduced, plan = prepared.problem, prepared.reduced, prepared.plan
    selection = prepared.selection
    neurons, coordinates = reduced.direction.shape
    return {
        "title": prepared.scenario.title,
        "members": len(prepared.scenario.seeds) if prepared.scenario.is_ensemble else None,
        "seed": prepared.scenario.seeds[0],
        "samples": len(problem.targets),
        "test_samples": len(problem.test.targets) if problem.test is not None else 0,
        "features": problem.features,
        "clusters": len(problem.centers),
        "neurons": neurons,
        "layers": [len(matrix) for matrix in problem.leaves] if problem.layered else [],
        "parameters": None if problem.has_neurons else sum(leaf.size for leaf in problem.network.leaves),
        "reduced_samples": len(reduced.targets),
        "reduced_coordinates": coordinates,
        "merged": reduced.merged,
        "projected": reduced.projected,
        "engine": plan.engine,
        "solver": plan.solver,
        "coordinates": plan.coordinates,
        "until": [_until(part.flow) for part in prepared.scenario.stages],
        "companion_rtol": [rtol_of(rtol) for rtol in rtols(prepared.scenario)] if prepared.scenario.certified else [],
        "plugins": [f"{plugin}: {listed(kinds)}" for plugin, kinds in used(prepared.scenario.to_dict()).items()],
        "reasons": list(plan.reasons),
        "warnings": list(plan.warnings),
        "variables": [observable.name for observable in selection.observables],
        "summarised": sorted(selection.summarised),
        "kept_bytes": selection.bytes,
        "data_bytes": data_bytes(problem, reduced),
        "operations_per_evaluation": expected.work.operations,
        "compile": expected.programs,
        "compile_seconds": expected.compiling,
        "run_seconds": expected.running,
        "stage_seconds": expected.stages,
        "evaluations": expected.evaluations,
        "evaluate_seconds": expected.evaluating,
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    trained = "neurons" if facts["parameters"] is None else "parameters"
    sizes = ", ".join(f"{facts[name]} {name}" for name in ("samples", "features", "clusters", trained))
    merged = f"{facts['merged']} equal samples merged" if facts["merged"] else "no equal samples to merge"
    sizes += "".join(f", {width} in layer {layer}" for layer, width in enumerate(facts["layers"], start=2))
    of_all = " of all members" if facts["members"] is not None else ""
    projected = "neurons moved into the span of the data" if facts["projected"] else "the data span all features"
    return [
        *([f"title        {facts['title']}"] if facts["title"] else []),
        *(f"plugin       {line}" for line in facts["plugins"]),
        *([_members(facts)] if facts["members"] is not None else []),
        f"sizes        {sizes}",
        *([f"held out     {facts['test_samples']} samples, not trained on"] if facts["test_samples"] else []),
        f"reduction    {facts['reduced_samples']} x {facts['reduced_coordinates']}: {merged}; {projected}",
        *(f"until        {line}" for line in facts["until"]),
        *(f"{choice.split(' ', 1)[0]:<12} {choice.split(' ', 1)[1]}" for choice in facts["reasons"]),
        *([f"certify      {_companion(facts)}"] if facts["companion_rtol"] else []),
        *(f"warning      {warning}" for warning in facts["warnings"]),
        f"variables    {', '.join(facts['variables'])}",
        *(f"summarised   {name}: quantiles per cluster, since it would be too large" for name in facts["summarised"]),
        f"memory       {_size(facts['data_bytes'])} data, {_size(facts['kept_bytes'])} kept{of_all}, at most",
        f"work         {facts['operations_per_evaluation'] / 1e9:.3g} Gflop per evaluation",
        f"time         {_time(facts)}",
        *([f"stages       about {_each(facts['stage_seconds'])}"] if len(facts["stage_seconds"]) > 1 else []),
        *([f"evaluate     {_evaluating(facts['evaluate_seconds'])}"] if facts["evaluate_seconds"] else []),
    ]


def _until(flow: Any) -> str:
    """The stop conditions of a flow, each with where it is watched."""
    from ..kinds.stop import STOPS, Watched

    def told(name: str, value: float) -> str:
        kept = ", at an instant that is kept" if STOPS[name].watched == Watched.KEPT else ""
        return f"{name} {value:g}{kept}"

    return "; or ".join(told(name, value) for name, value in flow.until.goals.items())


def _companion(facts: dict[str, Any]) -> str:
    return f"errors estimated by a companion run at rtol {', '.join(f'{rtol:g}' for rtol in facts['companion_rtol'])}"


def _time(facts: dict[str, Any]) -> str:
    """When a run that begins now will end."""
    first = "nothing to compile"
    if facts["compile"]:
        first = f"about {facts['compile_seconds']:.0f} s to compile {', '.join(facts['compile'])}"
        first += "" if "diffrax" in facts["compile"] else ", once on this machine"
    running, count = facts["run_seconds"], facts["evaluations"]
    return f"{first}; then of the order of {duration(running)}, reckoned with {count:.0f} evaluations"


def _each(seconds: dict[str, float]) -> str:
    return ", ".join(f"{duration(taken)} {name}" for name, taken in seconds.items())


def _evaluating(seconds: dict[str, float]) -> str:
    """What [evaluate] asks for is computed once the run has reached its end."""
    if len(seconds) == 1:
        return f"then about {_each(seconds)}"
    return f"then about {duration(sum(seconds.values()))}: {_each(seconds)}"


def _members(facts: dict[str, Any]) -> str:
    count = f"{facts['members']} member{'s' if facts['members'] > 1 else ''}"
    return f"ensemble     {count}; sizes are those of seed {facts['seed']}, others may differ once equal samples are merged"


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count < 2**30 else f"{count / 2**30:.2f} GiB"
