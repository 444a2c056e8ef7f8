"""Sizes |w_j| and |v_j| of neurons along a flow, as numbers of which none underflows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from scipy.special import logsumexp

from ...arrays import Booleans, Floats

#: |w_j|^2 - v_j^2 is what it was at the start, where it is so up to this part of the larger of the two.
CONSERVED = 1e-4
#: Past this, cosh and sinh are e^x/2 to the last bit.
LARGE = 20.0
#: |w_j| of a neuron with |v_j| > |w_j| goes no further down than to this part of the root of the difference: it turns
#: there.
TURNS = 1e-6


class Sizes(Protocol):
    """log_norm, output_log (m,): log|w_j|, log|v_j|. output_sign (m,)"""

    @property
    def log_norm(self) -> Floats: ...

    @property
    def output_log(self) -> Floats: ...

    @property
    def output_sign(self) -> Floats: ...

    def grown(self, pull: Floats, norm_rate: Floats, output_rate: Floats) -> Self:
        """After a step: pull (m,): its length times <H_j, u_j>; norm_rate, output_rate (m,): by how much log|w_j| and
        log|v_j| grow, to first order."""
        ...


@dataclass(frozen=True)
class Hyperbolic:
    """Of neurons of degree 1 with a trained v_j: |w_j|^2 - v_j^2 = kept_sign e^(2 kept_log) never changes.

    parameter (m,): x with |w| = e^kept_log cosh x and v = e^kept_log sinh x where that is positive, so that v may
    change its sign; with the two exchanged where it is negative; log|w| where it is 0. In each case x grows at the
    rate <H_j, u_j>, times the sign of v_j in the last two.
    """

    kept_sign: Floats
    kept_log: Floats
    sign: Floats
    parameter: Floats

    @classmethod
    def of(
        cls, log_norm: Floats, output_log: Floats, sign: Floats, start_norm: Floats, start_output: Floats
    ) -> Hyperbolic:
        """log_norm, output_log, sign (m,): those of the flow; start_norm, start_output (m,): logarithms at its
        start."""
        kept_sign, kept_log = _difference(start_norm, start_output)
        now_sign, now_log = _difference(log_norm, output_log)
        larger = 2 * np.maximum(log_norm, output_log)
        apart = np.abs(now_sign * np.exp(2 * now_log - larger) - kept_sign * np.exp(2 * kept_log - larger))
        kept_sign, kept_log = np.where(apart <= CONSERVED, (kept_sign, kept_log), (now_sign, now_log))
        with np.errstate(invalid="ignore", over="ignore"):
            above = _arccosh(np.maximum(log_norm, output_log) - kept_log)
        parameter = np.where(kept_sign > 0, sign * above, np.where(kept_sign < 0, above, log_norm))
        return cls(kept_sign, kept_log, sign, parameter)

    @property
    def log_norm(self) -> Floats:
        return self._larger_when(self.kept_sign > 0)

    @property
    def output_log(self) -> Floats:
        return self._larger_when(self.kept_sign < 0)

    @property
    def output_sign(self) -> Floats:
        return np.where(self.kept_sign > 0, np.where(self.parameter < 0, -1.0, 1.0), self.sign)

    def grown(self, pull: Floats, norm_rate: Floats, output_rate: Floats) -> Hyperbolic:
        moved = self.parameter + np.where(self.kept_sign > 0, 1.0, self.sign) * pull
        return replace(self, parameter=np.where(self.kept_sign < 0, np.maximum(moved, TURNS), moved))

    def _larger_when(self, cosh: Booleans) -> Floats:
        x = np.abs(self.parameter)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(cosh, np.log1p(np.exp(-2 * x)), np.log1p(-np.exp(-2 * x)))
            return np.where(self.kept_sign == 0, self.parameter, self.kept_log + x - np.log(2) + part)


@dataclass(frozen=True)
class Plain:
    """Of other neurons: logarithms that grow by themselves."""

    log_norm: Floats
    output_log: Floats
    output_sign: Floats

    def grown(self, pull: Floats, norm_rate: Floats, output_rate: Floats) -> Plain:
        return replace(self, log_norm=self.log_norm + norm_rate, output_log=self.output_log + output_rate)


def log_size(sizes: Sizes, trained: bool) -> float:
    """log|theta|"""
    parts = [sizes.log_norm, sizes.output_log] if trained else [sizes.log_norm]
    return float(0.5 * logsumexp(2 * np.concatenate(parts)))


def _difference(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """(sign, half the log of the size) of e^(2 first) - e^(2 second)"""
    apart = first - second
    with np.errstate(divide="ignore"):
        half = np.maximum(first, second) + 0.5 * np.log(-np.expm1(-2 * np.abs(apart)))
    return np.sign(apart), np.where(apart == 0, 0.0, half)


def _arccosh(log: Floats) -> Floats:
    """arccosh(e^log), of logs that may overflow"""
    return np.where(log > LARGE, log + np.log(2), np.arccosh(np.exp(np.clip(log, 0.0, LARGE))))
