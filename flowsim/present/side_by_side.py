"""Several results in one dataset, along `run`: where they differ, how they ended, and their curves with several clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

import numpy as np
import xarray as xr

from ..arrays import Floats
from ..errors import ScenarioError, UsageError
from ..evaluate.case import Result
from ..evaluate.compare import NOT_COMPARABLE, compare
from ..evaluate.spans import shares, spans
from ..observe import OBSERVABLES
from ..results.stored import keys_of
from ..scenario.arrays import SECTIONS
from ..scenario.load import reread
from ..scenario.toml import inline
from .run import Run, opened
from .source import label
from .summary import curves, phase_instants, spread

#: clock -> what it is
CLOCKS = {
    "time": "flow time",
    "log_time": "log10 of flow time",
    "log_loss": "log10 of the training loss",
    "progress": "share of the parts behind it",
}
#: Curves that are no variable of a result by themselves -> the variable that they are of, and what of it.
DERIVED = {
    "best_cosine": ("cosine", "median over the neurons of the largest"),
    "log_norm": ("log_norm", "median over the neurons of the"),
    "smallest_margin": ("margin", "smallest"),
}
#: What the runs are told apart by in the tables: attribute -> its name in the dataset.
ENDINGS = ("title", "status", "status_cause", "engine", "solver", "flowsim_version")


def side_by_side(results: Sequence[Result], *, seed: int | None = None) -> xr.Dataset:
    """Several results in one dataset, whatever their widths, data and networks are.

    Dimension `run` has the files' names. Variables, strings being "" and numbers NaN where a run has nothing to say:

    - `setting` (key, run): the values, as TOML writes them, of the dotted keys of the canonical scenarios, defaults
      included, in which the runs differ; of arrays from files or from memory their shapes and SHA-256;
    - `title`, `status`, `status_cause`, `engine`, `solver`, `flowsim_version` (run), `end_time`, `end_log10_time` (run);
    - `phase_instant`, `phase_log10_instant` (run, phase), along `phase` those that any of the runs knows;
    - `final` (run, number): loss, accuracy, cosines and counts where each run stopped;
    - `verdict`, `measured`, `predicted` (run, claim): the findings of the claims that any of the runs was held against;
    - `why_not_matched` (run): why the neurons of a run and of the first run are not those of the same start on the same
      data; "" where they are, and then `distance` (run, measure) has the largest size of each variable of
      :func:`flowsim.compare` with the first run, over all instants and neurons;
    - `curve` (run, quantity, instant): `best_cosine` and `log_norm` (medians over the neurons), `smallest_margin`, and
      every variable that is a single number at each instant; `meaning` (quantity) says what each is. Instants are each
      run's own, at most 500, evenly chosen;
    - the clocks of the curves, coordinates (run, instant): `time`, `log_time` (log10 of flow time), `log_loss` (log10 of
      the training loss) and `progress`, from 0 to 1: each of the parts of a trajectory, burn_in to late, has a fifth, is
      gone through in proportion to time (to its log10 on the loss clock), and the part that a run ends in ends with it.

    seed: the member of ensembles; without it, curves, phases and final values are medians over the members.
    Raises UsageError where one of them is no result.
    """
    with ExitStack() as stack:
        return of_runs(opened(results, seed, stack)).load()


def of_runs(runs: Sequence[Run]) -> xr.Dataset:
    """The same of runs, whose names have to differ."""
    groups = [
        _settings(runs),
        _endings(runs),
        _phases(runs),
        _final(runs),
        _claims(runs),
        _distances(runs),
        _curves(runs),
    ]
    names = xr.DataArray([run.name for run in runs], dims="run", attrs={"long_name": "name of the result"})
    return xr.merge(groups, join="exact", compat="no_conflicts").assign_coords(run=names)


def settings(run: Run) -> dict[str, str]:
    """Dotted key -> its value in TOML, of the canonical scenario of a run, and what tells apart the arrays beside it."""
    text = str(run.attributes["scenario"])
    try:
        values: Mapping[str, Any] = reread(text).to_dict()
    except ScenarioError:  # of another version, or of a plugin that is not here; what is stored is canonical, too
        values = keys_of(run.attributes)
    found = dict(_flat(values)) if text else {}
    if found and "seed" in run.source.trajectory.coords and not run.is_ensemble:
        found["seed"] = str(run.attributes["seed"])
    return found | {f"{name} (arrays)": _digest(run.groups[name]) for name in SECTIONS if name in run.groups}


def _flat(values: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    found = []
    for key, value in values.items():
        if isinstance(value, dict) and value:
            found += _flat(value, f"{above}{key}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            found += [pair for place, item in enumerate(value) for pair in _flat(item, f"{above}{key}[{place}].")]
        else:
            found.append((f"{above}{key}", inline(value)))
    return found


def _digest(group: xr.Dataset) -> str:
    hashed = sha256()
    for name in sorted(map(str, group.data_vars)):
        hashed.update(name.encode() + np.ascontiguousarray(group[name].values).tobytes())
    shapes = ", ".join(f"{name} {'×'.join(map(str, array.shape))}" for name, array in group.data_vars.items())
    return f"{shapes}; SHA-256 {hashed.hexdigest()[:12]}"


def _settings(runs: Sequence[Run]) -> xr.Dataset:
    told = [settings(run) for run in runs]
    keys = [key for key in dict.fromkeys(key for one in told for key in one) if len({one.get(key) for one in told}) > 1]
    values = _texts([[one.get(key, "") for one in told] for key in keys], (len(keys), len(runs)))
    words = {"long_name": "value in the scenario, as TOML writes it"}
    return xr.Dataset({"setting": (("key", "run"), values, words)}, {"key": _texts(keys, (len(keys),))})


def _texts(values: Any, shape: tuple[int, ...]) -> Any:
    return np.array(values, dtype=object).reshape(shape)


def _endings(runs: Sequence[Run]) -> xr.Dataset:
    found: dict[str, Any] = {
        name: ("run", _texts([str(run.attributes.get(name, "")) for run in runs], (len(runs),))) for name in ENDINGS
    }
    ends = [run.source.trajectory.isel(time=-1) for run in runs]
    with np.errstate(divide="ignore"):
        logs = [
            float(end["log10_time"]) if "log10_time" in end.coords else np.log10(float(end["time"])) for end in ends
        ]
    found["end_time"] = ("run", [float(end["time"]) for end in ends], {"long_name": "flow time at the end"})
    found["end_log10_time"] = ("run", logs, {"long_name": "log10 of flow time at the end"})
    return xr.Dataset(found)


def _phases(runs: Sequence[Run]) -> xr.Dataset:
    groups = [run.group("phases") for run in runs]
    names = list(dict.fromkeys(str(name) for group in groups for name in group["phase"].values))
    instants, logs = np.full((2, len(runs), len(names)), np.nan)
    definition = dict.fromkeys(names, "")
    for place, (run, group) in enumerate(zip(runs, groups, strict=True)):
        own = [names.index(str(name)) for name in group["phase"].values]
        definition |= {
            str(one): str(text) for one, text in zip(group["phase"].values, group["definition"].values, strict=True)
        }
        instants[place, own] = [_median(values) for values in phase_instants(group).values()]
        if run.clock.logarithms:
            logs[place, own] = [_median(values) for values in phase_instants(group, logarithms=True).values()]
        else:
            with np.errstate(divide="ignore"):
                logs[place] = np.log10(instants[place])
    dims = ("run", "phase")
    return xr.Dataset(
        {
            "phase_instant": (dims, instants, {"long_name": "flow time at which the phase is reached"}),
            "phase_log10_instant": (dims, logs, {"long_name": "log10 of that time"}),
        },
        {"phase": _texts(names, (len(names),)), "definition": ("phase", _texts([*definition.values()], (len(names),)))},
    )


def _median(values: Any) -> float:
    there = np.atleast_1d(np.asarray(values, dtype=float))
    there = there[~np.isnan(there)]
    return float(np.median(there)) if len(there) else np.nan


def _final(runs: Sequence[Run]) -> xr.Dataset:
    finals = [run.final for run in runs]
    names = list(dict.fromkeys(name for final in finals for name in final))
    values = [[_median(final[name]) if name in final else np.nan for name in names] for final in finals]
    words = {"long_name": "where the run stopped"}
    return xr.Dataset(
        {"final": (("run", "number"), np.reshape(values, (len(runs), len(names))), words)},
        {"number": _texts(names, (len(names),))},
    )


def _claims(runs: Sequence[Run]) -> xr.Dataset:
    told = [{str(row["claim"]): row for row in run.claims} for run in runs]
    names = list(dict.fromkeys(name for one in told for name in one))
    shape, dims = (len(runs), len(names)), ("run", "claim")

    def of(key: str, missing: Any) -> list[list[Any]]:
        return [[one[name][key] if name in one else missing for name in names] for one in told]

    return xr.Dataset(
        {
            "verdict": (dims, _texts(of("verdict", ""), shape)),
            "measured": (dims, np.reshape(of("measured", np.nan), shape).astype(float)),
            "predicted": (dims, _texts(of("prediction", ""), shape)),
        },
        {"claim": _texts(names, (len(names),))},
    )


def _distances(runs: Sequence[Run]) -> xr.Dataset:
    """Of every run from the first one."""
    reasons: list[str] = [""]
    found: list[dict[str, float]] = [{}]
    for run in runs[1:]:
        try:
            apart = compare(runs[0].tree, run.tree)
        except UsageError as error:
            reasons.append(str(error).removeprefix(NOT_COMPARABLE))
            found.append({})
        else:
            per_neuron = {name: values for name, values in apart.data_vars.items() if values.ndim > 1 and values.size}
            reasons.append("")
            found.append({str(name): float(np.abs(values).max()) for name, values in per_neuron.items()})
    names = list(dict.fromkeys(name for one in found for name in one))
    values = np.reshape([[one.get(name, np.nan) for name in names] for one in found], (len(runs), len(names)))
    words = {"long_name": "largest over all instants and neurons, from the first run"}
    return xr.Dataset(
        {"why_not_matched": ("run", _texts(reasons, (len(runs),))), "distance": (("run", "measure"), values, words)},
        {"measure": _texts(names, (len(names),))},
    )


def _curves(runs: Sequence[Run]) -> xr.Dataset:
    drawn = []
    for run in runs:
        own = run.group("numerics")
        drawn.append(curves(run.trajectory, own.isel(time=run.clock.index) if "time" in own.dims else own))
    longest = max(len(run.clock.index) for run in runs)
    names = list(dict.fromkeys(name for one in drawn for name in one))
    values = [_rows([one.get(name) for one in drawn], longest) for name in names]
    stacked = np.reshape(values, (len(names), len(runs), longest))
    told_by = [clocks(run) for run in runs]
    told = {
        name: (("run", "instant"), _rows([one[name] for one in told_by], longest), {"long_name": words})
        for name, words in CLOCKS.items()
    }
    meanings = _texts([_meaning(name, runs) for name in names], (len(names),))
    return xr.Dataset(
        {"curve": (("run", "quantity", "instant"), stacked.transpose(1, 0, 2))},
        {"quantity": _texts(names, (len(names),)), "meaning": ("quantity", meanings), **told},
    )


def _rows(curves: Sequence[Floats | None], longest: int) -> Floats:
    found = np.full((len(curves), longest), np.nan)
    for place, values in enumerate(curves):
        if values is not None:
            found[place, : len(values)] = values
    return found


def _meaning(name: str, runs: Sequence[Run]) -> str:
    """What a curve is, in the words of the first run that has it."""
    variable, what = DERIVED.get(name, (name, ""))
    kept = (
        source[variable] for run in runs for source in (run.trajectory, run.group("numerics")) if variable in source
    )
    told = next(kept, None)
    return f"{what} {label(told)}".strip() if told is not None else OBSERVABLES[name].long_name


def clocks(run: Run) -> dict[str, Floats]:
    """Each of CLOCKS at the instants of the run's own clock, NaN where the run does not have it."""
    time = run.trajectory["time"].values.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_time = run.trajectory["log10_time"].values if run.clock.logarithms else np.log10(time)
    return {"time": time, "log_time": log_time, "log_loss": _log_loss(run), "progress": _behind(run)}


def _log_loss(run: Run) -> Floats:
    if "log10_loss" in run.trajectory:
        return spread(run.trajectory["log10_loss"], (0.5,))[0]
    if "loss" not in run.trajectory:
        return np.full(len(run.clock.index), np.nan)
    with np.errstate(divide="ignore"):
        return np.log10(spread(run.trajectory["loss"], (0.5,))[0])


def _behind(run: Run) -> Floats:
    """(T,): the share of the parts that lie behind each instant; NaN where the phases tell none apart."""
    parts = spans(run.source.trajectory, run.clock.logarithms)
    if not parts:
        return np.full(len(run.clock.index), np.nan)
    at, share = shares(parts)
    lowest = run.clock.values[np.isfinite(run.clock.values)].min() - 1.0  # the log10 of time 0 has no number
    return np.interp(np.maximum(run.clock.values, lowest), np.maximum(at, lowest), share)
