"""Which plugins a scenario needs, and which of those that a result names are not here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .origin import Plugin
from .registry import REGISTRIES, Registry

#: The root attribute of a result: a JSON array of the plugins whose kinds its scenario names.
ATTRIBUTE = "plugins"

BRING = "give the file by --plugin, or flowsim.plugin(path) in Python"

#: sort -> names
Kinds = dict[str, list[str]]


def used(values: Mapping[str, Any]) -> dict[Plugin, Kinds]:
    """Plugin -> sort -> names of the kinds that a scenario's values name, those that are swept included."""
    found: dict[Plugin, Kinds] = {}
    for sort, registry in REGISTRIES.items():
        for word in dict.fromkeys(_words(values, registry)):
            for name in registry.named(word):
                if (plugin := registry.origin(name)) is not None:
                    found.setdefault(plugin, {}).setdefault(sort, []).append(name)
    return found


def written(values: Mapping[str, Any]) -> dict[str, str]:
    """The attribute of a result of a scenario with these values; none where it takes flowsim's own kinds alone."""
    told = [{**vars(plugin), "kinds": kinds} for plugin, kinds in used(values).items()]
    return {ATTRIBUTE: json.dumps(told)} if told else {}


def read(attributes: Mapping[Any, Any]) -> dict[Plugin, Kinds]:
    """The inverse of `written`."""
    told = json.loads(str(attributes.get(ATTRIBUTE, "[]")))
    return {Plugin(one["name"], one["version"], one["sha256"]): one["kinds"] for one in told}


def missing(attributes: Mapping[Any, Any]) -> str:
    """What a result takes from plugins that is not registered here, and how to bring it; "" where nothing is missing."""
    found = [(plugin, _gone(kinds)) for plugin, kinds in read(attributes).items()]
    told = [f"{listed(gone)} of the plugin {plugin}" for plugin, gone in found if gone]
    return f"it takes {' and '.join(told)}; {BRING}" if told else ""


def lines(attributes: Mapping[Any, Any]) -> list[str]:
    """Of each plugin of a result, what it is and what is taken from it, and how to bring it where it is not here."""
    return [
        f"{plugin}: {listed(kinds)}" + (f"; not loaded here: {BRING}" if _gone(kinds) else "")
        for plugin, kinds in read(attributes).items()
    ]


def _gone(kinds: Kinds) -> Kinds:
    """Those that are not registered."""
    gone = {
        sort: [name for name in names if sort not in REGISTRIES or name not in REGISTRIES[sort]]
        for sort, names in kinds.items()
    }
    return {sort: names for sort, names in gone.items() if names}


def listed(kinds: Kinds) -> str:
    """In words."""
    return ", ".join(f'{sort} "{name}"' for sort, names in kinds.items() for name in names)


def different(attributes: Mapping[Any, Any], values: Mapping[str, Any]) -> str:
    """Which plugins of a result have another content here; "" where none has."""
    here = {plugin.name: plugin for plugin in used(values)}
    others = [
        f"the plugin {there} there is {here[there.name]} here"
        for there in read(attributes)
        if there.name in here and there.sha256 != here[there.name].sha256
    ]
    return "; ".join(others)


def _words(values: Mapping[str, Any], registry: Registry[Any]) -> Iterator[str]:
    """Every word that names a kind of the registry."""
    tables = [values, *(values.get("stage", ()))]
    for key in registry.named_by:
        section, _, rest = key.partition(".")
        for table in tables:
            # a stage has the keys of flow
            inside = table.get(section, {}) if table is values else table if section == "flow" else {}
            yield from _strings(inside.get(rest) if isinstance(inside, Mapping) else None)
        yield from _swept(values.get("sweep", {}), key)


def _swept(sweep: Mapping[str, Any], key: str) -> Iterator[str]:
    for table in (sweep.get("grid", {}), sweep.get("zip", {}), *sweep.get("points", ())):
        for name, swept in table.items():
            section, _, last = key.rpartition(".")
            if name == key:
                yield from _strings(swept)
            elif name.startswith(f"{key}."):  # the names are keys
                yield name.removeprefix(f"{key}.")
            elif name == section:  # whole tables
                for one in swept if isinstance(swept, list) else [swept]:
                    yield from _strings(one.get(last) if isinstance(one, Mapping) else None)


def _strings(value: Any) -> Iterator[str]:
    """A word, those of an array, or the keys of a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | Mapping):
        for item in value:
            yield from _strings(item)
