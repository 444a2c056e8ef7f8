"""[evaluate]: what is computed from the trained network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..kinds.names import NameOf
from ..kinds.registries import CLAIMS
from ..kinds.section import Broken, Count, NonNegative, Positive, Section, as_tuple, refuse

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
        yield from _unordered(self.radii)
        for key, names in (("attacks", self.attacks), ("compare", self.compare)):
            yield from _twice(key, names)


class Features(Section):
    """What hidden layers have learned, at the start and at the end of each stage: inputs that excite their units; and at
    every instant whose weights are kept, how many units are active."""

    layers: Annotated[tuple[str, ...], as_tuple] = Field((), description="hidden layers to excite; all unless named")
    units: Count = Field(4, description="units of each layer, of images channels, the first ones")
    starts: Count = Field(3, description="random inputs that gradient ascent starts from")
    steps: Count = Field(200, description="steps of gradient ascent")
    samples: Count = Field(200, description="training samples whose active units are counted, at most")


class Density(Section):
    """How many features inputs, and perturbations of a radius, are made of, at the start and at the end of each stage."""

    radius: Positive = Field(description="size of the perturbations, in l2")
    attack: Literal["fgm", "pgd"] = Field("fgm", description="what finds them")
    penalties: Annotated[tuple[Positive, ...], Field(min_length=1), as_tuple] = Field(
        (0.01, 0.02, 0.05, 0.1, 0.2, 0.5), description="weights of |y|_1 beside |W y - x|^2, x of norm 1"
    )
    samples: Count = Field(10, description="samples, at most: held-out ones, of data.test, where there are some")
    steps: Count = Field(50, description="steps of pgd")


class Smoothing(Section):
    """Randomised smoothing (Cohen et al. 2019): the class that most noisy copies of a sample are given, and the radius
    within which no perturbation changes that, proven up to the confidence."""

    noise: Positive = Field(description="standard deviation of the Gaussian noise in each feature")
    radii: Annotated[tuple[NonNegative, ...], Field(min_length=1), as_tuple] = Field(
        description="sizes of perturbations in l2, in increasing order"
    )
    samples: Count = Field(200, description="samples that are looked at, at most; which ones, as for robustness")
    draws: Count = Field(1000, description="noisy copies that bound the probability of a sample's class")
    select: Count = Field(100, description="noisy copies by whose majority that class is chosen before")
    confidence: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.999, description="probability with which the radius of a sample holds"
    )

    @model_validator(mode="after")
    def _rules(self) -> Smoothing:
        refuse(_unordered(self.radii))
        return self


class Evaluate(Section):
    claims: Annotated[tuple[Name, ...], as_tuple] = Field(
        (), description="theorems to hold the run against; a paper's name stands for all of its claims that apply"
    )
    robustness: Robustness | None = Field(None, description="robust accuracy against radius, under attacks")
    smoothing: Smoothing | None = Field(
        None, description="accuracy of the majority over noisy copies, and within which radius it is certain"
    )
    distance: Distance | None = Field(None, description="the distance to an ideal classifier, up to scale")
    features: Features | None = Field(None, description="active units of hidden layers, and inputs that excite them")
    density: Density | None = Field(None, description="how many features inputs and perturbations are made of")
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


def _unordered(radii: tuple[float, ...]) -> Iterator[Broken]:
    for index, (radius, before) in enumerate(zip(radii[1:], radii, strict=False), start=1):
        if radius <= before:
            yield Broken(f"radii[{index}]", f"{radius:g} is not above {before:g}; radii are in increasing order")


def _twice(key: str, names: tuple[str, ...]) -> Iterator[Broken]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Broken(f"{key}[{index}]", f'"{name}" is named twice')
