"""The whole scenario: one frozen model with a section per concern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field, PrivateAttr, model_validator

from ..errors import Issue, ScenarioError
from .base import Broken, Section, refuse
from .data import Data, GaussianMixture
from .flow import Flow
from .init import Gaussian, Init
from .loss import Loss
from .model import Model, Prelu
from .observe import Observe
from .source import Source, path_of

#: Discriminators that a scenario may leave out, with the value they then have.
DEFAULT_TAGS = {
    "data": ("kind", "gaussian_mixture"),
    "model": ("activation", "prelu"),
    "init": ("shape", "gaussian"),
}


class Scenario(Section):
    """What the user asked for. Build one from a file with :func:`flowsim.load`."""

    title: str = Field("", description="a line for plots and reports")
    seed: int = Field(0, ge=0, lt=2**63, description="every random draw comes from this integer, through named streams")
    data: Data = GaussianMixture()
    model: Model = Prelu()
    init: Init = Gaussian()
    loss: Loss = Loss()
    flow: Flow = Flow()
    observe: Observe = Observe()

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
            only = '"per_cluster" needs data.kind = "gaussian_mixture"; use "mean" or "sum" for a table'
            yield Broken("loss.reduction", only, ("data.kind",))

    @property
    def source(self) -> Source:
        """Where the scenario was read from: its text, folder and the line of each key."""
        return self._source

    def error(self, *problems: tuple[str, str]) -> ScenarioError:
        """An error about this scenario's keys, as (dotted key, message) pairs, each located in its file."""
        return ScenarioError([Issue(key, message, self.source.place(path_of(key))) for key, message in problems])
