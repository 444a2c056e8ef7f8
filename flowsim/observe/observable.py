"""What an observable is, and how one is registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import UsageError
from ..kinds import registries
from ..kinds.registry import Registry
from ..problem import Problem
from .instant import Instant, Setting
from .parameters import as_matrix, leaves, matrices


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
        return (self.any_network or setting.problem.has_neurons) and self.applies(setting)


#: name -> Observable
OBSERVABLES: Registry[Observable] = registries.OBSERVABLES


def observable(
    name: str,
    dims: tuple[str, ...],
    long_name: str,
    applies: Callable[[Setting], bool] = lambda setting: True,
    *,
    needs: str = "",
    companion: bool = False,
    on_request: bool = False,
    group: str = "",
    any_network: bool = False,
) -> Callable[[Callable[[Instant], Floats]], Callable[[Instant], Floats]]:
    """Register the function below as the value of an :class:`Observable`."""

    def register(value: Callable[[Instant], Floats]) -> Callable[[Instant], Floats]:
        OBSERVABLES.register(
            name,
            Observable(
                name,
                dims,
                long_name,
                value,
                applies,
                companion=companion,
                on_request=on_request,
                needs=needs,
                group=group,
                any_network=any_network,
            ),
        )
        return value

    return register


#: What an observable may have beside time, and how many of it a setting has at one instant.
SIZES: dict[str, Callable[[Setting], int]] = {
    "neuron": lambda setting: len(setting.problem.hidden_log_norm),
    "cluster": lambda setting: len(setting.problem.centers),
    "sample": lambda setting: len(setting.reduced.targets),
    "output": lambda setting: setting.problem.outputs,
    "leaf": lambda setting: len(leaves(setting.problem)),
    "matrix": lambda setting: len(matrices(setting.problem)),
    "rank": lambda setting: max((min(as_matrix(shape)) for shape in matrices(setting.problem).values()), default=0),
    "eigenvalue": lambda setting: setting.observe.eigenvalues,
    "kernel_row": lambda setting: len(setting.kernel_samples) * setting.problem.outputs,
    "kernel_column": lambda setting: len(setting.kernel_samples) * setting.problem.outputs,
    "probe": lambda setting: 0 if setting.probes is None else len(setting.probes),
}


def observed_by(
    function: Callable[[Instant], Any],
    name: str,
    dims: tuple[str, ...],
    long_name: str,
    units: str,
    needs: str,
    applies: Callable[[Problem], bool] | None,
) -> Observable:
    """An observable, kept on request, whose value is a function of a single instant.

    Raises UsageError for a name that is no identifier and for unknown dims.
    """
    if not name.isidentifier():
        raise UsageError(f'the observable "{name}" needs a name of letters, digits and "_"')
    if unknown := [dim for dim in dims if dim not in SIZES]:
        raise UsageError(f'the observable "{name}" has dims {", ".join(unknown)}; allowed: {", ".join(SIZES)}')

    def of_one(instant: Instant) -> Floats:
        shape = tuple(SIZES[dim](instant.setting) for dim in dims)
        return _of_shape(function(instant), name, dims, shape)

    def value(instant: Instant) -> Floats:
        return instant.singly(of_one)

    def has_it(setting: Setting) -> bool:
        return all(SIZES[dim](setting) for dim in dims) and (applies is None or applies(setting.problem))

    any_network = "neuron" not in dims
    return Observable(
        name, dims, long_name, value, has_it, units, on_request=True, needs=needs, any_network=any_network
    )


def _of_shape(value: Any, name: str, dims: tuple[str, ...], shape: tuple[int, ...]) -> Floats:
    """Raises UsageError where a value has another shape or is no array of numbers."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise UsageError(f'the observable "{name}" gave {type(value).__name__}, which is no array of numbers') from None
    if array.shape != shape:
        expected = f"{shape} for its dims ({', '.join(dims)})" if dims else "a single number, since it has no dims"
        raise UsageError(f'the observable "{name}" gave an array of shape {array.shape}; it should be {expected}')
    return array
