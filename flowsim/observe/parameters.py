"""What is trained, as named arrays: the leaves of a tree, or the rows of two layers' neurons and their output weights."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats
from ..problem import Problem, Reduced
from ..solve import Snapshot

#: The rows of two layers' neurons, bias entries in a last column, and the output weights.
HIDDEN, OUTPUT = "hidden", "output"
#: Norms are no smaller than this, so that no entry of a row is lost that matters: JAX takes subnormal numbers for 0.
SMALLEST = 1e-302


def leaves(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Name of each trained array -> its shape, in their order."""
    if problem.network is not None:
        return {leaf.name: leaf.shape for leaf in problem.network.leaves}
    rows = problem.weights.direction.shape
    return {HIDDEN: rows} | ({OUTPUT: rows[:1]} if problem.trained_output else {})


def matrices(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Those of two axes or more."""
    return {name: shape for name, shape in leaves(problem).items() if len(shape) > 1}


def as_matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """The matrix that singular values of such an array are of: the first axis against all others."""
    return shape[0], math.prod(shape[1:])


def arrays(reduced: Reduced, snapshot: Snapshot) -> tuple[Floats, ...]:
    """The same arrays at an instant, or at many, in the original features. Neurons too small for a float
    have the norm SMALLEST."""
    problem = reduced.problem
    if not problem.has_neurons:
        return snapshot.leaves
    direction, bias = reduced.lift(snapshot.direction)
    if problem.bias:
        direction = np.concatenate([direction, bias[..., None]], axis=-1)
    hidden = np.maximum(np.exp(snapshot.log_norm), SMALLEST)[..., None] * direction
    if problem.network is not None:
        return problem.network.together(hidden, snapshot.leaves)
    if not problem.trained_output:
        return (hidden,)
    return hidden, snapshot.output_sign * np.maximum(np.exp(snapshot.output_log), SMALLEST)
