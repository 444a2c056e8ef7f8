"""The whole scenario: one frozen model with a section per concern."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from html import escape
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, model_validator

from ..errors import Issue, ScenarioError, UsageError
from ..markup import folded, table
from . import toml
from .arrays import SECTIONS, Attached, outside
from .base import TAGS, Broken, Section, Seed, as_tuple, refuse
from .data import DRAWN, Data, GaussianMixture
from .evaluate import OF_OUTPUTS, Evaluate
from .flow import Flow, Stage
from .init import Gaussian, Given, Init, Nudged
from .loss import MARGIN_LOSSES, Loss
from .model import Linear, Mlp, Model, NtkFeatures, Prelu, SymmetricRelu, TwoLayer
from .observe import Observe
from .source import PYTHON, Source, path_of
from .sweep import Sweep

#: Discriminators that a scenario may leave out, with the value they then have; that of a network's activation goes with
#: the kind "two_layer" alone.
DEFAULT_TAGS = {
    "data": ("kind", "gaussian_mixture"),
    "model": ("activation", "prelu"),
    "init": ("shape", "gaussian"),
}
TWO_LAYER = "two_layer"
#: Gradients of a network of several layers are products of its weights; below this they would underflow.
SMALLEST_PRODUCT = 1e-250


def _or(names: Iterable[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)


def class_problems(clusters: int, width: int) -> Iterator[str]:
    """What is wrong with a network of this width that has an output for each cluster."""
    if clusters < 2:
        yield f"cross_entropy tells clusters apart and needs at least 2, not {clusters}"
    elif width % clusters:
        lower = width // clusters * clusters
        choices = " or ".join(str(m) for m in (lower, lower + clusters) if m)
        yield f"{width} neurons cannot be split evenly over the outputs of {clusters} clusters; use {choices}"


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

    title: str = Field("", description="a line for plots and reports")
    seed: Seed | Annotated[tuple[Seed, ...], Field(min_length=1), as_tuple] = Field(
        0,
        description="every random draw comes from this integer, through named streams; an array runs an ensemble",
    )
    data: Data = GaussianMixture()
    model: Model = Prelu()
    init: Init = Gaussian()
    loss: Loss = Loss()
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
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.data.kind in ("table", "sparse_coding") and self.loss.reduction == "per_cluster":
            only = f'"per_cluster" is not for data.kind = "{self.data.kind}"; use "mean" or "sum"'
            yield Broken("loss.reduction", only, ("data.kind",))
        yield from self._broken_supervision()
        yield from self._broken_by_kind()
        yield from self._broken_distance()
        yield from self._broken_robustness()
        yield from self._broken_kkt()
        yield from self._broken_clock()
        if any(part.flow.descends and part.open_ended for part in self.stages) and self.observe.spacing == "log":
            unknown = (
                '"log" needs to know the last iteration; use "linear" where loss, alignment or kkt may end descent'
            )
            yield Broken("observe.spacing", unknown, ("flow.method", "flow.until"))
        yield from self._broken_instants()
        yield from self._broken_stages()
        yield from self._broken_regularizer()
        if self.is_ensemble:
            yield from self._broken_ensemble()
        if self.is_ensemble and self.sweep.keys and "seed" not in self.sweep.keys:
            single = "a point of a sweep has a single seed; move the array to sweep.grid"
            yield Broken("seed", single, ("sweep",))

    def _broken_clock(self) -> Iterator[Broken]:
        """The loss clock follows the loss of the data themselves, in a single flow, down to 0."""
        for key, flow in self.flows():
            if flow.clock != "loss":
                continue
            if self.loss.kind == "square":
                endless = '"loss" is for losses that fall for ever: logistic, exponential or cross_entropy; use "time"'
                yield Broken(f"{key}.clock", endless, ("loss.kind",))
            if isinstance(flow, Stage):
                yield Broken(f"{key}.clock", '"loss" is not for runs in stages; use "time"', ("stage",))
            if isinstance(self.model, SymmetricRelu):
                timed = f'"loss" is not for model.kind = "{self.model.kind}", whose threshold goes by time; use "time"'
                yield Broken(f"{key}.clock", timed, ("model.kind",))
            if self.loss.regularizer.used:
                kept = '"loss" is not for a loss with a regularizer, which never falls to 0; use "time"'
                yield Broken(f"{key}.clock", kept, ("loss.regularizer",))

    def _broken_instants(self) -> Iterator[Broken]:
        """A flow is seen to rest at instants that are kept: past the last that is listed, only a budget surely ends it."""
        for key, flow in self.flows():
            if self.observe.listed and not flow.descends and flow.until.time is None and flow.until.steps is None:
                needed = "needs time or steps beside its other conditions, as observe.times lists the instants"
                yield Broken(f"{key}.until", needed, ("observe.times",))

    def _broken_stages(self) -> Iterator[Broken]:
        if self.stage and "flow" in self.model_fields_set:
            yield Broken("flow", "give either flow or stages", ("stage",))
        if self.stage and self.is_ensemble:
            yield Broken("seed", "a run in stages is of a single seed; use a sweep", ("stage",))
        names = [stage.name for stage in self.stage]
        for index, name in enumerate(names):
            if name in names[:index]:
                yield Broken(f"stage[{index}].name", f'"{name}" is named twice')
        for key, flow in self.flows():
            attack = flow.attack if isinstance(flow, Stage) else None
            if flow.fresh and self.data.kind not in DRAWN:
                yield Broken(
                    f"{key}.fresh", f"data of this kind come from no distribution; use {_or(DRAWN)}", ("data.kind",)
                )
            if attack is not None and not flow.descends and flow.engine == "diffrax":
                yield Broken(f"{key}.engine", '"diffrax" knows no attacks; use "numba"', (f"{key}.attack",))
            if attack is not None and isinstance(self.model, Mlp | NtkFeatures) and not flow.descends:
                only = f'with model.kind = "{self.model.kind}" only for method = "gradient_descent" or "sgd"'
                yield Broken(f"{key}.attack", only, ("model.kind", f"{key}.method"))

    def _broken_symmetric(self, model: SymmetricRelu) -> Iterator[Broken]:
        """What the engines can do with a threshold that changes with time."""
        reads = ("model.kind",)
        for key, flow in self.flows():
            if flow.descends:
                if model.noise == "sampled" and (flow.until.loss is not None or flow.until.log10_loss is not None):
                    yield Broken(f"{key}.until", 'with model.noise = "sampled" there is no one loss to end at', reads)
                continue
            given = f'not for model.kind = "{model.kind}"'
            for name, bad in (("engine", "diffrax"), ("coordinates", "polar")):
                if getattr(flow, name) == bad:
                    yield Broken(f"{key}.{name}", f'"{bad}" is {given}', reads)
            if not model.smoothing:
                yield Broken("model.smoothing", "a flow needs a smooth network: above 0, or use descent", (key,))
            if model.noise == "sampled":
                yield Broken("model.noise", '"sampled" is for descent; use "integrated"', (key,))

    def _broken_features(self, given: str) -> Iterator[Broken]:
        """What a network of fixed gates cannot have. given: that it is not for these, in words."""
        reads = ("model.kind",)
        for key, flow in self.flows():
            if flow.engine == "numba":
                yield Broken(f"{key}.engine", f'"numba" is {given}; use "diffrax"', reads)
            goals = {"alignment", "kkt"} & flow.until.goals.keys()
            yield from (Broken(f"{key}.until.{name}", given, reads) for name in sorted(goals))
        if self.evaluate.limit:
            yield Broken("evaluate.limit", given, reads)
        if self.is_ensemble:
            yield Broken("seed", f"an ensemble is {given}; run the seeds one by one", reads)

    def _broken_regularizer(self) -> Iterator[Broken]:
        if self.loss.regularizer.used and isinstance(self.model, Mlp | NtkFeatures):
            yield Broken("loss.regularizer", f'not for model.kind = "{self.model.kind}"', ("model.kind",))

    def _broken_supervision(self) -> Iterator[Broken]:
        by_cluster, classes = self.data.supervision == "cluster", self.loss.kind == "cross_entropy"
        if by_cluster and not classes:
            wrong = f'"{self.loss.kind}" is not for data.supervision = "cluster"; use "cross_entropy"'
            yield Broken("loss.kind", wrong, ("data.supervision",))
        if classes and not by_cluster:
            yield Broken("loss.kind", '"cross_entropy" is for data.supervision = "cluster"', ("data.supervision",))
        if classes and getattr(self.init, "toward", "any") == "own":
            yield Broken(
                "init.toward", '"own" is for labels +1/-1, not for an output for every cluster', ("loss.kind",)
            )
        clusters = self.data.clusters
        if classes and clusters is not None and isinstance(self.model, TwoLayer):
            for problem in class_problems(clusters, self.model.width):
                yield Broken("model.width", problem, ("data", "loss.kind"))

    def _broken_by_kind(self) -> Iterator[Broken]:
        """What networks that have no output weight for each neuron cannot have."""
        kind, init = self.model.kind, self.init
        if isinstance(self.model, TwoLayer):
            return
        given = f'not for model.kind = "{kind}"'
        reads = ("model.kind",)
        for key in ("balanced", "signs"):
            if key in init.model_fields_set:
                yield Broken(f"init.{key}", f"{given}, whose neurons have no output weights of their own", reads)
        if isinstance(init, Nudged):
            yield Broken("init.shape", f'"nudged" is {given}; use "gaussian" or "sphere"', reads)
        for key, asked in (("claims", self.evaluate.claims), ("distance", self.evaluate.distance)):
            if asked and not (key == "claims" and not isinstance(self.model, Mlp)):
                yield Broken(f"evaluate.{key}", f"{given}: only for two-layer networks", reads)
        if isinstance(self.model, SymmetricRelu):
            yield from self._broken_symmetric(self.model)
        if isinstance(self.model, NtkFeatures):
            yield from self._broken_features(given)
        if isinstance(self.model, Linear | SymmetricRelu | NtkFeatures):
            if self.loss.kind == "cross_entropy":
                yield Broken("loss.kind", f'"cross_entropy" is {given}, which has one output', reads)
        else:
            yield from self._broken_by_layers(self.model, given)

    def _broken_by_layers(self, model: Mlp, given: str) -> Iterator[Broken]:
        """What networks of any depth cannot have. given: that it is not for these, in words."""
        init, reads = self.init, ("model.kind",)
        depth = len(model.hidden_widths) + 1
        if not isinstance(init, Given) and depth * math.log(init.scale) < math.log(SMALLEST_PRODUCT):
            tiny = (
                f"with {depth} layers, products of the weights would be below {SMALLEST_PRODUCT:g}; use a larger scale"
            )
            yield Broken("init.scale", tiny, ("model",))
        for key, flow in self.flows():
            if flow.until.alignment is not None:
                yield Broken(f"{key}.until.alignment", f"{given}, whose neurons have no target clusters", reads)
            if flow.coordinates == "polar":
                yield Broken(f"{key}.coordinates", f'"polar" is {given}; use "cartesian"', reads)
            if flow.engine == "numba":
                yield Broken(f"{key}.engine", f'"numba" is {given}; use "diffrax"', reads)
            if flow.clock == "loss":
                yield Broken(f"{key}.clock", f'"loss" is {given}; use "time"', reads)
            if flow.solver == "kvaerno5":
                yield Broken(f"{key}.solver", f'"kvaerno5" is {given}; use tsit5, dopri5 or dopri8', reads)
        if self.evaluate.robustness is not None and self.loss.kind == "cross_entropy":
            only = f'with "cross_entropy" {given}'
            yield Broken("evaluate.robustness", only, (*reads, "loss.kind"))
        if self.is_ensemble:
            yield Broken("seed", f"an ensemble is {given}; run the seeds one by one", reads)

    def _broken_distance(self) -> Iterator[Broken]:
        if self.evaluate.distance is None:
            return
        if self.loss.kind == "cross_entropy":
            only = "for networks with a single output, not one for each cluster"
            yield Broken("evaluate.distance", only, ("loss.kind",))
        if self.observe.snapshots == "none":
            needed = 'needs weights: use "ends", "all" or a number with evaluate.distance'
            yield Broken("observe.snapshots", needed, ("evaluate.distance",))
        if self.is_ensemble:
            yield Broken("evaluate.distance", "for a run of a single seed, not an ensemble", ("seed",))

    def _broken_robustness(self) -> Iterator[Broken]:
        wanted = self.evaluate.robustness
        if wanted is None:
            return
        if self.loss.kind != "cross_entropy":
            only = 'only for loss.kind = "cross_entropy", which gives every cluster an output'
            for index, name in enumerate(wanted.compare):
                if name in OF_OUTPUTS:
                    yield Broken(f"evaluate.robustness.compare[{index}]", f'"{name}" is {only}', ("loss.kind",))
        if self.observe.snapshots == "none":
            needed = 'needs weights: use "ends", "all" or a number with evaluate.robustness'
            yield Broken("observe.snapshots", needed, ("evaluate.robustness",))
        if self.is_ensemble:
            yield Broken("evaluate.robustness", "for a run of a single seed, not an ensemble", ("seed",))

    def _broken_kkt(self) -> Iterator[Broken]:
        """There is a KKT point to go to only for homogeneous networks and losses of margins."""
        flows = list(self.flows())
        asked = [(f"{key}.until.kkt", flow) for key, flow in flows if flow.until.kkt is not None]
        if self.evaluate.limit:
            asked.append(("evaluate.limit", flows[-1][1]))
        for key, flow in asked:
            if self.loss.kind not in MARGIN_LOSSES:
                only = f'needs loss.kind = "logistic" or "exponential", not "{self.loss.kind}"'
                yield Broken(key, only, ("loss.kind",))
            if getattr(self.model, "activation", None) == "tanh":
                yield Broken(key, "needs a homogeneous network, and tanh makes none", ("model.activation",))
            if isinstance(self.model, SymmetricRelu):
                none = f'needs a homogeneous network, and model.kind = "{self.model.kind}" is none'
                yield Broken(key, none, ("model.kind",))
            if self.loss.regularizer.used:
                yield Broken(key, "needs a loss without a regularizer", ("loss.regularizer",))
            if flow.fresh or (isinstance(flow, Stage) and flow.attack is not None):
                yield Broken(key, "needs a flow on the samples themselves, without attack or fresh batches")
            if self.is_ensemble:
                yield Broken(key, "is for a run of a single seed, not an ensemble", ("seed",))

    def _broken_ensemble(self) -> Iterator[Broken]:
        first = {seed: index for index, seed in reversed(list(enumerate(self.seeds)))}
        for index, seed in enumerate(self.seeds):
            if first[seed] < index:
                yield Broken(f"seed[{index}]", f"{seed} is named twice")
        shared = "the members of an ensemble, one for each seed, share the instants that are kept"
        if self.flow.until.time is None:
            yield Broken("flow.until", f"{shared}: beside its other conditions it needs time", ("seed",))
        if self.observe.spacing == "solver":
            yield Broken("observe.spacing", f'{shared}; use "linear" or "log"', ("seed",))
        moving = self.flow.method == "sgd" or self.flow.fresh or isinstance(self.model, SymmetricRelu)
        if self.data.kind == "table" and isinstance(self.init, Given) and not moving:
            same = (
                "with these data and weights the members of an ensemble would be one and the same; give a single seed"
            )
            yield Broken("seed", same, ("data.kind", "init.shape"))
        if self.data.kind == "table" and self.data.test is not None and self.data.test.fraction is not None:
            own = "each member would split the table in its own way; give path, or run the seeds as a sweep"
            yield Broken("data.test.fraction", own, ("seed", "data.kind"))
        if self.evaluate.claims:
            yield Broken("evaluate.claims", "a run of a single seed is held against claims, not an ensemble", ("seed",))

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
    def project(self) -> bool:
        """Whether neurons may be moved into the span of the training data: no flow sees anything outside of that."""
        if isinstance(self.model, NtkFeatures):
            return False  # gates see all of the features
        flows = [flow for _, flow in self.flows()]
        moved = any(flow.fresh or (isinstance(flow, Stage) and flow.attack is not None) for flow in flows)
        return all(flow.reduce for flow in flows) and not moved

    @property
    def merge(self) -> bool:
        """Whether equal samples may be merged: no flow draws batches among single ones."""
        return all(flow.merge and flow.method != "sgd" for _, flow in self.flows())

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

    @property
    def members(self) -> tuple[Scenario, ...]:
        """This scenario once for each of its seeds; their `source` is that of the whole."""
        return tuple(self.model_copy(update={"seed": seed}) for seed in self.seeds)

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
        return Source(name=PYTHON, folder=self.source.folder, arrays=self.source.arrays)

    @property
    def source_text(self) -> str:
        """The text that the scenario was read from, with its comments; "" where none says the same."""
        return self.own_source.text

    def _is_as_read(self) -> bool:
        return bool(self.to_dict() == self._as_read().to_dict())

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
