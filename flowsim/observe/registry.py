"""The one registry of observables: names, dimensions, units and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..solve import cosines
from . import features
from .decomposition import cluster_coefficients, noise_coefficients
from .gates import gates, sliding_pairs
from .instant import Instant, Setting, representable
from .kkt import SUPPORT, certifiable
from .norms import balance_drift, cluster_log_mass, conserves_balance, void_log_mass
from .regions import activation_region, feature_change
from .xor import C0, almost_orthogonality, captures, neuron_alignment

_DECOMPOSES = (
    "linearly independent samples with known clusters, equal ones in one cluster, and an activation of <w_j, x> alone: "
    "elsewhere the weights do not determine the coefficients"
)
_TWO_LAYERS = "two layers: neurons that have an output weight each"
_UNGATED = "neurons whose responses depend on their trained weights alone"
_SIGNED = "clusters, and two layers: neurons that have an output weight each"
_CODED = 'data of kind "sparse_coding"'
_LABELLED = "targets +1/-1 or an output for every cluster"
_MARGINS = "a single seed, a homogeneous network, targets +1/-1, and the logistic or the exponential loss"
_HELD_OUT = "held-out samples, from [data.test]"
_XOR = f"the four centres of XOR and a neuron that captures one of them (C_0 = {C0:g})"


@dataclass(frozen=True)
class Observable:
    """dims: beside time. value: its array at an instant; where the instant is many, the axes before these dims are
    theirs, so it counts axes from the last one. applies: whether a problem has it.
    companion: left out by default unless tiny weights make its linear partner underflow. on_request: kept only where it is
    named. needs: what `applies` asks for, in words. group: of the result's, where it is not the root. any_network: whether
    it takes no neurons, so that networks without them have it, too."""

    name: str
    dims: tuple[str, ...]
    long_name: str
    value: Callable[[Instant], Floats]
    applies: Callable[[Setting], bool] = lambda setting: True
    units: str = "1"
    companion: bool = False
    on_request: bool = False
    needs: str = ""
    group: str = ""
    any_network: bool = False

    def exists(self, setting: Setting) -> bool:
        """Whether a problem has it."""
        return (self.any_network or setting.problem.network is None) and self.applies(setting)


def _certifiable(setting: Setting) -> bool:
    return certifiable(setting.problem)


def _of_kkt(
    name: str, long_name: str, value: Callable[[Instant], Floats], dims: tuple[str, ...] = (), on_request: bool = False
) -> Observable:
    return Observable(name, dims, long_name, value, _certifiable, on_request=on_request, needs=_MARGINS, group="kkt")


def _clusters(setting: Setting) -> bool:
    return len(setting.problem.centers) > 0


def _labels(setting: Setting) -> bool:
    return setting.problem.loss.classes or _is_labels(setting.problem.targets)


def _is_labels(targets: Floats) -> bool:
    return targets.ndim == 1 and bool(np.isin(targets, (-1.0, 1.0)).all())


def _no_vectors(setting: Setting) -> bool:
    return not setting.problem.loss.vectors


def _held_out(setting: Setting) -> bool:
    return setting.problem.test is not None


def _held_out_labels(setting: Setting) -> bool:
    test = setting.problem.test
    return test is not None and (setting.problem.loss.classes or _is_labels(test.targets))


def _binary(setting: Setting) -> bool:
    return setting.problem.loss.classes and bool((setting.problem.cluster_label != 0).all())


def _decomposes(setting: Setting) -> bool:
    return setting.decomposition is not None


def _two_layers(setting: Setting) -> bool:
    return setting.problem.two_layers


def _ungated(setting: Setting) -> bool:
    return setting.problem.gates is None


def _signed(setting: Setting) -> bool:
    """Whether neurons have the sign of an output weight, and hence targets among clusters."""
    return _clusters(setting) and _two_layers(setting)


def _kinked(setting: Setting) -> bool:
    return not setting.problem.activation.smooth


def _noisy_labels(setting: Setting) -> bool:
    return _labels(setting) and bool(setting.flips.any())


def _some_clean_labels(setting: Setting) -> bool:
    return _noisy_labels(setting) and bool((setting.flips < setting.multiplicity).any())


def _share_right(margin: Floats, counts: Floats) -> Floats:
    """(…): the share of samples with a positive margin (…, n'); counts (n',): how many a reduced sample stands for."""
    return (margin > 0) @ counts / counts.sum()


def _test_accuracy(instant: Instant) -> Floats:
    margin = instant.test_margin
    return _share_right(margin, np.ones(margin.shape[-1]))


def _margin_gap(instant: Instant) -> Floats:
    return np.ptp(instant.margin, axis=-1)


def _loss_derivative_ratio(instant: Instant) -> Floats:
    size = np.abs(instant.loss_derivative)
    with np.errstate(divide="ignore", invalid="ignore"):  # where derivatives underflow there is no ratio
        return size.max(axis=-1) / size.min(axis=-1)


_OBSERVABLES = (
    Observable(
        "cosine",
        ("neuron", "cluster"),
        "cosine between neuron and cluster centre",
        lambda instant: cosines(instant.setting.reduced, instant.snapshot.direction),
        _clusters,
    ),
    Observable("log_norm", ("neuron",), "natural log of the neuron's norm", lambda instant: instant.snapshot.log_norm),
    Observable(
        "output_weight",
        ("neuron",),
        "output weight v_j",
        lambda instant: representable(instant.snapshot.output_sign, instant.snapshot.output_log),
        _two_layers,
        needs=_TWO_LAYERS,
    ),
    Observable(
        "log_output_weight",
        ("neuron",),
        "natural log of |v_j|",
        lambda instant: instant.snapshot.output_log,
        _two_layers,
        companion=True,
        needs=_TWO_LAYERS,
    ),
    Observable("loss", (), "training loss", lambda instant: representable(1.0, instant.log_loss), any_network=True),
    Observable(
        "log10_loss", (), "log10 of the training loss", lambda instant: instant.log_loss / np.log(10), any_network=True
    ),
    Observable(
        "test_loss",
        (),
        "mean loss over the held-out samples, whatever the reduction in training",
        lambda instant: representable(1.0, instant.log_test_loss),
        _held_out,
        needs=_HELD_OUT,
        any_network=True,
    ),
    Observable(
        "log10_test_loss",
        (),
        "log10 of test_loss",
        lambda instant: instant.log_test_loss / np.log(10),
        _held_out,
        needs=_HELD_OUT,
        any_network=True,
    ),
    Observable(
        "accuracy",
        (),
        "accuracy on the training labels",
        lambda instant: _share_right(instant.margin, instant.setting.multiplicity),
        _labels,
        any_network=True,
    ),
    Observable(
        "test_accuracy",
        (),
        "accuracy on the held-out samples",
        _test_accuracy,
        _held_out_labels,
        needs=f"{_HELD_OUT}, with {_LABELLED}",
        any_network=True,
    ),
    Observable(
        "clean_accuracy",
        (),
        "accuracy on the samples whose label was not flipped",
        lambda instant: _share_right(instant.margin, instant.setting.multiplicity - instant.setting.flips),
        _some_clean_labels,
        any_network=True,
    ),
    Observable(
        "noisy_accuracy",
        (),
        "share of the samples with a flipped label for which the flipped label is predicted",
        lambda instant: _share_right(instant.margin, instant.setting.flips),
        _noisy_labels,
        any_network=True,
    ),
    Observable(
        "binary_accuracy",
        (),
        "accuracy of the sign of the positive clusters' probabilities less the negative ones'",
        lambda instant: _share_right(instant.binary_margin(True), instant.setting.multiplicity),
        _binary,
    ),
    Observable(
        "binary_accuracy_outputs",
        (),
        "accuracy of the sign of the positive clusters' outputs less the negative ones'",
        lambda instant: _share_right(instant.binary_margin(False), instant.setting.multiplicity),
        _binary,
    ),
    Observable(
        "margin",
        ("sample",),
        "margin y f(x); of several outputs, that of the sample's class less the largest other",
        lambda instant: instant.margin,
        _no_vectors,
        any_network=True,
    ),
    Observable(
        "loss_derivative",
        ("sample",),
        "derivative of the sample's loss in f; of several outputs, in that of the sample's class",
        lambda instant: instant.loss_derivative,
        _no_vectors,
        any_network=True,
    ),
    Observable(
        "cluster_mass",
        ("cluster",),
        "sum of squared norms of the neurons whose target is the cluster",
        lambda instant: representable(1.0, cluster_log_mass(instant)),
        _signed,
        needs=_SIGNED,
    ),
    Observable(
        "log_cluster_mass",
        ("cluster",),
        "natural log of cluster_mass",
        cluster_log_mass,
        _signed,
        companion=True,
        needs=_SIGNED,
    ),
    Observable(
        "void_mass",
        (),
        "sum of squared norms of the neurons with no target",
        lambda instant: representable(1.0, void_log_mass(instant)),
        _signed,
        needs=_SIGNED,
    ),
    Observable("log_void_mass", (), "natural log of void_mass", void_log_mass, _signed, companion=True, needs=_SIGNED),
    Observable(
        "active_fraction",
        ("neuron", "cluster"),
        "share of the cluster's samples on which the neuron is active",
        lambda instant: instant.active_fraction,
        lambda setting: _clusters(setting) and _ungated(setting),
    ),
    Observable(
        "sliding_pairs",
        (),
        "pairs of neuron and sample that slide along their boundary <w_j, x_i> = 0",
        sliding_pairs,
        lambda setting: setting.follows_sliding,
    ),
    Observable(
        "gate",
        ("neuron", "sample"),
        "derivative of the kink: 1 where the neuron is active on the sample, 0 where not, between where the pair slides",
        gates,
        _kinked,
        on_request=True,
    ),
    Observable(
        "balance_drift",
        (),
        "largest change of |w_j|^2 - v_j^2 (relu_power: |w_j|^2 - p v_j^2; mlp: what goes into a hidden neuron less what "
        "comes out of it) relative to the neuron's own scale",
        balance_drift,
        conserves_balance,
    ),
    Observable(
        "cluster_coefficient",
        ("neuron", "cluster"),
        "lambda_jc of w_j = w_j(0) + sum_c lambda_jc mu_c/|mu_c|^2 + sum_i sigma_ji xi_i/|xi_i|^2",
        cluster_coefficients,
        _decomposes,
        on_request=True,
        needs=_DECOMPOSES,
    ),
    Observable(
        "noise_coefficient",
        ("neuron", "sample"),
        "sigma_ji of w_j = w_j(0) + sum_c lambda_jc mu_c/|mu_c|^2 + sum_i sigma_ji xi_i/|xi_i|^2",
        noise_coefficients,
        _decomposes,
        on_request=True,
        needs=_DECOMPOSES,
    ),
    Observable(
        "margin_gap",
        (),
        "largest difference between the margins of two samples",
        _margin_gap,
        _labels,
        on_request=True,
        needs=_LABELLED,
        any_network=True,
    ),
    Observable(
        "loss_derivative_ratio",
        (),
        "largest ratio between the loss derivatives of two samples",
        _loss_derivative_ratio,
        _labels,
        on_request=True,
        needs=_LABELLED,
        any_network=True,
    ),
    Observable(
        "activation_region",
        (),
        "share of the samples that activate every neuron of their own class; of several outputs, of their own output",
        activation_region,
        lambda setting: _labels(setting) and _two_layers(setting),
        on_request=True,
        needs=f"two layers and {_LABELLED}",
    ),
    Observable(
        "feature_change",
        (),
        "|phi(Wx) - phi(W(0)x)| / |phi(W(0)x)|, mean over the training samples that activate a neuron at time 0",
        feature_change,
        _ungated,
        on_request=True,
        needs=_UNGATED,
    ),
    Observable(
        "neuron_alignment",
        (),
        "share of right gates: active around mu and not around -mu, for each neuron that captures mu",
        neuron_alignment,
        captures,
        on_request=True,
        needs=_XOR,
    ),
    Observable(
        "almost_orthogonality",
        (),
        "largest |<w_j, mu>| / |v_j| over neurons that capture a cluster and unit centres of the other sign",
        almost_orthogonality,
        captures,
        on_request=True,
        needs=_XOR,
    ),
    Observable(
        "feature_coefficient",
        ("neuron", "cluster"),
        "<w_i, c_j>, c_j a column of the dictionary times the sign of its entry of w*",
        features.coefficients,
        features.is_coded,
        on_request=True,
        needs=_CODED,
    ),
    Observable(
        "pure_part",
        ("neuron",),
        "size of the neuron's largest coefficient <w_i, c_j>",
        features.pure_parts,
        features.is_coded,
        on_request=True,
        needs=_CODED,
    ),
    Observable(
        "dense_mixture",
        ("neuron",),
        "mean of <w_i, c_j> / |w*_j| over all j but that of the largest coefficient",
        features.dense_mixtures,
        features.is_coded,
        on_request=True,
        needs=_CODED,
    ),
    Observable(
        "dense_ratio",
        (),
        "mean of dense_mixture over the neurons, over that of pure_part",
        features.dense_ratio,
        features.is_coded,
        on_request=True,
        needs=_CODED,
    ),
    Observable(
        "winners_kept",
        (),
        "of the neurons that surely win feature j at time 0, the share whose largest coefficient is that of j",
        features.winners_kept,
        features.has_winners,
        on_request=True,
        needs=f"{_CODED}, at least as many neurons as features, and neurons that surely win at time 0",
    ),
    Observable(
        "initial_cosine",
        ("neuron",),
        "|cos| between the neuron's weights and those at time 0",
        features.initial_cosine,
        on_request=True,
    ),
    Observable(
        "active_share",
        (),
        "share of the pairs of neuron and sample at which the slope of the neuron is at least 1/2",
        features.active_share,
        _two_layers,
        on_request=True,
        needs=_TWO_LAYERS,
    ),
    _of_kkt(
        "normalised_margin",
        "smallest margin divided by |theta|^L, with f(c theta) = c^L f(theta)",
        lambda instant: instant.certificate.normalised_margin,
    ),
    _of_kkt(
        "smoothed_margin",
        "normalised margin of a single sample that would have the whole loss",
        lambda instant: instant.certificate.smoothed_margin,
    ),
    _of_kkt(
        "gradient_cosine",
        "cosine between theta and minus the gradient of the loss",
        lambda instant: instant.certificate.gradient_cosine,
    ),
    _of_kkt(
        "kkt_epsilon",
        "distance of theta from sum lambda_i grad q_i, at smallest margin 1",
        lambda instant: instant.certificate.epsilon,
    ),
    _of_kkt(
        "kkt_delta",
        "largest lambda_i (q_i - 1), at smallest margin 1",
        lambda instant: instant.certificate.delta,
    ),
    _of_kkt(
        "kkt_residual",
        "the larger of kkt_epsilon / |theta| and kkt_delta / |theta|^2, at smallest margin 1",
        lambda instant: instant.certificate.residual,
    ),
    _of_kkt(
        "support",
        f"samples whose multiplier is at least {SUPPORT:g} of the largest",
        lambda instant: np.asarray(instant.certificate.support @ instant.setting.multiplicity),
    ),
    _of_kkt(
        "multiplier",
        "lambda_i, the sample's multiplier, at smallest margin 1",
        lambda instant: instant.certificate.multiplier,
        dims=("sample",),
    ),
)

OBSERVABLES = {observable.name: observable for observable in _OBSERVABLES}
