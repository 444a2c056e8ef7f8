"""The whole scenario: one frozen model with a section per concern."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, model_validator

from ..errors import Issue, ScenarioError, UsageError
from ..markup import folded, table
from .base import Broken, Section, as_tuple, refuse
from .data import Data, GaussianMixture
from .evaluate import OF_OUTPUTS, Evaluate
from .flow import Flow
from .init import Gaussian, Init
from .loss import Loss
from .model import Model, Prelu
from .observe import Observe
from .source import Source, path_of
from .sweep import Sweep

#: Discriminators that a scenario may leave out, with the value they then have.
DEFAULT_TAGS = {
    "data": ("kind", "gaussian_mixture"),
    "model": ("activation", "prelu"),
    "init": ("shape", "gaussian"),
}


Seed = Annotated[int, Field(ge=0, lt=2**63)]


def class_problems(clusters: int, width: int) -> Iterator[str]:
    """What is wrong with a network of this width that has an output for each cluster."""
    if clusters < 2:
        yield f"cross_entropy tells clusters apart and needs at least 2, not {clusters}"
    elif width % clusters:
        lower = width // clusters * clusters
        choices = " or ".join(str(m) for m in (lower, lower + clusters) if m)
        yield f"{width} neurons cannot be split evenly over the outputs of {clusters} clusters; use {choices}"


class Scenario(Section):
    """What the user asked for. Build one from a file with :func:`flowsim.load`."""

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
    observe: Observe = Observe()
    evaluate: Evaluate = Evaluate()
    sweep: Sweep = Sweep()

    _source: Source = PrivateAttr(default_factory=Source)

    @model_validator(mode="before")
    @classmethod
    def _fill_tags(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        filled = dict(raw)
        for section, (tag, default) in DEFAULT_TAGS.items():
            if isinstance(filled.get(section), dict):
                filled[section] = {tag: default, **filled[section]}
        return filled

    @model_validator(mode="after")
    def _rules(self) -> Scenario:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.data.kind == "table" and self.loss.reduction == "per_cluster":
            only = '"per_cluster" is not for data.kind = "table"; use "mean" or "sum"'
            yield Broken("loss.reduction", only, ("data.kind",))
        yield from self._broken_supervision()
        yield from self._broken_distance()
        yield from self._broken_robustness()
        if self.flow.descends and self.open_ended and self.observe.spacing == "log":
            unknown = '"log" needs to know the last iteration; use "linear" where loss or alignment may end descent'
            yield Broken("observe.spacing", unknown, ("flow.method", "flow.until"))
        if self.is_ensemble:
            yield from self._broken_ensemble()
        if self.is_ensemble and self.sweep.keys and "seed" not in self.sweep.keys:
            single = "a point of a sweep has a single seed; move the array to sweep.grid"
            yield Broken("seed", single, ("sweep",))

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
        if classes and clusters is not None:
            for problem in class_problems(clusters, self.model.width):
                yield Broken("model.width", problem, ("data", "loss.kind"))

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
        if self.evaluate.claims:
            yield Broken("evaluate.claims", "a run of a single seed is held against claims, not an ensemble", ("seed",))

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
    def members(self) -> tuple[Scenario, ...]:
        """This scenario once for each of its seeds; their `source` is that of the whole."""
        return tuple(self.model_copy(update={"seed": seed}) for seed in self.seeds)

    @property
    def open_ended(self) -> bool:
        """Whether the end of the grid of kept instants is unknown beforehand; that of an ensemble is flow.until.time."""
        return self.flow.until.open_ended and not self.is_ensemble

    @property
    def source(self) -> Source:
        """Where the scenario was read from: its text, folder and the line of each key."""
        return self._source

    def error(self, *problems: tuple[str, str]) -> ScenarioError:
        """An error about this scenario's keys, as (dotted key, message) pairs, each located in its file."""
        return ScenarioError([Issue(key, message, self.source.place(path_of(key))) for key, message in problems])

    def _repr_html_(self) -> str:
        """In a notebook: every key with its value, defaults included, and the text it was read from."""
        sections = self.model_dump(mode="json", exclude_none=True, exclude={"title"})
        rows = [(f"{section}.{key}" if key else section, value) for section, key, value in _keys(sections)]
        text = folded("text", self.source.text) if self.source.text else ""
        return f"<strong>{escape(self.title or 'Scenario')}</strong>{table(('key', 'value'), rows)}{text}"


def _keys(sections: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(section, key, value as JSON writes it); no key for what stands at the top level."""
    for section, value in sections.items():
        keys = value if isinstance(value, dict) else {"": value}
        yield from ((section, key, json.dumps(item)) for key, item in keys.items())
