"""Gaussian clusters around centres."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from ...arrays import Floats, Integers
from ..clusters import LAWS, Basis, Drawn, entries, frame, norm_of, samples_around
from ..drawing import Drawing
from ..files import ARRAY_SUFFIXES, read_array
from ..partition import Fine, Named, broken_fine, broken_names, labels, with_coarse
from ..samples import Samples
from ..section import Broken, refuse, suffix_in
from ..span import Span
from ..streams import stream
from . import DATA

CENTERS = ("orthonormal", "random_sphere", "equicorrelated")


class GaussianMixture(Drawn):
    """Clusters around centres, in two classes."""

    kind: Literal["gaussian_mixture"] = "gaussian_mixture"
    positive: Annotated[int, Field(ge=0)] | Named = Field(
        2, description="number of clusters labelled +1, the first ones; an array names them, counted from 0"
    )
    negative: int = Field(2, ge=0, description="number of clusters labelled -1")
    centers: Annotated[str, AfterValidator(suffix_in(ARRAY_SUFFIXES, CENTERS))] = Field(
        "orthonormal",
        description='"orthonormal", "random_sphere", "equicorrelated", or the path of an array (clusters, features)',
    )
    basis: Basis | None = Field(
        None,
        description='frame of orthonormal and equicorrelated centres: "random" (the default) or the coordinate "axes"',
    )
    cosine: float | None = Field(None, gt=-1, lt=1, description="cosine between any two equicorrelated centres")

    coordinates: Literal["features", "span"] = Field(
        "features",
        description='what samples are given by: all "features", or coordinates in the "span" of centres, samples and '
        "initial weights, drawn exactly in law, as many as there are of these, whatever the dimension",
    )
    fine: Fine = None

    @property
    def centered(self) -> int:
        """The number of centres"""
        return (self.positive if isinstance(self.positive, int) else len(self.positive)) + self.negative

    @property
    def clusters(self) -> int:
        """Those of coarse labels among them"""
        coarse = len(set(labels(self.positive, self.centered).tolist())) if self.fine is not None else 0
        return self.centered + coarse

    @model_validator(mode="after")
    def _rules(self) -> GaussianMixture:
        refuse(self._broken())
        return self

    @property
    def file(self) -> str | None:
        """The file that centres are read from."""
        return None if self.centers in CENTERS else self.centers

    @property
    def file_key(self) -> str:
        return "centers"

    def _broken(self) -> Iterator[Broken]:
        counts = ("positive", "negative")
        if self.centered == 0:
            yield Broken("positive", "at least one cluster is needed: positive + negative >= 1", counts)
            return
        yield from broken_names(self.positive, self.centered, counts)
        yield from broken_fine(self.fine, self.supervision)
        yield from self._broken_centers()
        yield from self._broken_draw(self.centered, counts)

    def _broken_centers(self) -> Iterator[Broken]:
        clusters, reads = self.centered, ("centers", "positive", "negative")
        frame = self.centers in ("orthonormal", "equicorrelated")
        if frame and self.dimension < clusters:
            need = f"{clusters} {self.centers} centres need dimension >= positive + negative = {clusters}"
            yield Broken("dimension", f"{self.dimension} is too small: {need}", reads)
        if self.basis is not None and not frame:
            only = f'only with centers = "orthonormal" or "equicorrelated", not "{self.centers}"'
            yield Broken("basis", only, ("centers",))
        if self.centers != "equicorrelated" and self.cosine is not None:
            yield Broken("cosine", f'only with centers = "equicorrelated", not "{self.centers}"', ("centers",))
        if self.centers == "equicorrelated" and self.cosine is None:
            yield Broken("cosine", 'required with centers = "equicorrelated"', ("centers",))
        elif self.cosine is not None and clusters > 1 and self.cosine <= -1 / (clusters - 1):
            allowed = f"above {-1 / (clusters - 1):.4g}"
            yield Broken("cosine", f"{self.cosine} is impossible for {clusters} centres; allowed: {allowed}", reads)
        if self.centers not in CENTERS and self.spanned:
            yield Broken("coordinates", '"span" is only for drawn centres; these are read from a file', ("centers",))
        if self.centers not in CENTERS and "radius" in self.model_fields_set:
            yield Broken("radius", "only for drawn centres; centres read from a file keep their norms", ("centers",))
        if self.centers not in CENTERS and self.seed is not None:
            yield Broken("seed", "only for drawn centres; these are read from a file", ("centers",))

    @property
    def spanned(self) -> bool:
        return self.coordinates == "span"

    def span_features(self, neurons: int) -> int:
        return self._span(neurons).features

    def entries(self, neurons: int) -> Mapping[str, int]:
        return entries(self.samples, self.span_features(neurons) if self.spanned else self.dimension, self.test)

    def _span(self, neurons: int) -> Span:
        """Of the centres, the noise of the training set, and the initial weights, in this order."""
        vectors = self.centered + self.samples + neurons
        return Span(self.dimension, vectors, taken=vectors)

    def draw(self, scenario: Drawing, sibling: Samples | None) -> Samples:
        label = labels(self.positive, self.centered)
        span = self._span(scenario.model.neurons) if self.spanned else None
        centers = self._drawn_centers(scenario, sibling, span)
        # the noise comes after the centres, and leaves room for the weights
        samples = self._around(centers, label, scenario.single_seed, span and replace(span, taken=self.centered))
        samples = replace(samples, span=span)
        return samples if self.fine is None else self._with_coarse(scenario, samples)

    def fresh(self, scenario: Drawing, samples: Samples, count: int, seed: int) -> Samples:
        """Around the centres proper: no sample is drawn around the mean of a class."""
        proper = slice(self.centered)
        data = self.model_copy(update={"samples": count, "balanced": False})
        centers, label = samples.centers[proper], samples.cluster_label[proper]
        return replace(data._around(centers, label, seed, samples.span), span=samples.span)

    def _around(self, centers: Floats, cluster_label: Integers, seed: int, span: Span | None) -> Samples:
        law = LAWS["gaussian"] if span is None else span.next
        return samples_around(centers, cluster_label, self, seed, law)

    def _with_coarse(self, scenario: Drawing, samples: Samples) -> Samples:
        """The same where only a part of the samples are told their cluster. The centre of a coarse one is the mean of its
        class's."""
        assert self.fine is not None
        random = stream(scenario.single_seed, "data.fine")
        cluster, label = with_coarse(samples.sample_cluster, samples.cluster_label, self.fine, random)
        if len(label) < self.clusters:
            raise scenario.error(
                ("data.fine", f"{self.fine:g} leaves no sample of one label to coarse ones; take less")
            )
        means = [samples.centers[samples.cluster_label == sign].mean(axis=0) for sign in label[self.centered :]]
        coarse = Samples.supervised(
            self.supervision,
            inputs=samples.inputs,
            label=samples.label,
            sample_cluster=cluster,
            centers=np.concatenate([samples.centers, means]),
            cluster_label=label,
        )
        return replace(coarse, span=samples.span)

    def _drawn_centers(self, scenario: Drawing, sibling: Samples | None, span: Span | None) -> Floats:
        if self.file is not None:
            return sibling.centers if sibling is not None else self._given_centers(scenario)
        generator = stream(scenario.distribution_seed, "centers")
        radius = norm_of(self.radius, self.dimension)
        if self.centers == "random_sphere":
            shape = (self.centered, self.dimension)
            points = generator.standard_normal(shape) if span is None else span.normal(generator, 0, self.centered)
            return radius * points / np.linalg.norm(points, axis=1, keepdims=True)
        if span is not None:
            rows = np.eye(self.centered, span.features)  # the basis begins with them
        else:
            rows = frame(self.centered, self.dimension, self.basis, generator)
        if self.centers == "equicorrelated":
            assert self.cosine is not None
            gram = np.full((self.centered, self.centered), self.cosine)
            np.fill_diagonal(gram, 1.0)
            rows = np.linalg.cholesky(gram) @ rows
        return radius * rows

    def _given_centers(self, scenario: Drawing) -> Floats:
        """From the arrays that the scenario has with it, or else from the file that it names."""
        arrays = scenario.arrays("data")
        try:
            centers = read_array(scenario.files["data.centers"], "centers") if arrays is None else arrays["centers"]
        except ValueError as error:
            raise scenario.error(("data.centers", str(error))) from None
        expected = (self.centered, self.dimension)
        if centers.shape != expected:
            asked = f"array of shape {centers.shape}, but positive + negative and dimension ask for {expected}"
            raise scenario.error(("data.centers", asked))
        if not np.isfinite(centers).all() or (np.linalg.norm(centers, axis=1) == 0).any():
            raise scenario.error(("data.centers", "every centre must be finite and not zero"))
        return np.ascontiguousarray(centers)


DATA.register("gaussian_mixture", GaussianMixture)
