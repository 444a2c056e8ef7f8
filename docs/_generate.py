"""Reference tables, written from flowsim's own schema and registries so that they cannot fall behind the code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from _gallery import cards

from flowsim.durable import QUIET
from flowsim.evaluate.global_error import FACTOR, NEIGHBOUR
from flowsim.evaluate.phases import ALIGNED, AMPLIFIED, AVERAGED, CONVERGED
from flowsim.gate import LIMITS
from flowsim.observe import GROWN, NUMERICS, OBSERVABLES, QUANTILES
from flowsim.observe.kinds.sharpness import DENSE, TOLERANCE
from flowsim.observe.recorder import PER_SAMPLE_LIMIT
from flowsim.papers import CLAIMS
from flowsim.present.page.frames import FRAMES, NEURONS, UNIT
from flowsim.present.plots.phase_portrait import MAX_TRAILS
from flowsim.present.source import MAX_INSTANTS
from flowsim.results.layout import COORDINATES, DIMENSIONS, WEIGHTS
from flowsim.run.output import EARLY, SHARE
from flowsim.scenario.scenario import DEFAULT_TAGS
from flowsim.scenario.schema import schema
from flowsim.solve.constants import HELD_BACK
from flowsim.solve.diffrax.triangle import LEAST
from flowsim.solve.plan import AUTO_MIXED_RTOL, IMPLICIT_LIMIT, MIXED_RTOL, SMALL, SMALLEST_CARTESIAN
from flowsim.solve.schedule import LOG_SPAN
from flowsim.solve.shares import BUDGET

Spec = Mapping[str, Any]
#: The packages whose words introduce the sections that are one of several kinds.
HOMES = {
    "data": "flowsim.kinds.data",
    "model": "flowsim.kinds.networks",
    "init": "flowsim.kinds.inits",
    "loss": "flowsim.kinds.losses",
}
#: Packages that are their own functions.
PACKAGES = ("flowsim.evaluate", "flowsim.run", "flowsim.sweep")
#: class -> what its page shows of it; "" is everything that has a docstring
MEMBERS = {
    "flowsim.Scenario": "replace, to_dict, to_toml, sha256, source, source_text, error, is_ensemble, seeds, members",
    "flowsim.Problem": "",
    "flowsim.Weights": "of_logs, hidden, hidden_bias, output, save, to_torch",
    "flowsim.Case": "seed, scenario, problem, reduced, setting, trajectory, weights, weights_at, network, network_at, "
    "close",
    "flowsim.Premise": "fact, margin",
    "flowsim.Window": "of",
    "flowsim.evaluate.evidence.Evidence": "problem, end, network, limit, test, accuracy, over_time, between",
    "flowsim.evaluate.robustness.Classifier": "",
    "flowsim.evaluate.robustness.Network": "",
    "flowsim.evaluate.robustness.Ordinary": "value, value_and_gradient",
    "flowsim.evaluate.robustness.TwoLayer": "of, of_logs, value, value_and_gradient, gradient",
    "flowsim.evaluate.robustness.attacks.Target": "of",
    "flowsim.evaluate.scaling.Scaling": "line",
    "flowsim.observe.Instant": "",
    "flowsim.papers.allen_zhu_li_2022.Decoder": "",
    "flowsim.papers.allen_zhu_li_2022.Operated": "",
    "flowsim.papers.frei_vardi_2023.Flips": "share, smallest",
    "flowsim.present.accessor.FlowAccessor": "",
    "flowsim.present.sweeps.DrawnScaling": "plot",
    "flowsim.sweep.Result": "",
    "flowsim.sweep.Watch": "",
}
#: Classes that people make by hand: their pages show the arguments.
CONSTRUCTED = ("Constant", "Data", "Premise", "Rate", "Weights", "Window")


def constants() -> dict[str, str]:
    """Numbers that the pages quote, by the name they quote them with."""
    return {
        "aligned": f"{ALIGNED:g}",
        "amplified": f"{AMPLIFIED:g}",
        "auto_mixed_rtol": f"{AUTO_MIXED_RTOL:g}",
        "averaged": f"{AVERAGED:g}",
        "block_budget": f"{BUDGET / 2**20:g} MiB",
        "converged": f"{CONVERGED:g}",
        "dense_hessian": str(DENSE),
        "held_back": f"{HELD_BACK:g}",
        "grown": f"{GROWN:g}",
        "implicit_limit": str(IMPLICIT_LIMIT),
        "lanczos_tolerance": f"{TOLERANCE:g}",
        "certify_factor": f"{FACTOR:g}",
        "certify_neighbour": f"{NEIGHBOUR:g}",
        "log_span": f"{LOG_SPAN:,.0f}",
        "max_instants": str(MAX_INSTANTS),
        "max_points": f"{LIMITS['points'].value:,}",
        "max_trails": str(MAX_TRAILS),
        "mixed_rtol": f"{MIXED_RTOL:g}",
        "checkpoint_early": f"{EARLY:g}",
        "checkpoint_share": f"{100 * SHARE:g}",
        "lock_quiet": f"{QUIET:g}",
        "memory_limit": f"{LIMITS['kept'].value / 2**30:g} GiB",
        "per_sample_limit": f"{PER_SAMPLE_LIMIT:,}",
        "triangle_least": str(2 * LEAST),
        "quantiles": ", ".join(f"{share:g}" for share in QUANTILES),
        "small_mflop": f"{SMALL / 1e6:g}",
        "report_frames": str(FRAMES),
        "report_neurons": str(NEURONS),
        "report_unit": f"{1 / UNIT:.0e}",
        "smallest_cartesian": f"{SMALLEST_CARTESIAN:g}",
    }


def write(folder: Path) -> None:
    """Write every generated page into a folder."""
    folder.mkdir(exist_ok=True)
    pages = {
        "scenario": _scenario(),
        "observables": _table(("variable", "dimensions", "units", "meaning"), _observables()),
        "coordinates": _table(("coordinate", "dimensions", "meaning"), _described(COORDINATES)),
        "weights": _table(("variable", "dimensions", "meaning"), _described(WEIGHTS)),
        "claims": _table(("claim", "where", "what is measured; what stands for the paper's O(.)", "bound"), _claims()),
        "citation": _citation(),
        "gallery": cards(),
        "numerics": _table(("variable", "meaning"), ((_code(name), _plain(text)) for name, text in NUMERICS.items())),
    }
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _citation() -> Iterator[str]:
    """CITATION.cff as BibTeX."""
    said = yaml.safe_load((Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8"))
    authors = " and ".join(f"{{{author['name']}}}" for author in said["authors"])
    yield from ("```bibtex", f"@{said['type']}{{flowsim,", f"  author  = {{{authors}}},")
    yield from (f"  title   = {{{said['title']}}},", f"  version = {{{said['version']}}},", "}", "```")


def _observables() -> Iterator[tuple[str, ...]]:
    for item in OBSERVABLES.values():
        meaning = _plain(item.long_name) + (
            " (log companion)" if item.companion else " (on request)" if item.on_request else ""
        )
        yield _code(item.name), ", ".join(("time", *item.dims)), _plain(item.units), meaning


def _claims() -> Iterator[tuple[str, ...]]:
    for name, claim in CLAIMS.items():
        number = "of the setting" if callable(claim.bound) else f"{claim.bound:.4g}"
        bound = f"{'at least' if claim.at_least else 'at most'} {number}"
        yield _code(name), _plain(claim.where), _plain(claim.statement), bound


def _described(names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    for name, meaning in names.items():
        yield _code(name), ", ".join(DIMENSIONS[name]), _plain(meaning)


def _scenario() -> Iterator[str]:
    document = schema()
    sections = {name: spec for name, spec in document["properties"].items() if "oneOf" in spec or "$ref" in spec}
    yield "### Top level"
    arrays = {name: spec for name, spec in document["properties"].items() if "$ref" in spec.get("items", {})}
    others = {*sections, *arrays}
    yield from _keys({name: spec for name, spec in document["properties"].items() if name not in others})
    for name, spec in sections.items():
        yield from ("", f"### `[{name}]`", "")
        module = import_module(HOMES.get(name, f"flowsim.scenario.{name}")).__doc__ or ""
        yield _plain(_sentence(module.partition("\n\n")[0].partition(": ")[2].strip()))
        if "oneOf" in spec:
            yield from _kinds(name, spec["oneOf"], document)
        else:
            yield from _section(name, _definition(spec, document), document)
    for name, spec in arrays.items():
        yield from ("", f"### `[[{name}]]`", "")
        shared = _definition(document["properties"]["flow"], document)["properties"]
        definition = _definition(spec["items"], document)
        own = {key: value for key, value in definition["properties"].items() if key not in shared}
        yield _plain(_sentence(spec["description"])) + " The keys of `[flow]`, and:"
        yield from _section(name, {**definition, "properties": own, "description": ""}, document)


def _kinds(name: str, choices: list[Spec], document: Spec) -> Iterator[str]:
    """The variants of a section; where one of its kinds has variants of its own, these, then the other kinds."""
    families = [choice["oneOf"] for choice in choices if "oneOf" in choice]
    variants = [_definition(variant, document) for variant in (families[0] if families else choices)]
    others = [_definition(choice, document) for choice in choices if "oneOf" not in choice] if families else []
    kind = "kind" if others else ""
    if others:
        first, *rest = [one["properties"][kind]["const"] for one in (variants[0], *others)]
        listed = ", ".join((f"{_value(first)} (default)", *map(_value, rest)))
        yield from ("", f"`{kind}` chooses one of {listed}. All variants of the first come first.")
    yield from _variants(name, variants, document)
    for other in others:
        yield from ("", f"#### `{name}.{kind}` = {_value(other['properties'][kind]['const'])}")
        own = {key: spec for key, spec in other["properties"].items() if key != kind}
        yield from _section(name, {**other, "properties": own}, document)


def _variants(name: str, variants: list[Spec], document: Spec) -> Iterator[str]:
    """The keys that all variants share, then what each adds."""
    tag, default = DEFAULT_TAGS[name]
    choices = [variant["properties"][tag]["const"] for variant in variants]
    listed = ", ".join(_value(choice) + (" (default)" if choice == default else "") for choice in choices)
    yield from ("", f"`{tag}` chooses one of {listed}.")
    first, *others = (variant["properties"] for variant in variants)
    shared = {key: spec for key, spec in first.items() if all(other.get(key) == spec for other in others)}
    if shared:
        yield from ("", f"With every `{tag}`:")
        yield from _section(name, {"properties": shared}, document)
    for choice, variant in zip(choices, variants, strict=True):
        yield from ("", f"#### `{name}.{tag}` = {_value(choice)}")
        own = {key: spec for key, spec in variant["properties"].items() if key not in {tag, *shared}}
        yield from _section(name, {**variant, "properties": own}, document)


def _section(name: str, definition: Spec, document: Spec) -> Iterator[str]:
    """A section's own words, its keys and the tables within it."""
    if definition.get("description"):
        yield from ("", _plain(_sentence(" ".join(definition["description"].split()))))
    yield from _keys(definition["properties"], name, definition.get("required", ()))
    for key, spec in definition["properties"].items():
        for table in (choice for choice in _choices(spec) if "$ref" in choice):
            yield from ("", f"#### `[{name}.{key}]`")
            yield from _section(f"{name}.{key}", _definition(table, document), document)


