"""A result as a page of text, and as a summary for machines; of an ensemble, quartiles over its members."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..evaluate.neurons import fates
from ..evaluate.phases import moment
from ..evaluate.verdicts import FAILS, HOLDS, counted, rows
from ..kinds.plugins_used import lines as plugin_lines
from ..present.robust import median_radius
from ..present.summary import COUNTS, QUARTILES, last_values, phase_instants
from . import errors
from .common import finite
from .sparklines import Sheet, over_time, timeline


def summary(tree: xr.DataTree) -> dict[str, Any]:
    """Status, phases, final values and numerics; numbers that do not exist are None.

    Of an ensemble, what differs between its members is a table of their quartiles.
    """
    attributes, numerics = tree.attrs, tree.children["numerics"]
    facts = {
        "title": attributes["title"],
        "status": attributes["status"],
        "status_cause": attributes["status_cause"],
        "status_remedy": attributes["status_remedy"],
        "exit_code": int(numerics.attrs["exit_code"]) if "exit_code" in numerics.attrs else None,
        "engine": attributes["engine"],
        "solver": attributes["solver"],
        "coordinates": attributes["flow_coordinates"],
        "wall_time": finite(attributes["wall_time"]),
    }
    if "seed" in tree.dims:
        stop_time, phases, final = _members(tree)
        return facts | {
            "members": tree.sizes["seed"],
            "done": int((numerics["exit_code"] == 0).sum()) if "exit_code" in numerics else None,
            "time": _quartiles(stop_time),
            "phases": {name: _quartiles(values) | {"reached": _reached(values)} for name, values in phases.items()},
            "final": {name: _quartiles(values) for name, values in final.items() if name not in COUNTS},
            **{name: _quartiles(final[name]) for name in COUNTS if name in final},
            **({"error": errors.summary(tree)} if "error" in tree.children else {}),
        }
    last = numerics.to_dataset().isel(time=-1)
    return facts | {
        "time": finite(float(last["time"])),
        **({"log10_time": float(tree["log10_time"].to_numpy()[-1])} if "log10_time" in tree.coords else {}),
        **_reached_at(tree),
        "final": {name: finite(float(values)) for name, values in last_values(tree.to_dataset().isel(time=-1)).items()},
        **{name: int(last[name]) for name in COUNTS if name in last},
        **({"error": errors.summary(tree)} if "error" in tree.children else {}),
        **({"claims": _claims(tree)} if "claims" in tree.children else {}),
        **({"distance": _distance(tree)} if "distance" in tree.children else {}),
        **({"robustness": _robustness(tree)} if "robustness" in tree.children else {}),
    }


def text(tree: xr.DataTree, sheet: Sheet) -> str:
    """A page for people, that fits on their sheet."""
    facts = summary(tree)
    lines = [facts["title"] or "flowsim run", f"status       {facts['status']}: {facts['status_cause']}"]
    if facts["status_remedy"]:
        lines.append(f"remedy       {facts['status_remedy']}")
    lines += [f"warning      {warning}" for warning in tree.attrs["warnings"].splitlines()]
    lines += [f"plugin       {line}" for line in plugin_lines(tree.attrs)]
    lines += _of_ensemble(tree, sheet) if "seed" in tree.dims else _of_run(tree, facts, sheet)
    return sheet.fitted(lines)


def _reached_at(tree: xr.DataTree) -> dict[str, dict[str, float | None]]:
    """The phases of a run, and of one on the loss clock the logarithms of their instants."""
    found = tree["phases"].to_dataset()
    phases = {"phases": phase_instants(found)}
    if "log10_time" in tree.coords:
        phases["log10_phases"] = phase_instants(found, logarithms=True)
    return {key: {name: finite(float(values)) for name, values in instants.items()} for key, instants in phases.items()}


def _of_run(tree: xr.DataTree, facts: dict[str, Any], sheet: Sheet) -> list[str]:
    line, marks = timeline(tree, sheet)
    lines = ["phases"]
    logarithms = "log10_time" in tree.coords
    instants = phase_instants(tree["phases"].to_dataset(), logarithms)
    for name, instant in sorted(instants.items(), key=lambda pair: _place(pair[1])):
        when = "not reached" if np.isnan(instant) else moment(float(instant), logarithms, 6)
        lines.append(f"{marks.get(name, ''):<2}{name:<22} {when:>12}  {_definition(tree, name)}")
    lines += [*line, *over_time(tree, sheet)]
    found = fates(tree.to_dataset())
    lines += [f"neurons      {', '.join(f'{len(of)} {fate}' for fate, of in found.items())}"] if found else []
    lines.append(f"at time {moment(facts['log10_time' if logarithms else 'time'], logarithms, 6)}")
    lines += [f"  {name:<22} {value:>12.6g}" for name, value in last_values(tree.to_dataset().isel(time=-1)).items()]
    lines += errors.lines(tree)
    lines += _apart(facts)
    lines += _withstanding(facts)
    lines += _towards_limit(tree)
    lines += _held_against(facts)
    counts = {name: str(facts[name]) for name in COUNTS if name in facts}
    return [*lines, _numerics(tree, counts)]


def _place(instants: Floats) -> tuple[bool, float]:
    """Sorts phases by when they are reached, of an ensemble by the median; those not reached come last."""
    there = np.atleast_1d(instants)[~np.isnan(np.atleast_1d(instants))]
    return not len(there), float(np.median(there)) if len(there) else 0.0


def _towards_limit(tree: xr.DataTree) -> list[str]:
    """How far the run is from a KKT point, and the one it goes to."""
    lines = []
    if "kkt" in tree.children:
        last = tree.children["kkt"].to_dataset().isel(time=-1)
        values = {str(name): float(value) for name, value in last.data_vars.items() if value.ndim == 0}
        lines += ["kkt", *(f"  {name:<22} {value:>12.6g}" for name, value in values.items() if not np.isnan(value))]
    if "limit" in tree.children:
        limit = tree.children["limit"].to_dataset()
        lines.append(f"limit        {limit.attrs['verdict']}")
        names = [name for name in ("residual", "alive", "support") if name in limit]
        lines += [f"  {name:<22} {float(limit[name]):>12.6g}" for name in names]
        lines += [f"  {'angle':<22} {float(limit['angle'][-1]):>12.6g}"] if "angle" in limit else []
    return lines


def _claims(tree: xr.DataTree) -> dict[str, dict[str, Any]]:
    """What the run has to say to each claim."""
    found = {}
    for row in rows(tree.children["claims"].to_dataset(inherit=False)):
        found[row.pop("claim")] = {
            **{key: _machine_readable(value) for key, value in row.items() if key not in ("premises", "constants")},
            "premises": [
                {
                    "name": name,
                    **{key: finite(value) for key, value in zip(("value", "bound", "margin"), of, strict=True)},
                }
                for name, *of in row["premises"]
            ],
            "constants": [
                {"name": name, "value": finite(value), "origin": origin} for name, value, origin in row["constants"]
            ],
        }
    return found


def _machine_readable(value: Any) -> str | bool | float | None:
    if isinstance(value, str):
        return str(value)
    return bool(value) if isinstance(value, bool | np.bool_) else finite(float(value))


def _distance(tree: xr.DataTree) -> dict[str, float | None]:
    """How far the network is from its ideal at the end."""
    found = tree.children["distance"].to_dataset(inherit=False)
    return {str(name): finite(float(values.values.flat[-1])) for name, values in found.data_vars.items()}


def _apart(facts: dict[str, Any]) -> list[str]:
    if "distance" not in facts:
        return []
    found = facts["distance"]
    words = "{distance:.4g} from F^({degree:g}) with the factor {factor:.4g}, {unscaled_distance:.4g} as it is"
    return [f"distance     {words.format(**found)}"]


def _robustness(tree: xr.DataTree) -> dict[str, Any]:
    """Robust accuracy of every classifier under every attack, and the radius at which half of the samples are lost."""
    group = tree.children["robustness"].to_dataset(inherit=False)
    attacks = [str(attack) for attack in group["attack"].values]
    accuracy = {
        str(name): dict(zip(attacks, values.tolist(), strict=True))
        for name, values in zip(group["classifier"].values, group["robust_accuracy"].values, strict=True)
    }
    return {
        "norm": str(group.attrs["norm"]),
        "radius": group["radius"].values.tolist(),
        "robust_accuracy": accuracy,
        "median_radius": {name: finite(size) for name, size in median_radius(group).items()},
    }


def _withstanding(facts: dict[str, Any]) -> list[str]:
    """A line for each attack on each classifier: accuracies at the radii."""
    if "robustness" not in facts:
        return []
    found = facts["robustness"]
    radii = "".join(f"{radius:>7.4g}" for radius in found["radius"])
    lines = [f"robustness   accuracy at radius ({found['norm']}){radii}"]
    for name, attacks in found["robust_accuracy"].items():
        for attack, values in attacks.items():
            lines.append(f"  {f'{name}, {attack}':<34}{''.join(f'{value:7.3f}' for value in values)}")
        half = found["median_radius"][name]
        if half is not None:
            lines.append(f"  {name}: half of the samples are lost at {half:.4g}")
    return lines


def _held_against(facts: dict[str, Any]) -> list[str]:
    """Each claim, what was measured and predicted, and what both rest on."""
    claims = facts.get("claims", {})
    lines = [f"claims       {counted(claim['verdict'] for claim in claims.values())}"] if claims else []
    for name, claim in claims.items():
        numbers = "" if claim["measured"] is None else f"{claim['measured']:.4g}"
        numbers += f", predicted {claim['prediction']}" if numbers and claim["prediction"] else ""
        lines.append(f"  {name}: {'; '.join(filter(None, (claim['verdict'], numbers)))}")
        lines += [f"    {line}" for line in _rests_on(claim)]
    return lines


def _rests_on(claim: dict[str, Any]) -> list[str]:
    why = "beware" if claim["verdict"] in (HOLDS, FAILS) else "because"
    lines = [f"{why}: {claim['note']}"] if claim["note"] else []
    lines.append(f"{claim['where']}: {claim['statement']}")
    if claim.get("measures"):
        lines.append(f"measured: {claim['measures']}")
    if claim["premises"]:
        told = [
            f"{premise['name']} ({_number(premise['value'])}, margin {_number(premise['margin'])})"
            for premise in claim["premises"]
        ]
        lines.append(f"premises: {'; '.join(told)}")
    if claim["constants"]:
        told = [
            f"{constant['name']} = {_number(constant['value'])} ({constant['origin']})"
            for constant in claim["constants"]
        ]
        lines.append(f"constants: {', '.join(told)}")
    if claim.get("span"):
        lines.append(
            f"span: {claim['span']}, {claim['span_instants']:.0f} kept instants, longest gap {claim['span_gap']:.4g}"
        )
    return lines


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.4g}"


def _of_ensemble(tree: xr.DataTree, sheet: Sheet) -> list[str]:
    line, marks = timeline(tree, sheet)
    stop_time, phases, final = _members(tree)
    members = tree.sizes["seed"]
    lines = [f"members      {members}; numbers are the median over them [lower quartile, upper quartile]", "phases"]
    for name, instants in sorted(phases.items(), key=lambda pair: _place(pair[1])):
        reached = f"{_reached(instants)} of {members}"
        spread = f"{_spread(instants):<36} {reached:>12}"
        lines.append(f"{marks.get(name, ''):<2}{name:<22} {spread}  {_definition(tree, name)}")
    lines += [*line, *over_time(tree, sheet)]
    lines.append(f"where they stopped, at time {_spread(stop_time).strip()}")
    lines += [f"  {name:<22} {_spread(values)}" for name, values in final.items() if name not in COUNTS]
    lines += errors.lines(tree)
    counts = {name: _spread(final[name]).strip() for name in COUNTS if name in final}
    return [*lines, _numerics(tree, counts)]


def _numerics(tree: xr.DataTree, counts: dict[str, str]) -> str:
    """What the solver did, as far as the file says it."""
    words = dict(zip(COUNTS, ("steps", "rejected", "evaluations"), strict=True))
    done = ", ".join(f"{count} {words[name]}" for name, count in counts.items())
    attributes = tree.attrs
    engine = f"{attributes['engine']} {attributes['solver']}, {attributes['flow_coordinates']} coordinates"
    seconds = f"{float(attributes['wall_time']):.1f} s"
    return f"numerics     {'; '.join(filter(None, (done, engine, seconds)))}"


def _definition(tree: xr.DataTree, phase: str) -> str:
    return str(tree["phases"]["definition"].sel(phase=phase).item())


def _members(tree: xr.DataTree) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
    """(stop time, phases, final values) of the members that have run."""
    stop_time = tree["numerics/stop_time"].to_numpy()
    ran = np.flatnonzero(~np.isnan(stop_time))
    final = last_values(tree.children["final"].to_dataset().isel(seed=ran))
    return (
        stop_time[ran],
        {name: instants[ran] for name, instants in phase_instants(tree["phases"].to_dataset()).items()},
        final,
    )


def _reached(instants: Floats) -> int:
    return int((~np.isnan(instants)).sum())


def _quartiles(values: Floats) -> dict[str, float | None]:
    """Over the values that exist."""
    return {name.replace(" ", "_"): finite(value) for name, value in zip(QUARTILES, _quantiles(values), strict=True)}


def _spread(values: Floats) -> str:
    """Median and quartiles over the values that exist."""
    lower, median, upper = _quantiles(values)
    return "not reached".rjust(12) if np.isnan(median) else f"{median:>12.6g} [{lower:.6g}, {upper:.6g}]"


def _quantiles(values: Floats) -> list[float]:
    there = values[~np.isnan(values)]
    if not len(there):
        return [np.nan] * len(QUARTILES)
    with np.errstate(invalid="ignore"):  # between two infinite values there is nothing
        return np.quantile(there, list(QUARTILES.values())).tolist()
