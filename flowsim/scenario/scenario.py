"""The whole scenario: one frozen model with a section per concern."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import PydanticUndefined

from ..errors import Issue, ScenarioError, UsageError
from ..kinds.activations import ACTIVATIONS
from ..kinds.data import DataSection
from ..kinds.inits import InitSection
from ..kinds.losses import LossSection
from ..kinds.network import Handed
from ..kinds.networks import NetworkSection
from ..kinds.plugins import load_installed
from ..kinds.section import TAGS, Section, Seed, as_tuple, refuse, told_by
from ..kinds.stop import STOPS
from ..kinds.unions import SORTS, annotation
from ..markup import escape, folded, table
from . import toml
from .arrays import SECTIONS, Attached, outside
from .evaluate import Evaluate
from .flow import ADAM, Attack, Flow, Stage
from .observe import Observe
from .rules import broken
from .source import PYTHON, Source, path_of
from .sweep import Sweep

#: Tags that a scenario may leave out, with the value they then have; that of a network's activation goes with
#: the kind "two_layer" alone.
DEFAULT_TAGS = {
    "data": ("kind", "gaussian_mixture"),
    "model": ("activation", "prelu"),
    "init": ("shape", "gaussian"),
    "loss": ("kind", "square"),
}
TWO_LAYER = "two_layer"


#: What a scenario shows of itself in a few lines: section -> keys that tell kinds and sizes.
SHOWN = {
    "data": ("kind", "samples", "dimension", "path"),
    "model": ("kind", "activation", "width", "depth", "widths"),
    "init": ("shape", "scale"),
    "loss": ("kind", "reduction"),
    "flow": ("method", "step", "iterations", "until"),
}


class Scenario(Section):
    """What the user asked for. Build one from a file with :func:`flowsim.load`, or from a mapping of sections."""

    model_config = ConfigDict(defer_build=True)  # until `join`

    title: str = Field("", description="a line for plots and reports")
    seed: Seed | Annotated[tuple[Seed, ...], Field(min_length=1), as_tuple] = Field(
        0,
        description="every random draw comes from this integer, through named streams; an array runs an ensemble",
    )
    # one of the kinds that are registered, see `join`
    data: DataSection
    model: NetworkSection
    init: InitSection
    loss: LossSection
    flow: Flow = Flow()
    stage: Annotated[tuple[Stage, ...], as_tuple] = Field(
        (), description="in place of flow: several, each of which starts where the one before ended"
    )
    observe: Observe = Observe()
    evaluate: Evaluate = Evaluate()
    sweep: Sweep = Sweep()

    _source: Source = PrivateAttr(default_factory=lambda: Source(name=PYTHON))

    def __init__(self, values: Any = None, /, **sections: Any):
        """values: a mapping of the sections and keys that a file has. Raises ScenarioError with every problem found."""
        from .changes import toml_value
        from .load import read

        if values is not None and not isinstance(values, Mapping):
            wrong = "takes a mapping of sections; flowsim.load reads a file, and flowsim.loads TOML text"
            raise ScenarioError([Issue("", wrong, PYTHON)])
        given = {str(key): toml_value(str(key), value, PYTHON) for key, value in {**(values or {}), **sections}.items()}
        given = {key: value for key, value in given.items() if value is not None}
        source = read(given, Source(name=PYTHON)).source
        super().__init__(**given)
        self._source = source

    # this says to pydantic that validation itself need not go through it, so that it raises errors of its own
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        """Whether the values are equal, wherever they come from, and the contents of arrays in memory."""
        if not isinstance(other, Scenario):
            return False
        return self.__dict__ == other.__dict__ and self._in_memory() == other._in_memory()

    @model_validator(mode="before")
    @classmethod
    def _fill_tags(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        filled = dict(raw)
        for section, (tag, default) in DEFAULT_TAGS.items():
            if isinstance(given := filled.get(section), dict):
                kind = {"kind": given.get("kind", TWO_LAYER)} if section == "model" else {}
                tags = {tag: default} if kind.get("kind", TWO_LAYER) == TWO_LAYER else {}
                filled[section] = {**kind, **tags, **given}
        return filled

    @model_validator(mode="after")
    def _rules(self) -> Scenario:
        refuse(broken(self))
        return self

    def flows(self) -> Iterator[tuple[str, Flow]]:
        """(key, section) of every flow."""
        yield from ((f"stage[{index}]", stage) for index, stage in enumerate(self.stage))
        if not self.stage:
            yield "flow", self.flow

    @property
    def stages(self) -> tuple[Scenario, ...]:
        """This scenario once for each of its stages, as if that were all of the flow; itself where it has none."""
        if not self.stage:
            return (self,)
        return tuple(self.model_copy(update={"flow": stage, "stage": ()}) for stage in self.stage)

    @property
    def attack(self) -> Attack | None:
        """That of the first stage with an attacker."""
        return next((stage.attack for stage in self.stage if stage.attack is not None), None)

    @property
    def last_attacked(self) -> str | None:
        """The name of the stage that the first adversarial training ends with: of the first attacked stages in a row."""
        attacked = [stage.attack is not None for stage in self.stage]
        if True not in attacked:
            return None
        first = attacked.index(True)
        row = attacked[first:].index(False) if False in attacked[first:] else len(attacked) - first
        return self.stage[first + row - 1].name

    @property
    def project(self) -> bool:
        """Whether neurons may be moved into the span of the training data: no flow sees anything outside of that."""
        if not self.model.reducible:
            return False
        flows = [flow for _, flow in self.flows()]
        moved = any(flow.fresh or (isinstance(flow, Stage) and flow.attack is not None) for flow in flows)
        # these optimisers go by single entries, so they move weights out of the span
        return all(flow.reduce and flow.method not in ADAM for flow in flows) and not moved

    @property
    def merge(self) -> bool:
        """Whether equal samples may be merged: no flow draws batches among single ones, or changes each by chance."""
        flows = [flow for _, flow in self.flows()]
        by_chance = self.data.augmented or any(isinstance(flow, Stage) and flow.noise for flow in flows)
        return not by_chance and all(flow.merge and flow.batch is None and not flow.label_noise for flow in flows)

    @property
    def is_ensemble(self) -> bool:
        """Whether `seed` is an array, be it of one."""
        return isinstance(self.seed, tuple)

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.seed if isinstance(self.seed, tuple) else (self.seed,)

    @property
    def single_seed(self) -> int:
        """What random streams start from. Raises UsageError for an ensemble, which has no one problem."""
        if isinstance(self.seed, tuple):
            raise UsageError(
                f"this scenario is an ensemble of {len(self.seed)} seeds; flowsim.run runs it, "
                "and scenario.members are the scenarios of single seeds that can be built"
            )
        return self.seed

    @property
    def distribution_seed(self) -> int:
        """What the random streams start from that centres are drawn from, and w* of sparse coding."""
        own = getattr(self.data, "seed", None)
        return self.single_seed if own is None else int(own)

    def member(self, index: int) -> Scenario:
        """This scenario for one of its seeds; its `source` is that of the whole."""
        return self.model_copy(update={"seed": self.seeds[index]})

    @property
    def members(self) -> tuple[Scenario, ...]:
        """The same for each of them."""
        return tuple(map(self.member, range(len(self.seeds))))

    @property
    def certified(self) -> bool:
        """Whether the errors of what is kept are estimated."""
        return any(flow.certify for _, flow in self.flows())

    @property
    def open_ended(self) -> bool:
        """Whether the end of the grid of kept instants is unknown beforehand; that of an ensemble is flow.until.time."""
        return self.flow.until.open_ended and not self.is_ensemble

    @property
    def source(self) -> Source:
        """Where the scenario was read from: text, folder and the line of each key. A copy may have other values."""
        return self._source

    @property
    def own_source(self) -> Source:
        """The source where it says the same values; that of a scenario without text where this is a copy with others."""
        if self._is_as_read():
            return self.source
        return Source(name=PYTHON, folder=self.source.folder, arrays=self.source.arrays, handed=self.source.handed)

    @property
    def source_text(self) -> str:
        """The text that the scenario was read from, with its comments; "" where none says the same."""
        return self.own_source.text

    def _is_as_read(self) -> bool:
        read = self._as_read()
        # equal values are written alike, and writing takes longer than comparing
        return bool(self.__dict__ == read.__dict__ or self.to_dict() == read.to_dict())

    def _as_read(self) -> Scenario:
        """What the source says."""
        return Scenario.model_validate(self.source.values)

    def written(self) -> dict[str, Any]:
        """Without sections that mean nothing: flow beside stages, and empty ones."""
        values = super().written()
        nothing = {"stage": not self.stage, "flow": bool(self.stage)}
        nothing |= {"sweep": self.sweep == Sweep(), "evaluate": self.evaluate == Evaluate()}
        return {key: value for key, value in values.items() if not nothing.get(key)}

    def to_dict(self) -> dict[str, Any]:
        """Every key and value, defaults included, as plain values of TOML; what means nothing here is left out.

        Equal scenarios give equal dicts, and ``Scenario(scenario.to_dict())`` is equal to the scenario.
        """
        from .changes import says_default, without

        written = self.written()
        values, scenario = without(written, lambda problem: says_default(written, problem.path))
        return values if scenario is None else _those_of(scenario.written(), values)

    def to_toml(self) -> str:
        """The same as text, which :func:`flowsim.loads` reads. It is what results store."""
        return toml.dumps(self.to_dict())

    @property
    def sha256(self) -> str:
        """Of the canonical text, so of the values alone; and of the contents of arrays in memory, where there are any."""
        text = "".join((self.to_toml(), *(f"{name} {digest}\n" for name, digest in self._in_memory().items())))
        return hashlib.sha256(text.encode()).hexdigest()

    def named_files(self) -> dict[str, str]:
        """The files that the scenario reads, as it names them, by the keys that do."""
        test = self.data.test
        named = {f"data.{self.data.file_key}": self.data.file, "init.path": self.init.file}
        named["data.test.path"] = test.path if test is not None else None
        return {key: file for key, file in named.items() if file}

    @property
    def files(self) -> dict[str, Path]:
        """The same, relative paths starting in the scenario's folder."""
        return {key: self.folder / file for key, file in self.named_files().items()}

    @property
    def folder(self) -> Path:
        """What relative paths start from."""
        return self.source.folder

    def arrays(self, name: str) -> Mapping[str, Any] | None:
        """What the section of this name has with it in place of a file, name -> array; None where it reads the file."""
        held = self._source.held(name, getattr(self, name))
        return held.values if held is not None else None

    def with_arrays(self, arrays: Mapping[str, Mapping[str, Any]]) -> Scenario:
        """The same with arrays in place of the files that sections take them from: section -> name -> array."""
        return self.holding({name: Attached(outside(getattr(self, name)), array) for name, array in arrays.items()})

    def holding(self, arrays: Mapping[str, Attached]) -> Scenario:
        """The same with what stands for sections, also for those of a copy yet to be made."""
        scenario = self.model_copy()
        scenario._source = replace(self._source, arrays={**self._source.arrays, **arrays})
        return scenario

    @property
    def handed(self) -> Handed | None:
        """The network that Python has handed over."""
        return self._source.handed

    def with_network(self, handed: Handed) -> Scenario:
        """The same with a network of Python's."""
        scenario = self.model_copy()
        scenario._source = replace(self._source, handed=handed)
        return scenario

    def _in_memory(self) -> dict[str, str]:
        """Section -> SHA-256 of its arrays, where no file is named."""
        held = {name: self._source.held(name, getattr(self, name)) for name in SECTIONS}
        return {name: found.sha256 for name, found in held.items() if found and not getattr(self, name).file}

    def validated(self, files: bool = True) -> Scenario:
        """The same values, held to all rules, as ``model_copy`` does not.

        files: whether those that are named must be there. Raises ScenarioError with every problem found.
        """
        from .load import read

        scenario = read(self.to_dict(), self.own_source, files)
        scenario._source = self.source
        return scenario

    def replace(self, values: Mapping[str, Any] | None = None, /, *, unset: Iterable[str] = ()) -> Scenario:
        """The scenario with other values at dotted keys, validated.

        values: dotted key -> value, e.g. ``{"init.scale": 1e-9, "stage[0].attack.radius": 0.1}``; a mapping takes the place
        of the whole table. None, or a key in `unset`, takes the key out, so that it has its default. Where another kind is
        chosen, the keys that the new kind does not have go with the old one; the others keep their values.
        Raises ScenarioError with every problem found.
        """
        from .changes import Changes
        from .load import read_changed

        return read_changed(self.said(), self.own_source, Changes(values or {}, tuple(unset), "replace"))

    def said(self) -> dict[str, Any]:
        """The values as they were given, defaults left out; of a copy all those of the sections that it changed."""
        values, read, given = self.to_dict(), self._as_read().to_dict(), self.source.values
        same = {key: given[key] for key in given if values.get(key) == read.get(key)}
        return {**{key: value for key, value in values.items() if value != read.get(key)}, **same}

    def error(self, *problems: tuple[str, str]) -> ScenarioError:
        """An error about this scenario's keys, as (dotted key, message) pairs, each located where it was written."""
        return ScenarioError([Issue(key, message, self._place(key)) for key, message in problems])

    def _place(self, key: str) -> str:
        """Where the source says the key, unless this is a copy with another value."""
        said: Any = self._as_read()
        here: Any = self
        for part in path_of(key):
            if here == said:
                break
            here, said = (_part(value, part) for value in (here, said))
        return self.source.place(path_of(key)) if here == said else PYTHON

    def __repr__(self) -> str:
        values = self.to_dict()
        rows = [("seed", toml.inline(values.get("seed")))]
        for section, keys in SHOWN.items():
            table = values.get(section, {})
            told = [_shown(key, table[key]) for key in keys if key in table]
            rows += [(section, ", ".join(told))] if told else []
        rows += [("stage", ", ".join(str(stage.get("name")) for stage in values["stage"]))] if self.stage else []
        rows += [("sweep", ", ".join(self.sweep.keys))] if "sweep" in values else []
        return "\n".join([f"Scenario {self.title!r}", *(f"  {name:<6} {told}" for name, told in rows)])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """In a notebook: every key with its value, defaults included, and the canonical text."""
        rows = [(f"{section}.{key}" if key else section, value) for section, key, value in _keys(self.to_dict())]
        text = folded("text", self.to_toml())
        return f"<strong>{escape(self.title or 'Scenario')}</strong>{table(('key', 'value'), rows)}{text}"