def _definition(spec: Spec, document: Spec) -> Spec:
    return document["$defs"][spec["$ref"].rpartition("/")[2]]


def _keys(properties: Mapping[str, Spec], parent: str = "", required: Iterable[str] = ()) -> Iterator[str]:
    rows = []
    for key, spec in properties.items():
        default = "required" if key in required else _value(spec.get("default"))
        allowed = f"keys of `[{parent}.{key}]`" if _is_table(spec) else _allowed(spec)
        rows.append((_code(key), _type(spec), default, allowed, _plain(spec.get("description", ""))))
    if rows:
        yield ""
        yield from _table(("key", "type", "default", "allowed", "meaning"), rows)


def _choices(spec: Spec) -> list[Spec]:
    """The alternatives of a key; none of them null, which TOML does not have."""
    return [choice for choice in spec.get("anyOf", [spec]) if choice.get("type") != "null"]


def _is_table(spec: Spec) -> bool:
    return any("$ref" in choice for choice in _choices(spec))


def _type(spec: Spec) -> str:
    names = []
    for choice in _choices(spec):
        name = "table" if "$ref" in choice else choice["type"]
        if name == "array":
            kinds = dict.fromkeys(f"{item.get('type', 'table')}s" for item in _choices(_items(choice)))
            name = f"array of {' or '.join(kinds)}"
        names.append(name)
    return " or ".join(dict.fromkeys(names))


