"""[observe]: what is kept of the trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..kinds.section import Broken, NonNegative, Section, as_tuple, refuse

Name = Literal[
    "cosine",
    "log_norm",
    "output_weight",
    "log_output_weight",
    "loss",
    "log10_loss",
    "test_loss",
    "log10_test_loss",
    "accuracy",
    "test_accuracy",
    "clean_accuracy",
    "noisy_accuracy",
    "binary_accuracy",
    "binary_accuracy_outputs",
    "margin",
    "loss_derivative",
    "cluster_mass",
    "log_cluster_mass",
    "void_mass",
    "log_void_mass",
    "active_fraction",
    "sliding_pairs",
    "gate",
    "balance_drift",
    "cluster_coefficient",
    "noise_coefficient",
    "margin_gap",
    "loss_derivative_ratio",
    "activation_region",
    "feature_change",
    "neuron_alignment",
    "almost_orthogonality",
    "feature_coefficient",
    "pure_part",
    "dense_mixture",
    "dense_ratio",
    "winners_kept",
    "initial_cosine",
    "active_share",
    "normalised_margin",
    "smoothed_margin",
    "gradient_cosine",
    "kkt_epsilon",
    "kkt_delta",
    "kkt_residual",
    "support",
    "multiplier",
]


class Observe(Section):
    times: Annotated[int, Field(ge=2)] | Annotated[tuple[NonNegative, ...], Field(min_length=1), as_tuple] = Field(
        200,
        description="how many instants are kept; or which ones, an array of times in increasing order, beside time 0 and "
        "where the run stops",
    )
    spacing: Literal["linear", "log", "solver"] = Field("linear", description='"solver" keeps every accepted step')
    variables: Literal["default"] | Annotated[tuple[Name, ...], as_tuple] = Field(
        "default", description="names of the observables to keep"
    )
    snapshots: Literal["none", "ends", "all"] | Annotated[int, Field(ge=2)] = Field(
        "ends", description='instants at which the weights are kept: "none", "ends", "all" or a number'
    )

    @model_validator(mode="after")
    def _rules(self) -> Observe:
        refuse(self._broken())
        return self

    @property
    def listed(self) -> tuple[float, ...]:
        """The instants that `times` lists; () where it is a number."""
        return self.times if isinstance(self.times, tuple) else ()

    def _broken(self) -> Iterator[Broken]:
        for index, name in enumerate(self.variables):
            if self.variables != "default" and name in self.variables[:index]:
                yield Broken(f"variables[{index}]", f'"{name}" is named twice')
        for index, (time, before) in enumerate(zip(self.listed[1:], self.listed, strict=False), start=1):
            if time <= before:
                yield Broken(f"times[{index}]", f"{time:g} is not above {before:g}; times are in increasing order")
        if self.listed and self.spacing != "linear":
            only = f'"{self.spacing}" is only with a number of times: these are listed; leave it out'
            yield Broken("spacing", only, ("times",))
