"""The parts of the page that are words and tables, of one run each, as HTML."""

from __future__ import annotations

import base64
import json
from shlex import quote
from typing import Any

import numpy as np

from ...evaluate.global_error import cost, neurons_in_doubt, worst
from ...evaluate.neurons import FATES
from ...evaluate.phases import moment
from ...evaluate.verdicts import FAILS, HOLDS, NOT_APPLICABLE, counted
from ...kinds.plugins_used import ATTRIBUTE as PLUGINS
from ...kinds.plugins_used import lines as plugin_lines
from ...markup import escape, facts, table
from ..run import Phase, Run, number
from ..summary import what_ran

#: Two marks of the timeline closer than this, in percent of its length, are drawn one above the other.
CLOSE = 5.0
#: So many neurons of a fate are named.
NAMED_NEURONS = 12
#: Attributes that have a place of their own on the page.
ELSEWHERE = {"scenario", "title", "warnings", "status", "status_cause", "status_remedy", PLUGINS}
#: Status -> its sign, and how it looks; every other one is a failure.
ENDINGS = {"done": ("✓", "good"), "running": ("…", ""), "unknown": ("?", "")}
SIGNS = {HOLDS: "✓", FAILS: "✗", NOT_APPLICABLE: "–"}


def headline(run: Run) -> str:
    """What ran in a few words; the file's name where it does not say."""
    told = what_ran(run.source.trajectory)
    return ", ".join(told[name] for name in ("network", "neurons", "loss") if name in told) or run.name


def ran(run: Run) -> str:
    """What ran, from what the file holds, and the user's own title, which may be that of another scenario."""
    title = str(run.attributes["title"])
    said = f'<p class="title">Title in the scenario: “{escape(title)}”</p>' if title else ""
    return facts(what_ran(run.source.trajectory).items()) + said


def verdict(run: Run) -> str:
    """How the run ended, and how many of its claims hold."""
    told = run.attributes
    sign, mood = ENDINGS.get(told["status"], ("✗", "bad"))
    lines = [
        f'<p class="verdict {mood}"><strong>{sign} {escape(told["status"])}</strong>: '
        f"{escape(told['status_cause'])}.{_claims_held(run)}</p>"
    ]
    if told["status_remedy"]:
        lines.append(f"<p><strong>What to do:</strong> {escape(told['status_remedy'])}.</p>")
    lines += [f"<p><strong>Warning:</strong> {escape(line)}</p>" for line in str(told["warnings"]).splitlines()]
    lines += [f"<p><strong>Plugin:</strong> {escape(line)}</p>" for line in plugin_lines(told)]
    if run.is_ensemble:
        members, shown = run.source.trajectory.sizes["seed"], run.first.attributes["seed"]
        lines.append(
            f"<p>An ensemble of {members} members. Curves are over all of them; the moving pictures show that of seed "
            f"{shown}. <code>flowsim report --seed</code> makes a page of one member.</p>"
        )
    return "".join(lines)


def _claims_held(run: Run) -> str:
    verdicts = [str(claim["verdict"]) for claim in run.claims]
    return f' <a href="#claims">Claims: {counted(verdicts)}</a>.' if verdicts else ""


def timeline(run: Run) -> str:
    """The phases as numbered marks on a line, and as a list."""
    phases = run.phases
    if not phases:
        return _absent("phases", "No phases", "the file has none of the variables that they are found from.")
    marks, lanes, last = [], [0], -np.inf
    for phase, place in _placed(run, phases):
        lanes.append(lanes[-1] + 1 if place - last < CLOSE else 0)
        last = place
        marks.append(f'<span class="mark" style="left:{place:.2f}%;--lane:{lanes[-1]}">{phase.number}</span>')
    clock = run.clock.values[np.isfinite(run.clock.values)]
    begin, end = (moment(clock[index], run.clock.logarithms) for index in (0, -1))
    reached = "".join(
        f'<li value="{phase.number}">{_phase(phase)}</li>' for phase in phases if phase.number is not None
    )
    missing = "".join(f"<li>{_phase(phase)}</li>" for phase in phases if phase.number is None)
    return (
        f'<div class="timeline" aria-hidden="true" style="--lanes:{max(lanes) + 1}">'
        f'<div class="line">{"".join(marks)}</div>'
        f'<div class="ends"><span>{begin}</span><span>{end}</span></div></div>'
        + (f'<ol class="phases">{reached}</ol>' if reached else "")
        + (f'<ul class="phases">{missing}</ul>' if missing else "")
    )


