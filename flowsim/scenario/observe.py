"""[observe]: what is kept of the trajectory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Broken, Section, as_tuple, refuse

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
    times: int = Field(200, ge=2, description="how many instants are kept")
    spacing: Literal["linear", "log", "solver"] = Field("linear", description='"solver" keeps every accepted step')
    variables: Literal["default"] | Annotated[tuple[Name, ...], as_tuple] = Field(
        "default", description="names of the observables to keep"
    )
    snapshots: Literal["none", "ends", "all"] | Annotated[int, Field(ge=2)] = Field(
        "ends", description='instants at which the weights are kept: "none", "ends", "all" or a number'
    )

    @model_validator(mode="after")
    def _rules(self) -> Observe:
        refuse(
            Broken(f"variables[{index}]", f'"{name}" is named twice')
            for index, name in enumerate(self.variables)
            if self.variables != "default" and name in self.variables[:index]
        )
        return self
