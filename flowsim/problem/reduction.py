"""The exact reduction: equal samples become one, and neurons move in the span of the data plus one direction each.

A neuron's weights stay in w_j(0) + span of the data. With an orthonormal basis Q of that span (rank r) and e_j the unit
vector of the part of w_j(0) outside it, the r + 1 coordinates (Q^T w_j, <e_j, w_j>) follow the same equations on the
data (Q^T x_i, 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from ..arrays import Floats, Integers
from ..kinds.pixels import AT_A_TIME, Pixels, Stored, parts, slices
from ..threads import blas_threads
from .problem import Problem

#: Samples that are compared with each other at a time: few enough for the processor's cache.
COMPARED = 64


@dataclass(frozen=True)
class Reduced:
    """What the engine integrates. r is the number of coordinates of a neuron, its bias included.

    stored (n', r): the inputs; targets, sample_weight (n',); representative (n,): the row of `stored` that stands for each
    sample; direction (m, r): initial unit directions; center (K, r) and outside_center (m, K): <w_j, mu_k> is
    ``w @ center.T`` plus the last coordinate of w_j times outside_center (zeros where nothing was projected).
    """

    problem: Problem
    stored: Stored
    targets: Floats
    sample_weight: Floats
    representative: Integers
    direction: Floats
    center: Floats
    outside_center: Floats
    basis: Floats | None  # (d, rank) or None where the features themselves are the coordinates
    outside: Floats | None  # (m, d): the vectors e_j

    @property
    def inputs(self) -> Floats:
        """(n', r), as an array; of images whose network has no neurons made anew whenever it is asked for"""
        return self.stored[:] if isinstance(self.stored, Pixels) else self.stored

    @property
    def projected(self) -> bool:
        return self.basis is not None

    @property
    def merged(self) -> int:
        """How many samples were merged away."""
        return len(self.representative) - len(self.targets)

    @property
    def digest(self) -> bytes:
        """What tells another problem, or the same one rounded otherwise, apart from this one."""
        found = blake2b(digest_size=8)
        inputs = (self.stored[rows] for rows in parts(self.stored))
        for array in (self.direction, self.targets, self.sample_weight, *inputs):
            found.update(np.ascontiguousarray(array).data)
        return found.digest()

    @property
    def operations(self) -> int:
        """Floating-point operations of the matrix products of a field evaluation."""
        samples, coordinates = self.stored.shape
        leaves = 6 * samples * sum(leaf.size for leaf in self.problem.leaves)
        return 4 * samples * coordinates * len(self.direction) + leaves

    def lift(self, direction: Floats) -> tuple[Floats, Floats]:
        """(…, m, r) coordinates -> weights (…, m, d) and bias entries (…, m) in the same normalisation."""
        rank = self._rank
        bias = direction[..., rank] if self.problem.bias else np.zeros(direction.shape[:-1])
        if self.basis is None or self.outside is None:
            return direction[..., :rank], bias
        return direction[..., :rank] @ self.basis.T + direction[..., -1:] * self.outside, bias

    def lower(self, direction: Floats, bias: Floats) -> Floats:
        """The inverse of `lift`: weights (…, m, d) and bias entries (…, m) -> (…, m, r) coordinates."""
        inside, columns = direction, []
        if self.basis is not None:
            inside = direction @ self.basis
        if self.problem.bias:
            columns.append(bias[..., None])
        if self.outside is not None:
            columns.append((direction * self.outside).sum(axis=-1, keepdims=True))
        return np.concatenate([inside, *columns], axis=-1)

    def center_products(self, direction: Floats) -> Floats:
        """(…, m, K): <w_j, mu_k> for the neurons with these coordinates (…, m, r), biases left out."""
        products = direction @ self.center.T
        if self.projected:
            products += direction[..., -1:] * self.outside_center
        return products

    @property
    def feature_coordinates(self) -> Floats:
        """(r,): 1 for every coordinate but the bias's, which is 0."""
        mask = np.ones(self.direction.shape[1])
        if self.problem.bias:
            mask[self._rank] = 0.0
        return mask

    def feature_norms(self, direction: Floats) -> Floats:
        """(…, m): norm of the neurons with these coordinates (…, m, r), biases left out."""
        features = direction * self.feature_coordinates if self.problem.bias else direction
        return np.sqrt(np.einsum("...c,...c->...", features, features))

    def projections(self, direction: Floats, rows: slice) -> Floats:
        """(…, m, rows): products of the neurons with these coordinates (…, m, r) with some of the inputs."""
        return direction @ self.stored[rows].T

    @property
    def _rank(self) -> int:
        return self.center.shape[1] - self.problem.bias - self.projected


def reduce(problem: Problem, *, project: bool = True, merge: bool = True, sibling: Reduced | None = None) -> Reduced:
    """Reduce a problem as far as it pays; `project` and `merge` switch the two parts off.

    sibling: the same reduction of another problem; where it has the very same samples, what was found out is taken over.
    """
    samples, features = problem.samples.stored.shape
    # as a flow of it will, so that wherever that rounds alike the reduction does
    with blas_threads(4 * samples * min(samples, features) * len(problem.hidden_direction)):
        return _reduced(problem, project, merge, sibling)


def _reduced(problem: Problem, project: bool, merge: bool, sibling: Reduced | None) -> Reduced:
    known = sibling if sibling is not None and sibling.problem.samples is problem.samples else None
    stored, targets, weight, representative = _merged(problem, merge, known)
    direction, centers = problem.hidden_direction, problem.centers
    outside_center = np.zeros((len(direction), len(centers)))
    if isinstance(stored, Pixels):  # there are no neurons
        return Reduced(problem, stored, targets, weight, representative, direction, centers, outside_center, None, None)
    inputs, outside = stored, None
    basis = known.basis if known is not None else _span(stored) if project else None
    if basis is not None:
        inside = direction @ basis
        remainder = direction - inside @ basis.T
        length = np.linalg.norm(remainder, axis=1, keepdims=True)
        outside = remainder / np.where(length > 0, length, 1.0)
        outside_center = outside @ centers.T
        inputs, centers, direction = inputs @ basis, centers @ basis, inside
    columns = [(inputs, centers, direction)]
    if problem.bias:
        columns.append((np.ones((len(inputs), 1)), np.zeros((len(centers), 1)), problem.hidden_bias_direction[:, None]))
    if basis is not None:
        columns.append((np.zeros((len(inputs), 1)), np.zeros((len(centers), 1)), length))
    if len(columns) > 1:
        inputs, centers, direction = (np.concatenate(each, axis=1) for each in zip(*columns, strict=True))
    return Reduced(problem, inputs, targets, weight, representative, direction, centers, outside_center, basis, outside)


def _merged(problem: Problem, merge: bool, known: Reduced | None) -> tuple[Stored, Floats, Floats, Integers]:
    """(inputs, targets, weight, representative) of the samples that differ. Neurons see their inputs as an array."""
    samples, targets, weight = problem.samples, problem.targets, problem.sample_weight
    stored = samples.inputs if problem.has_neurons else samples.stored
    if known is not None:
        representative = known.representative
    else:
        vectors = targets.ndim > 1
        alone = np.arange(len(targets), dtype=np.int64)
        representative = _equal_samples(stored, targets) if merge and not vectors else alone
    _, first = np.unique(representative, return_index=True)
    if len(first) == len(targets):
        return stored, targets, weight, representative
    weight = np.bincount(representative, weights=weight).astype(float)
    few = stored.only(first) if isinstance(stored, Pixels) else stored[first]
    return few, targets[first], weight, representative


def _equal_samples(inputs: Stored, targets: Floats) -> Integers:
    """(n,): the group of every sample with those that equal it in input and target, counted by their first samples."""
    # samples that differ in target or first feature are told apart by these; only the others are compared whole
    feature = np.concatenate([inputs[rows][:, 0] for rows in parts(inputs)])
    _, first, group = np.unique(feature + 1j * targets, return_index=True, return_inverse=True)
    leader = first[group]
    leading: dict[bytes, int] = {}
    later = np.flatnonzero(leader != np.arange(len(leader)))
    for begin in range(0, len(later), COMPARED):
        rows = later[begin : begin + COMPARED]
        for index in rows[(inputs[rows] != inputs[leader[rows]]).any(axis=1)]:
            # + 0.0 makes -0.0 and 0.0 the same bytes
            content = (inputs[index] + 0.0).tobytes() + (targets[index] + 0.0).tobytes()
            leader[index] = leading.setdefault(blake2b(content, digest_size=16).digest(), int(index))
    _, group = np.unique(leader, return_inverse=True)
    return group


def _span(inputs: Floats) -> Floats | None:
    """Orthonormal basis (d, rank) of the rows' span, or None where rank + 1 coordinates would be no fewer than d."""
    samples, features = inputs.shape
    if samples >= features and _clearly_independent(inputs):
        return None
    if samples < features and _clearly_independent(inputs.T):
        return np.linalg.qr(inputs.T)[0] if samples + 1 < features else None
    triangle = inputs if samples <= features else _triangle(inputs)
    _, values, rows = np.linalg.svd(triangle, full_matrices=False)
    rank = int((values > max(inputs.shape) * np.finfo(float).eps * values[:1].max(initial=0.0)).sum())
    return rows[:rank].T if rank + 1 < features else None


def _triangle(inputs: Floats) -> Floats:
    """R of the QR decomposition of inputs (n, d), n > d, of which some rows at a time are copied."""
    found: Floats = np.zeros((0, inputs.shape[1]))
    for rows in slices(len(inputs), max(AT_A_TIME // inputs.shape[1], inputs.shape[1])):
        found = np.asarray(np.linalg.qr(np.concatenate([found, inputs[rows]]), mode="r"))
    return found


def _clearly_independent(inputs: Floats) -> bool:
    """Whether the columns are linearly independent by a wide margin; a cheap test that spares most data the SVD."""
    gram = inputs.T @ inputs
    try:
        pivots = np.diag(np.linalg.cholesky(gram))
    except np.linalg.LinAlgError:
        return False
    # of dependent columns rounding leaves a pivot of root(eps/1e-4) times the longest one: far below this
    return bool(pivots.min() > 1e-4 * np.sqrt(np.diag(gram).max()))
