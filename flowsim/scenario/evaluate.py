"""[evaluate]: what is computed from the trained network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..kinds.names import NameOf
from ..kinds.section import Broken, Count, NonNegative, Section, as_tuple, refuse
from ..kinds.sorts import CLAIMS

Name = Annotated[str, NameOf(CLAIMS)]


class Distance(Section):
    """The distance on the sphere from the network to an ideal classifier, up to scale."""

    to: Literal["ideal"] = Field("ideal", description='"ideal" is F^(p), p the degree of the activation')
    over_time: bool = Field(False, description="at every instant whose weights are kept, not only at the end")


Attack = Literal["fgm", "pgd", "universal", "targeted", "minimal", "strong"]
Compared = Literal["bayes", "ideal", "nearest", "outputs", "classes"]
#: Of `compare`, what a network with a single output does not have.
OF_OUTPUTS = ("outputs", "classes")


class Robustness(Section):
    """Robust accuracy against radius, under attacks, of the trained network and of classifiers beside it."""

    radii: Annotated[tuple[NonNegative, ...], Field(min_length=1), as_tuple] = Field(
        description="sizes of perturbations, in increasing order"
    )
    attacks: Annotated[tuple[Attack, ...], Field(min_length=1), as_tuple] = Field(
        ("pgd", "strong"), description='attacks; "strong" is the best of all that there are, so the slowest'
    )
    samples: Count = Field(
        1000,
        description="samples that are attacked, at most: held-out ones, of data.test; without these drawn anew, "
        "and of data from no distribution, training samples",
    )
    norm: Literal["l2", "linf"] = Field("l2", description="what perturbations are measured in")
    steps: Count = Field(100, description="gradient steps of every descent")
    restarts: int = Field(1, ge=0, description='random starts of "pgd", beside the clean sample')
    compare: Annotated[tuple[Compared, ...], as_tuple] = Field(
        (),
        description="classifiers beside the network: Bayes' rule, F^(p), the nearest cluster; of a network with an output "
        "for each cluster also its binary decision by outputs, and its decision between the clusters",
    )

    @model_validator(mode="after")
    def _rules(self) -> Robustness:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        for index, (radius, before) in enumerate(zip(self.radii[1:], self.radii, strict=False), start=1):
            if radius <= before:
                yield Broken(f"radii[{index}]", f"{radius:g} is not above {before:g}; radii are in increasing order")
        for key, names in (("attacks", self.attacks), ("compare", self.compare)):
            yield from _twice(key, names)


class Evaluate(Section):
    claims: Annotated[tuple[Name, ...], as_tuple] = Field(
        (), description="theorems to hold the run against; a paper's name stands for all of its claims that apply"
    )
    robustness: Robustness | None = Field(None, description="robust accuracy against radius, under attacks")
    distance: Distance | None = Field(None, description="the distance to an ideal classifier, up to scale")

    limit: bool = Field(
        False,
        description="find the KKT point that the flow ends at, from where it stopped, and write it as the group limit",
    )

    @property
    def anything(self) -> bool:
        """Whether anything is to be computed."""
        return self != Evaluate()

    @model_validator(mode="after")
    def _rules(self) -> Evaluate:
        refuse(_twice("claims", self.claims))
        return self


def _twice(key: str, names: tuple[str, ...]) -> Iterator[Broken]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Broken(f"{key}[{index}]", f'"{name}" is named twice')
