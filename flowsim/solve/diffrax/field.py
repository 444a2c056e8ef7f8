"""The right-hand side of the flow in JAX. Two matrix products per evaluation are all of its cost.

Notation, for a neuron: u = w/|w|, rho = log|w|, a = v/|w|, q the activation's homogeneity, h(w, x) = |w|^q k(<u, x>).
With p_i = -weight_i l'(f(x_i), y_i) and P = sum_i p_i k'(<u, x_i>) x_i, H = sum_i p_i k(<u, x_i>):

    du/dt = a |w|^(q-1) (I - u u^T) P      drho/dt = a |w|^(q-1) R      (dv/dt)/|w| = |w|^(q-1) H

where R, the radial part, is q H for a power (Euler) and <P, u> for tanh; for a power of degree p, H = <P, u>/p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import jax
import jax.numpy as jnp

from ...kinds.activations import Activation
from ...kinds.losses import Loss
from ...problem import Reduced
from .spread import WHOLE, Spread
from .triangle import Triangle, triangle


class Data(NamedTuple):
    """The arrays of the problem on the device. inputs (n', r), of the type that products have; targets, weight (n',). For
    neurons alone, inputs may be a triangle."""

    inputs: jax.Array | Triangle
    targets: jax.Array
    weight: jax.Array

    @classmethod
    def of(cls, reduced: Reduced, precision: str = "float64", spread: Spread = WHOLE, of_neurons: bool = False) -> Data:
        """of_neurons: whether products with neurons are all that inputs are for."""
        dtype = jnp.float32 if precision == "mixed" else jnp.float64
        found = triangle(reduced.inputs, dtype) if of_neurons and spread == WHOLE else None
        inputs = spread.place(reduced.inputs, 0, dtype) if found is None else found
        targets = spread.place(reduced.targets.T, -1, reduced.targets.dtype)
        return cls(inputs, targets, spread.place(reduced.sample_weight, 0, jnp.float64, filling=0.0))

    @property
    def axes(self) -> Data:
        """The axis of each array along which samples are."""
        return Data(*(0, -1, 0))  # type: ignore[arg-type]

    @property
    def matrix(self) -> jax.Array:
        """The inputs, which are for more than neurons."""
        assert not isinstance(self.inputs, Triangle)
        return self.inputs

    @property
    def samples(self) -> int:
        """n'"""
        return len(self.weight)

    def weighing(self, counts: jax.Array) -> Self:
        """The same, with a weight of 0 for samples that do not count: (n',) of truth values."""
        return self._replace(weight=jnp.where(counts, self.weight, 0.0))

    def project(self, direction: jax.Array) -> jax.Array:
        """(m, n'): <u_j, x_i> for unit directions (m, r)."""
        narrow = direction.astype(self.inputs.dtype)
        found = self.inputs.project(narrow) if isinstance(self.inputs, Triangle) else narrow @ self.inputs.T
        return found.astype(direction.dtype)

    def gather(self, pull: jax.Array) -> jax.Array:
        """(m, r): sum_i pull_ji x_i for (m, n'), scaled so that nothing underflows in the product's type."""
        if pull.dtype == self.inputs.dtype:
            return self._combined(pull)
        largest = jnp.max(jnp.abs(pull), axis=1, keepdims=True)
        scale = jnp.where(largest > 0, largest, 1.0)
        return scale * self._combined((pull / scale).astype(self.inputs.dtype)).astype(pull.dtype)

    def _combined(self, pull: jax.Array) -> jax.Array:
        return self.inputs.gather(pull) if isinstance(self.inputs, Triangle) else pull @ self.inputs


#: Of neurons: unit directions (m, r), log norms and ratios v/|w| (m,).
Unit = tuple[jax.Array, jax.Array, jax.Array]


class Drift(NamedTuple):
    """tangent (m, r): du/dt; radial (m,): d log|w| / dt; output (m,): (dv/dt)/|w|."""

    tangent: jax.Array
    radial: jax.Array
    output: jax.Array


