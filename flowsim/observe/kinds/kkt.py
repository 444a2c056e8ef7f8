"""How far the network is from a KKT point: the parts of its certificate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import Floats
from ..best_multipliers import MOST_ENTRIES, affordable, best_residual
from ..instant import Instant, Setting
from ..kkt import SUPPORT, certifiable
from ..observable import observable

_MARGINS = "a single seed, a homogeneous network, targets +1/-1, and the logistic or the exponential loss"


def _has_certificate(setting: Setting) -> bool:
    return certifiable(setting.problem)


_Value = Callable[[Instant], Floats]


def _of_certificate(name: str, long_name: str, dims: tuple[str, ...] = ()) -> Callable[[_Value], _Value]:
    return observable(name, dims, long_name, _has_certificate, needs=_MARGINS, group="kkt", any_network=True)


@_of_certificate("normalised_margin", "smallest margin divided by |theta|^L, with f(c theta) = c^L f(theta)")
def normalised_margin(instant: Instant) -> Floats:
    return instant.certificate.normalised_margin


@_of_certificate("smoothed_margin", "normalised margin of a single sample that would have the whole loss")
def smoothed_margin(instant: Instant) -> Floats:
    return instant.certificate.smoothed_margin


@_of_certificate("gradient_cosine", "cosine between theta and minus the gradient of the loss")
def gradient_cosine(instant: Instant) -> Floats:
    return instant.certificate.gradient_cosine


@_of_certificate("kkt_epsilon", "distance of theta from sum lambda_i grad q_i, at smallest margin 1")
def kkt_epsilon(instant: Instant) -> Floats:
    return instant.certificate.epsilon


@_of_certificate("kkt_delta", "largest lambda_i (q_i - 1), at smallest margin 1")
def kkt_delta(instant: Instant) -> Floats:
    return instant.certificate.delta


@_of_certificate("kkt_residual", "the larger of kkt_epsilon / |theta| and kkt_delta / |theta|^2, at smallest margin 1")
def kkt_residual(instant: Instant) -> Floats:
    return instant.certificate.residual


@observable(
    "kkt_residual_best",
    (),
    "kkt_residual of the multipliers for which it is smallest, rather than those of the loss",
    lambda setting: affordable(setting.problem),
    needs=f"{_MARGINS}, two layers of neurons, and gradients of all margins that have at most {MOST_ENTRIES:.0e} entries",
    on_request=True,
    group="kkt",
)
def kkt_residual_best(instant: Instant) -> Floats:
    def of_one(single: Instant) -> float:
        setting = single.setting
        return best_residual(setting.reduced, single.snapshot, setting.multiplicity)

    # those of the loss are among them, but for the rounding of two ways to write the same
    return np.fmin(instant.singly(of_one), instant.certificate.residual)


@_of_certificate("support", f"samples whose multiplier is at least {SUPPORT:g} of the largest")
def support(instant: Instant) -> Floats:
    return np.asarray(instant.certificate.support @ instant.setting.multiplicity)


@_of_certificate("multiplier", "lambda_i, the sample's multiplier, at smallest margin 1", ("sample",))
def multiplier(instant: Instant) -> Floats:
    return instant.certificate.multiplier