def unaligned(run: Run) -> str:
    """Which neurons are not aligned with a centre at the end, and why not; "" where no fates are known."""
    fates = run.fates
    if not fates:
        return ""
    rows = [(fate, str(len(of)), _listed(of), FATES[fate]) for fate, of in fates.items() if fate != "aligned"]
    count = sum(map(len, fates.values()))
    words = (
        f"<p>{len(fates.get('aligned', ()))} of {count} neurons are aligned with their target centre at the end.</p>"
    )
    shown = table(("not aligned", "how many", "neurons", "what that is"), rows, 'class="stack"') if rows else ""
    return words + shown


def _listed(neurons: list[int]) -> str:
    return ", ".join(map(str, neurons[:NAMED_NEURONS])) + (", …" if len(neurons) > NAMED_NEURONS else "")


def _phase(phase: Phase) -> str:
    return (
        f'<strong>{escape(phase.name)}</strong> <span class="when">{escape(phase.words)}</span> '
        f"<span>{escape(phase.definition)}</span>"
    )


def _placed(run: Run, phases: list[Phase]) -> list[tuple[Phase, float]]:
    """Each phase that was reached, and where on the line it is, in percent."""
    clock = run.clock.values[np.isfinite(run.clock.values)]
    begin, length = clock[0], max(clock[-1] - clock[0], np.finfo(float).tiny)
    places = ((phase, 100 * (phase.instant - begin) / length) for phase in phases)
    return [(phase, float(np.clip(place, 0, 100))) for phase, place in places if np.isfinite(place)]


def limit(run: Run) -> str:
    """How far the run is from a KKT point of the margin problem at its end, and the one it goes to; "" without."""
    rows: list[tuple[str, str]] = []
    if "kkt" in run.groups:
        last = run.group("kkt").isel(time=-1)
        rows += [(str(name), number(float(value))) for name, value in last.data_vars.items() if value.ndim == 0]
    if "limit" in run.groups:
        found = run.group("limit")
        rows.append(("limit", str(found.attrs["verdict"])))
        rows += [(f"limit: {name}", number(float(value))) for name, value in found.data_vars.items() if value.ndim == 0]
    return facts(rows) if rows else ""


def claims(run: Run) -> str:
    rows = [
        (
            str(claim["claim"]),
            str(claim["prediction"]) or "—",
            number(float(claim["measured"])),
            f"{SIGNS.get(str(claim['verdict']), '')} {claim['verdict'].replace('_', ' ')}".strip(),
            str(claim["where"]),
            " — ".join(filter(None, (str(claim[key]) for key in ("statement", "measures", "note") if key in claim))),
            _rests_on(claim),
        )
        for claim in run.claims
    ]
    if not rows:
        why = "the file has no group claims: evaluate.claims was empty, the run did not finish, or it is an ensemble."
        return _absent("claims", "No claims", why)
    header = ("claim", "predicted", "measured", "verdict", "where in the paper", "statement", "what it rests on")
    return table(header, rows, 'class="stack"')


def _rests_on(claim: dict[str, Any]) -> str:
    """Premises with their margins, constants with their origins, and the span."""
    premises = [f"{name} ({value:.4g}, margin {margin:.4g})" for name, value, _, margin in claim["premises"]]
    constants = [f"{name} = {value:.4g} ({origin})" for name, value, origin in claim["constants"]]
    span = [f"{claim['span']}: {claim['span_instants']:.0f} kept instants"] if claim.get("span") else []
    return "; ".join([*premises, *constants, *span]) or "—"


def errors(run: Run) -> str:
    """The largest estimated error of each variable, and the neurons that are undetermined; "" without."""
    if "error" not in run.groups:
        return ""
    group = run.group("error")
    rtol = ", ".join(f"{value:g}" for value in np.atleast_1d(group.attrs["companion_rtol"]))
    words = (
        f"<p>Estimated by a companion run at rtol {rtol}; both together made {cost(group):.2f} times the evaluations of "
        "the run alone. Bands of curves are wider by these errors.</p>"
    )
    if ended := str(group.attrs["companion_ended"]):
        words += f"<p><strong>No estimate from there on:</strong> {escape(ended)}.</p>"
    if told := neurons_in_doubt(group):
        words += f"<p><strong>Undetermined:</strong> {escape(told)}.</p>"
    rows = [(name, f"{largest:.2g}", number(time)) for name, (largest, time) in worst(group).items()]
    return words + table(("variable", "largest error", "at time"), rows, 'class="stack"')