def _items(array: Spec) -> Spec:
    """What stands in an array, be it of any length or of a given one."""
    items: Spec = array["items"] if "items" in array else array["prefixItems"][0]
    return items


def _allowed(spec: Spec) -> str:
    return "; ".join(filter(None, (_range(choice) for choice in _choices(spec))))


def _range(spec: Spec) -> str:
    if spec.get("type") == "array":
        within = dict.fromkeys(_range(item).removeprefix("each ") for item in _choices(_items(spec)))
        return ("any of " if "enum" in _items(spec) else "each ") + "; ".join(within)
    if spec.get("type") == "boolean" and "const" not in spec:
        return "`true`, `false`"
    if "const" in spec or "enum" in spec:
        return ", ".join(_value(value) for value in spec.get("enum", [spec.get("const")]))
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return ", ".join(f"{sign} {spec[bound]:g}" for bound, sign in bounds.items() if bound in spec)


def _value(value: Any) -> str:
    """A value as TOML writes it."""
    return "" if value is None else _code(_toml(value))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items() if item is not None) + " }"
    return json.dumps(value)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (header, ("---",) * len(header), *rows):
        yield f"| {' | '.join(row)} |"


def _code(text: str) -> str:
    return f"`{text}`"


def _plain(text: str) -> str:
    """Text in which no character means anything to Markdown, but for pairs of backticks."""
    return re.sub(r"([\\*_|<>$\[\]{}^~#])", r"\\\1", text)


def _sentence(text: str) -> str:
    """A docstring as one sentence. A formula, such as h = …, keeps its small letter."""
    first = text[:1] if text[1:2] == " " else text[:1].upper()
    return first + text[1:] + ("" if text.endswith(".") else ".")