def valid(values: Mapping[str, Any]) -> Scenario:
    """The scenario of plain values; where flowsim's own kinds do not do, those of installed plugins are looked at, too.
    Raises pydantic's ValidationError."""
    try:
        return Scenario.model_validate(values)
    except ValidationError:
        if not load_installed():
            raise
    return Scenario.model_validate(values)


def _those_of(values: Any, keys: Any) -> Any:
    """The values, without keys that the other tables do not have."""
    if isinstance(values, dict):
        return {key: _those_of(values[key], keys[key]) for key in keys}
    if isinstance(values, list):
        return [_those_of(*pair) for pair in zip(values, keys, strict=True)]
    return values


def _part(value: Any, part: str | int) -> Any:
    if isinstance(part, int):
        return value[part] if isinstance(value, tuple) and part < len(value) else None
    return getattr(value, part, None)


def _shown(key: str, value: Any) -> str:
    """A key and its value in a few words; kinds go without their key."""
    return str(value) if key in TAGS else f"{key} {toml.inline(value)}"


def _keys(sections: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(section, key, value as JSON writes it); no key for what stands at the top level."""
    for section, value in sections.items():
        keys = value if isinstance(value, dict) else {"": value}
        yield from ((section, key, json.dumps(item)) for key, item in keys.items() if section != "title")


def join() -> None:
    """Let the sections be of the kinds that are registered now, those of plugins among them."""
    for name, registry in SORTS.items():
        tag, default = DEFAULT_TAGS[name]
        tags = {"kind": TWO_LAYER, tag: default} if name == "model" else {tag: default}
        field, section = Scenario.model_fields[name], told_by(registry.sort, tags)
        field.annotation, field.discriminator = annotation(name), next(iter(tags))
        # without its default kind, a section has to be given
        field.default = section.model_validate(tags) if section is not None else PydanticUndefined
    Scenario.model_rebuild(force=True)


join()
for _registry in (*SORTS.values(), ACTIVATIONS, STOPS):
    _registry.watch(join)
