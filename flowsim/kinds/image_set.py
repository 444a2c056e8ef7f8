"""What all kinds of labelled images share: which are taken, and how their pixels become features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..arrays import Floats, Integers
from .augmentation import Augment, Augmentation
from .clusters import Radius, norm_of
from .data import DataSection, Test, broken_test
from .drawing import Drawing
from .images import Images, NoTestSet, Part, located
from .partition import Fine, broken_fine, with_coarse
from .pixels import UNMOVED, Bytes, Moves, Pixels, mean_norm, moments
from .samples import Samples, Supervision
from .section import Broken, Count, as_tuple
from .split import check_kept, shares, split, subset
from .streams import stream

Class = Annotated[int, Field(ge=0)]
Merged = Annotated[tuple[Class, ...], Field(min_length=1), as_tuple]
#: A standard deviation below this is that of a pixel that never changes: one step of one pixel among 10^8 images is above.
ROUNDING = 1e-7

Groups = tuple[tuple[int, ...], ...]


class ImageSet(DataSection):
    """Labelled images. A class is a cluster, its mean the centre. Pixels are numbers from 0 to 1, in the order of channels,
    rows and columns, before they are centred and scaled.

    A kind adds `kind`, where its files are, and `read`.
    """

    counted: ClassVar[bool] = False
    own_test: ClassVar[bool] = True
    of_images: ClassVar[bool] = True

    classes: Annotated[tuple[Class | Merged, ...], Field(min_length=1), as_tuple] | None = Field(
        None,
        description="the labels that are taken, in the order of the clusters; an array of several is one cluster. All "
        "that there are, in increasing order, unless given",
    )
    positive: Annotated[int, Field(ge=0)] | None = Field(
        None, description="so many clusters, the first ones, are labelled +1, the others -1; half of them unless given"
    )
    samples: Count | None = Field(
        None, description="number of images, a random subset that keeps every cluster's share; all unless given"
    )
    balanced: bool = Field(False, description="with samples: the same number from every cluster")
    center: Literal["pixel", "channel"] | None = Field(
        None, description="subtract the mean of each pixel, or of each channel; nothing unless given"
    )
    scale: Literal["pixel", "channel", "image"] | None = Field(
        None,
        description="then divide by the standard deviation of each pixel, or of each channel, or by the norm of each "
        "image; a pixel that never changes stays as it is",
    )
    radius: Radius | None = Field(
        None, description='then make this the mean norm of the images, or "sqrt_dimension"; no change unless given'
    )
    supervision: Supervision = "class"
    fine: Fine = None
    augment: Augment | None = Field(
        None, description="how images change at random in descent of networks of images; nothing unless given"
    )
    test: Test = None

    @property
    @abstractmethod
    def place(self) -> tuple[str, str]:
        """(the key that names where the images are, what it says)"""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What is to be found there, and where it comes from."""

    @abstractmethod
    def read(self, path: Path, part: Part) -> Images:
        """The images at a path. Raises NoTestSet where there are none to test on, and ValueError where they cannot be
        read."""

    @property
    def clusters(self) -> int | None:
        return None if self.classes is None or self.fine is not None else len(self.classes)

    @property
    def augmented(self) -> bool:
        return self.augment is not None

    def _broken(self) -> Iterator[Broken]:
        yield from broken_test(self)
        named = list(chain(*self._groups(())))
        twice = sorted({label for label in named if named.count(label) > 1})
        if twice:
            yield Broken("classes", f"names {twice} more than once")
        yield from broken_fine(self.fine, self.supervision)
        clusters = None if self.classes is None else len(self.classes)
        if self.positive is not None and clusters is not None and self.positive > clusters:
            yield Broken("positive", f"is {self.positive} of {clusters} clusters", ("classes",))
        if self.balanced and self.samples is None:
            yield Broken("balanced", "needs samples, the number of images", ("samples",))
        elif self.balanced and clusters is not None and self.samples is not None and self.samples % clusters:
            wrong = f"{self.samples} cannot be split evenly over {clusters} clusters"
            yield Broken("samples", wrong, ("classes", "balanced"))

    def _groups(self, there: tuple[int, ...]) -> Groups:
        """The labels of each cluster. there: the labels of the training set."""
        named = there if self.classes is None else self.classes
        return tuple((one,) if isinstance(one, int) else one for one in named)

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        """Centring and scaling are by the images that are trained on; those held out are moved with them."""
        by_chance = self.samples is not None
        if self.test is not None:
            by_chance |= self.test.fraction is not None or self.test.samples is not None
        if sibling is not None and not by_chance:
            return sibling
        try:
            return self._drawn(scenario)
        except ValueError as error:
            raise scenario.error((f"data.{self.place[0]}", str(error))) from None

    def _drawn(self, scenario: Drawing) -> Samples:
        images = self._read(scenario, "train")
        groups = self._groups(tuple(np.unique(images.label).tolist()))
        self._check(scenario, images.label, groups)
        rows, cluster = _of_groups(images.label, groups)
        if self.samples is not None:
            key = ("data.samples", self.samples)
            chosen = self._subset(scenario, cluster, key, len(groups), balanced=self.balanced)
            rows, cluster = rows[chosen], cluster[chosen]
        training, held_out = split(self.test, scenario, len(rows))
        check_kept(scenario, cluster, cluster[training])
        pixels = images.taken(rows[training])
        moves = self._moves(pixels, images.shape)
        inputs = Pixels(pixels, moves)
        own, cluster_label = cluster[training], self._cluster_label(len(groups))
        if self.fine is not None:
            own, cluster_label = with_coarse(own, cluster_label, self.fine, stream(scenario.single_seed, "data.fine"))
        centers = inputs.means(own)
        samples = self._samples(inputs, own, centers, cluster_label)
        if self.augment is not None:
            changes = Augmentation(images.shape, self.augment.crop, self.augment.flip)
            samples = replace(samples, augmentation=changes)
        if len(held_out):
            pixels, cluster = images.taken(rows[held_out]), cluster[held_out]
        elif self.test is not None and self.test.path is None:
            pixels, cluster = self._tested(scenario, images, groups)
        else:
            return samples
        return replace(samples, test=self._samples(Pixels(pixels, moves), cluster, centers, cluster_label))

    def _check(self, scenario: Drawing, label: Integers, groups: Groups) -> None:
        """Raise ScenarioError for classes that are not there, and for more positive clusters than there are."""
        lost = [one for one in chain(*groups) if one not in label]
        if lost:
            there = f"there are {_listed(np.unique(label))}"
            raise scenario.error(("data.classes", f"no image has the label {_listed(np.array(lost))}; {there}"))
        if self.positive is not None and self.positive > len(groups):
            raise scenario.error(("data.positive", f"is {self.positive} of {len(groups)} clusters"))

    def _read(self, scenario: Drawing, part: Part) -> Images:
        path = located(self.place[1], scenario.folder, self.expected)
        try:
            return self.read(path, part)
        except NoTestSet as error:
            raise scenario.error(("data.test", str(error))) from None

    def _tested(self, scenario: Drawing, training: Images, groups: Groups) -> tuple[Bytes, Integers]:
        """(pixels, clusters) of the test set."""
        assert self.test is not None
        images = self._read(scenario, "test")
        if images.shape != training.shape:
            raise ValueError(f"images of the test set are {_size(images)}, those of the training set {_size(training)}")
        unknown = np.setdiff1d(images.label, training.label)
        if len(unknown):
            raise ValueError(f"the test set has the label {_listed(unknown)}, which no training image has")
        rows, cluster = _of_groups(images.label, groups)
        if self.test.samples is not None:
            chosen = self._subset(scenario, cluster, ("data.test.samples", self.test.samples), len(groups))
            rows, cluster = rows[chosen], cluster[chosen]
        return images.taken(rows), cluster

    def _subset(
        self, scenario: Drawing, cluster: Integers, asked: tuple[str, int], clusters: int, balanced: bool = False
    ) -> Integers:
        """Random rows. asked: (key, how many). Raises ScenarioError where there are not so many."""
        key, count = asked
        there = np.bincount(cluster, minlength=clusters)
        if count > len(cluster):
            raise scenario.error((key, f"{count} of {len(cluster)} images; take fewer, or more classes"))
        if balanced and count % clusters:
            raise scenario.error((key, f"{count} cannot be split evenly over {clusters} clusters"))
        sizes = np.full(clusters, count // clusters) if balanced else shares(cluster, count)
        if (sizes > there).any():
            few = int(np.argmin(there))
            wrong = f"{sizes[few]} of each cluster, and cluster {few} has {there[few]}; take fewer, or balanced = false"
            raise scenario.error((key, wrong))
        if key == "data.samples" and not sizes.all():
            wrong = f"leaves no images of clusters {np.flatnonzero(sizes == 0).tolist()}; take more"
            raise scenario.error((key, wrong))
        return subset(cluster, sizes, stream(scenario.single_seed, key))

    def _cluster_label(self, clusters: int) -> Integers:
        positive = clusters // 2 if self.positive is None else self.positive
        return np.where(np.arange(clusters) < positive, 1, -1)

    def _moves(self, pixels: Bytes, shape: tuple[int, int, int]) -> Moves:
        """As the keys ask for, by the images (n, d) of this shape that are trained on."""
        if self.center is None and self.scale is None and self.radius is None:
            return UNMOVED
        first, second = moments(pixels)
        mean, deviation = np.zeros_like(first), np.ones_like(first)
        if self.center is not None:
            mean = _spread(first, shape, self.center)
        if self.scale == "pixel" or self.scale == "channel":
            variance = _spread(second, shape, self.scale) - _spread(first, shape, self.scale) ** 2
            deviation = np.sqrt(np.maximum(variance, 0))
            deviation[deviation < ROUNDING] = 1.0
        moves = Moves(mean, deviation, self.scale == "image", 1.0)
        if self.radius is None or (norm := mean_norm(Pixels(pixels, moves))) == 0:
            return moves
        return replace(moves, factor=norm_of(self.radius, len(first)) / norm)

    def _samples(self, inputs: Pixels, cluster: Integers, centers: Floats, cluster_label: Integers) -> Samples:
        return Samples.supervised(
            self.supervision,
            inputs=inputs,
            label=cluster_label[cluster].astype(float),
            sample_cluster=cluster,
            centers=centers,
            cluster_label=cluster_label,
        )


def _spread(values: Floats, shape: tuple[int, int, int], over: Literal["pixel", "channel"]) -> Floats:
    """(d,): of each pixel, or of its channel the mean."""
    if over == "pixel":
        return values
    of_channels = values.reshape(shape[0], -1).mean(axis=1)
    return np.repeat(of_channels, shape[1] * shape[2])


def _of_groups(label: Integers, groups: Groups) -> tuple[Integers, Integers]:
    """(rows of the images of these groups of labels, the group of each)"""
    cluster = np.full(len(label), -1)
    for index, members in enumerate(groups):
        cluster[np.isin(label, members)] = index
    rows = np.flatnonzero(cluster >= 0)
    return rows, cluster[rows]


def _listed(labels: Integers) -> str:
    """Labels in a few words."""
    first, last = int(labels[0]), int(labels[-1])
    if len(labels) > 2 and last - first == len(labels) - 1:
        return f"{first} to {last}"
    return ", ".join(str(label) for label in labels.tolist())


def _size(images: Images) -> str:
    return " x ".join(str(size) for size in images.shape)
