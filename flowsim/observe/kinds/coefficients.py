"""The coefficients of a neuron in cluster centres and noise."""

from __future__ import annotations

from ...arrays import Floats
from ..instant import Instant, Setting
from ..observable import observable

_DECOMPOSES = (
    "linearly independent samples with known clusters, equal ones in one cluster, and an activation of <w_j, x> alone: "
    "elsewhere the weights do not determine the coefficients"
)


def _decomposes(setting: Setting) -> bool:
    return setting.decomposition is not None


@observable(
    "cluster_coefficient",
    ("neuron", "cluster"),
    "lambda_jc of w_j = w_j(0) + sum_c lambda_jc mu_c/|mu_c|^2 + sum_i sigma_ji xi_i/|xi_i|^2",
    _decomposes,
    on_request=True,
    needs=_DECOMPOSES,
)
def cluster_coefficients(instant: Instant) -> Floats:
    """lambda (…, m, K)"""
    decomposition = instant.setting.decomposition
    assert decomposition is not None
    combination = decomposition.combination(instant.snapshot.direction, instant.snapshot.log_norm)
    return combination @ decomposition.cluster.T


@observable(
    "noise_coefficient",
    ("neuron", "sample"),
    "sigma_ji of w_j = w_j(0) + sum_c lambda_jc mu_c/|mu_c|^2 + sum_i sigma_ji xi_i/|xi_i|^2",
    _decomposes,
    on_request=True,
    needs=_DECOMPOSES,
)
def noise_coefficients(instant: Instant) -> Floats:
    """sigma (…, m, n'), for each one of the samples that a reduced sample stands for"""
    decomposition = instant.setting.decomposition
    assert decomposition is not None
    return decomposition.combination(instant.snapshot.direction, instant.snapshot.log_norm) * decomposition.noise