def numerics(run: Run) -> str:
    told, last = run.attributes, run.final
    names = ("steps", "rejections", "evaluations", "updates", "events")
    counts = [(name, _spread(last[name])) for name in names if name in last]
    how = ("method", "engine", "solver", "flow_coordinates", "precision", "rtol", "step", "batch")
    settings = [(name.replace("flow_", ""), _plain(told[name])) for name in how if name in told]
    return facts([*counts, *settings, ("wall time", f"{number(float(told['wall_time']))} s")])


def at_the_end(run: Run) -> str:
    """The numbers one looks at first."""
    counts = {"steps", "rejections", "evaluations", "updates", "events"}
    return facts((name, _spread(values)) for name, values in run.final.items() if name not in counts)


def scenario(run: Run) -> str:
    text = str(run.attributes["scenario"])
    if not text:
        return _absent("scenario", "No scenario", "the file does not hold it any more.")
    saved = base64.b64encode(text.encode()).decode()
    link = f'<a download="scenario.toml" href="data:text/plain;charset=utf-8;base64,{saved}">Save as scenario.toml</a>'
    return f'<pre tabindex="0" aria-label="scenario of {escape(run.name)}">{escape(text)}</pre><p>{link}</p>'


def provenance(run: Run) -> str:
    rows = ((name, _plain(value)) for name, value in run.attributes.items() if name not in ELSEWHERE)
    return table(("attribute", "value"), rows, 'class="facts"')


def reproduction(run: Run) -> str:
    """Commands that make the run again and compare it with this one; they take the scenario from the file itself."""
    if not run.attributes["scenario"]:
        return ""
    version, again = escape(str(run.attributes["flowsim_version"])), "again.nc"
    read = f'import flowsim; print(flowsim.open({json.dumps(run.name)}).attrs["scenario"], end="")'
    lines = [f"python -c {quote(read)} > scenario.toml", f"flowsim run scenario.toml -o {again}"]
    lines += [] if "seed" in run.source.trajectory.coords else [f"flowsim compare {quote(run.name)} {again}"]
    commands = escape("\n".join(lines))
    return (
        f"<p>With flowsim {version}, and beside the scenario the files that it names:</p>"
        f'<pre tabindex="0" aria-label="commands">{commands}</pre>'
    )


def other_groups(run: Run) -> str:
    """What is in the file and not on this page."""
    shown = {"phases", "claims", "robustness", "numerics", "final", "checkpoint", "data", "error", "companion"}
    rows = [(name, ", ".join(map(str, group.data_vars))) for name, group in run.groups.items() if name not in shown]
    return table(("group", "variables"), rows) if rows else ""


def robustness(run: Run) -> str:
    """Robust accuracy at every radius, of every classifier under every attack."""
    if "robustness" not in run.groups:
        return ""
    group = run.group("robustness")
    header = ("classifier", "attack", *(f"{radius:.4g}" for radius in group["radius"].values))
    rows = [
        (str(name), str(attack), *(f"{value:.3f}" for value in values))
        for name, of_attacks in zip(group["classifier"].values, group["robust_accuracy"].values, strict=True)
        for attack, values in zip(group["attack"].values, of_attacks, strict=True)
    ]
    samples = f"{group.sizes['test_sample']} {'training' if group.attrs['samples'] == 'training' else 'fresh'} samples"
    words = f"<p>Share of {samples} that are classified right wherever the attack moves them to within the radius.</p>"
    return (
        words
        + f'<div class="wide" tabindex="0" role="group" aria-label="robust accuracies">{table(header, rows)}</div>'
    )


def _absent(key: str, title: str, why: str) -> str:
    return f'<p class="absent" data-absent="{key}"><strong>{escape(title)}:</strong> {escape(why)}</p>'


def _plain(value: object) -> str:
    if isinstance(value, np.ndarray):
        return ", ".join(map(str, value.tolist()))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _spread(values: object) -> str:
    """A number; over the members of an ensemble, median and quartiles."""
    found = np.asarray(values, float)
    if not found.ndim:
        return f"{float(found):.5g}"
    there = found[~np.isnan(found)]
    if not len(there):
        return "—"
    with np.errstate(invalid="ignore"):
        lower, median, upper = np.quantile(there, (0.25, 0.5, 0.75))
    return f"{median:.5g} [{lower:.5g}, {upper:.5g}]"