class OfLoss:
    """The formulas that know the loss, and of the network its outputs alone.

    loss_clock: whether velocities are per unit of that; growth: 1 - L/2 for a network of degree L in what is trained.
    """

    loss: Loss
    loss_clock: bool
    growth: float

    @property
    def per_loss(self) -> bool:
        """Whether pulls are those per unit of the loss of the samples that they are of."""
        return self.loss_clock and self.loss.relative_derivative is not None

    def log_loss(self, outputs: jax.Array, data: Data) -> jax.Array:
        """log of the training loss, exact where the loss underflows."""
        per_sample = self.loss.log_value(outputs, data.targets, jnp)
        return jax.scipy.special.logsumexp(per_sample + jnp.log(data.weight))

    def all_right(self, outputs: jax.Array, data: Data) -> jax.Array:
        """Whether every sample is on its own side."""
        return jnp.all(self.loss.log_value(outputs, data.targets, jnp) < self.loss.border)

    def pull(self, outputs: jax.Array, size: Callable[[], jax.Array], data: Data) -> jax.Array:
        """-weight l', times dt/ds on the loss clock: there l' = l (l'/l), and every factor is taken together as a
        logarithm. size: |theta|^2, asked for where the growth is divided out."""
        if not self.per_loss or self.loss.relative_derivative is None:
            return -data.weight * self.loss.derivative(outputs, data.targets, jnp)
        log_speed = -self.log_loss(outputs, data)
        if self.growth:
            log_speed = log_speed + self.growth * jnp.log1p(size())
        share = jnp.exp(self.loss.log_value(outputs, data.targets, jnp) + jnp.log(data.weight) + log_speed)
        return -share * self.loss.relative_derivative(outputs, data.targets, jnp)


@dataclass(frozen=True)
class Network(OfLoss):
    """The formulas of one network and loss, hashable so that compiled code is shared."""

    activation: Activation
    loss: Loss
    outputs_count: int = 1
    square_decay: float = 0.0
    cubic_decay: float = 0.0
    trained_output: bool = True
    loss_clock: bool = False
    growth: float = 0.0
    spread: Spread = WHOLE

    def outputs(self, direction: jax.Array, log_norm: jax.Array, ratio: jax.Array, data: Data) -> jax.Array:
        """f(x_i) for unit directions (m, r), log norms and ratios v/|w| (m,): (n',), or (k, n') of several
        outputs."""
        return self.spread.each(self._outputs, (direction, log_norm, ratio), data)

    def drift(self, direction: jax.Array, log_norm: jax.Array, ratio: jax.Array, data: Data) -> Drift:
        """Velocities of all neurons at unit directions (m, r), log norms (m,) and ratios v/|w| (m,)."""
        activation = self.activation
        force, responses = self.spread.sums(self._forces, (direction, log_norm, ratio), data)
        along = jnp.sum(force * direction, axis=1)
        total = responses if activation.degree is None else along / activation.degree
        radial = along if activation.degree is None else activation.homogeneity * total
        scale = jnp.exp((activation.homogeneity - 1) * log_norm)
        return Drift(
            tangent=(ratio * scale)[:, None] * (force - along[:, None] * direction),
            radial=ratio * scale * radial - self.square_decay - self.cubic_decay * jnp.exp(log_norm),
            output=scale * total,
        )

    def _forces(self, unit: Unit, data: Data) -> tuple[tuple[jax.Array, jax.Array | None], jax.Array | None]:
        """((P (m, r), H (m,) where it does not follow from P), log of the loss where they are per unit of that)"""
        direction, log_norm, ratio = unit
        response, slope = self._response(direction, log_norm, data)
        outputs = self._sum(response, log_norm, ratio)
        pull = self.pull(outputs, lambda: self._size(log_norm, ratio), data)
        if self.loss.classes:  # of its own output for every neuron
            pull = jnp.repeat(pull, len(direction) // self.outputs_count, axis=0)
        total = (response * pull).sum(axis=1) if self.activation.degree is None else None
        return (data.gather(slope * pull), total), self.log_loss(outputs, data) if self.per_loss else None

    def _outputs(self, unit: Unit, data: Data) -> jax.Array:
        direction, log_norm, ratio = unit
        return self._sum(self._response(direction, log_norm, data)[0], log_norm, ratio)

    @property
    def keeps_balance(self) -> bool:
        """Whether |w_j|^2 - v_j^2 stays what it is, for every neuron."""
        return self.trained_output and self.activation.degree is not None and self.activation.homogeneity == 1

    def _size(self, log_norm: jax.Array, ratio: jax.Array) -> jax.Array:
        return jnp.sum(jnp.exp(2 * log_norm) * (1 + (ratio**2 if self.trained_output else 0.0)))

    def _response(self, direction: jax.Array, log_norm: jax.Array, data: Data) -> tuple[jax.Array, jax.Array]:
        return self.activation.response(data.project(direction), log_norm[:, None], jnp)

    def _sum(self, response: jax.Array, log_norm: jax.Array, ratio: jax.Array) -> jax.Array:
        factor = ratio * jnp.exp((self.activation.homogeneity + 1) * log_norm)
        if not self.loss.classes:
            return factor @ response
        by_output = (self.outputs_count, len(factor) // self.outputs_count)
        return jnp.einsum("kh,khn->kn", factor.reshape(by_output), response.reshape(*by_output, -1))
