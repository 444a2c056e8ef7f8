"""Layers of networks of images, in JAX: signals are (n, channels, height, width)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp

from .activations import Activation
from .in_jax import pointwise as respond

Array = Any
#: (name, shape) -> an array of the network.
Source = Callable[[str, tuple[int, ...]], Array]
#: What is added to variances, and the part of an average that a batch renews, as PyTorch has them.
EPSILON, RENEWED = 1e-5, 0.1


class TooSmall(ValueError):
    """A signal has fewer pixels than a layer needs."""


class Layers:
    """What layers make of signals.

    normalised: (name of the layer, signal) -> signal, before scale and shift; None where there is no normalisation. biases:
    whether channels that are not normalised have a trained bias. signals: those of the layers that were `named`;
    preactivations: those that were `activated`.
    """

    def __init__(
        self,
        array: Source,
        activation: Activation,
        normalised: Callable[[str, Array], Array] | None,
        *,
        biases: bool,
    ):
        self._array, self._activation, self._normalised, self._biases = array, activation, normalised, biases
        self.signals: dict[str, Array] = {}
        self.preactivations: dict[str, Array] = {}

    def named(self, name: str, signal: Array) -> None:
        """Keep the signal as what the layer above sees of the layer of this name."""
        self.signals[name] = signal

    def convolved(self, name: str, signal: Array, channels: int, kernel: int, stride: int = 1) -> Array:
        """With zeros around, so that stride 1 keeps an image's size; kernels are square and of odd side."""
        weight = self._array(name, (channels, signal.shape[1], kernel, kernel))
        if jax.default_backend() == "cpu":
            return _by_rows(signal, weight, stride)
        pad = (kernel // 2, kernel // 2)
        return jax.lax.conv_general_dilated(signal, weight, (stride, stride), (pad, pad))

    def normalised(self, name: str, signal: Array) -> Array:
        """With a trained scale and shift for each channel; without normalisation the signal, plus biases."""
        shape = (signal.shape[1],)
        if self._normalised is None:
            return signal + _channels(self._array(f"{name}_bias", shape)) if self._biases else signal
        scale, shift = self._array(f"{name}_scale", shape), self._array(f"{name}_shift", shape)
        return _channels(scale) * self._normalised(name, signal) + _channels(shift)

    def activated(self, name: str, signal: Array) -> Array:
        self.preactivations[name] = signal
        return respond(self._activation, signal)

    def dense(self, name: str, signal: Array, outputs: int, *, bias: bool) -> Array:
        """(n, outputs) of (n, entries)"""
        found = signal @ self._array(name, (outputs, signal.shape[1])).T
        return found + self._array(f"{name}_bias", (outputs,)) if bias else found


class OverBatch:
    """Channels by their means and variances: in training those of the batch, else averages over the batches of training
    (Ioffe & Szegedy 2015), which no gradient passes through.

    averages: name -> what training with the batch makes of each average.
    """

    def __init__(self, array: Source, *, training: bool):
        self._array, self._training = array, training
        self.averages: dict[str, Array] = {}

    def __call__(self, name: str, signal: Array) -> Array:
        channels = (signal.shape[1],)
        mean, variance = self._array(f"{name}_mean", channels), self._array(f"{name}_variance", channels)
        if self._training:
            of_batch, entries = signal.mean(axis=(0, 2, 3)), signal.size // signal.shape[1]
            spread = ((signal - _channels(of_batch)) ** 2).mean(axis=(0, 2, 3))
            unbiased = spread * entries / max(entries - 1, 1)
            for part, old, new in (("mean", mean, of_batch), ("variance", variance, unbiased)):
                self.averages[f"{name}_{part}"] = old + RENEWED * (new - old)
            mean, variance = of_batch, spread
        else:
            mean, variance = jax.lax.stop_gradient(mean), jax.lax.stop_gradient(variance)
        return (signal - _channels(mean)) / jnp.sqrt(_channels(variance) + EPSILON)


def shapes_seen(forward: Callable[[Source, Array], Array], features: int) -> Mapping[str, tuple[int, ...]] | None:
    """Name -> shape of the arrays that `forward`, of (where arrays are from, inputs), asks for, in that order; None where a
    signal becomes too small."""
    found: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def array(name: str, shape: tuple[int, ...]) -> Array:
        found[name] = shape
        return jnp.zeros(shape)

    try:
        jax.eval_shape(partial(forward, array), jax.ShapeDtypeStruct((1, features), float))
    except TooSmall:
        return None
    return found


def _by_rows(signal: Array, weight: Array, stride: int) -> Array:
    """The convolution as a sum of matrix products, one for each row of the kernel: on CPUs JAX's own takes up to twenty
    times as long within loops, and one product for all rows as many times the memory as there are rows."""
    kernel, (height, width) = weight.shape[2], signal.shape[2:]
    rim = kernel // 2
    around = jnp.pad(signal, ((0, 0), (0, 0), (rim, rim), (rim, rim)))
    aside = jnp.stack([around[..., column : column + width : stride] for column in range(kernel)], axis=2)
    rows = [aside[..., row : row + height : stride, :] for row in range(kernel)]
    parts = [jnp.einsum("ocb,ncbhw->nohw", weight[:, :, row], seen) for row, seen in enumerate(rows)]
    return sum(parts[1:], parts[0])


def pooled(signal: Array, size: int, stride: int, *, largest: bool) -> Array:
    """The largest entry, or the mean, of every square of this size; what is left over at the edges is not seen."""
    for axis in (2, 3):
        count = (signal.shape[axis] - size) // stride + 1
        if count < 1:
            raise TooSmall
        # of slices rather than of windows, whose derivatives of second order JAX does not have
        parts = [
            jax.lax.slice_in_dim(signal, first, first + (count - 1) * stride + 1, stride, axis) for first in range(size)
        ]
        signal = reduce(jnp.maximum, parts) if largest else sum(parts[1:], parts[0]) / size
    return signal


def by_group(signal: Array, groups: int) -> Array:
    """Every sample's groups of channels with mean 0 and variance 1 (Wu & He 2018)."""
    apart = signal.reshape(len(signal), groups, -1)
    centred = apart - apart.mean(axis=2, keepdims=True)
    return (centred / jnp.sqrt((centred**2).mean(axis=2, keepdims=True) + EPSILON)).reshape(signal.shape)


def _channels(array: Array) -> Array:
    return array[:, None, None]
