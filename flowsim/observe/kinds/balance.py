"""What a flow conserves: squared norms of what goes into a neuron less those of what comes out of it."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats
from ...kinds.network import Network
from ...solve import Snapshot
from ..instant import Instant, Setting
from ..observable import observable


def _conserves_balance(setting: Setting) -> bool:
    """Whether |w|^2 - q v^2 of every neuron is conserved."""
    problem = setting.problem
    if problem.network is not None:
        start = Snapshot.first(setting.reduced).arrays(problem.network)
        return bool(problem.network.balances(problem.network.tree(start)))
    return problem.trained_output and problem.activation.degree is not None and not problem.regularized


@observable(
    "balance_drift",
    (),
    "largest change of |w_j|^2 - v_j^2 (relu_power: |w_j|^2 - p v_j^2; mlp: what goes into a hidden neuron less what "
    "comes out of it) relative to the neuron's own scale",
    _conserves_balance,
    any_network=True,
)
def balance_drift(instant: Instant) -> Floats:
    """|w|^2 - q v^2 is conserved for neurons of homogeneity q; its change relative to the largest term, now or at first."""
    if (network := instant.setting.problem.network) is not None:
        return _of_network(instant, network)
    snapshot, weights = instant.snapshot, instant.setting.problem.weights
    share = instant.setting.problem.activation.homogeneity
    now = np.maximum(snapshot.log_norm, snapshot.output_log)
    top = np.maximum(now, np.maximum(weights.log_norm, weights.output_log))

    def excess(log_norm: Floats, output_log: Floats) -> Floats:
        return np.exp(2 * (log_norm - top)) - share * np.exp(2 * (output_log - top))

    change = excess(snapshot.log_norm, snapshot.output_log) - excess(weights.log_norm, weights.output_log)
    return np.abs(change).max(axis=-1)


def _of_network(instant: Instant, network: Network) -> Floats:
    """Of all pairs that an ordinary network says its flow conserves."""
    setting = instant.setting
    first = network.balances(network.tree(Snapshot.first(setting.reduced).arrays(network)))
    drifts = []
    for pair, first_pair in zip(network.balances(network.tree(instant.snapshot.arrays(network))), first, strict=True):
        (into, out_of), (first_into, first_out_of) = pair, first_pair
        scale = np.maximum(np.maximum(into, out_of), np.maximum(first_into, first_out_of))
        change = np.abs((into - out_of) - (first_into - first_out_of))
        drifts.append((change / np.where(scale > 0, scale, 1.0)).max(axis=-1))
    return np.asarray(np.max(drifts, axis=0))
