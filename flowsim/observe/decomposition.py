"""The exact decomposition of a neuron into its initial weights, cluster centres and noise (Li et al. 2025, Lemma 5.1).

Every gradient of a neuron is a combination of samples, and so is what it has moved: w_j(t) - w_j(0) = sum_i A_ji x_i, its
bias b_j(t) - b_j(0) = sum_i A_ji. With x_i = mu_c(i) + xi_i this reads

    w_j(t) = w_j(0) + sum_c lambda_jc mu_c/|mu_c|^2 + sum_i sigma_ji xi_i/|xi_i|^2,
    lambda_jc = |mu_c|^2 sum_{i in c} A_ji,    sigma_ji = |xi_i|^2 A_ji.

Where the samples are linearly independent, A follows from the weights alone. Elsewhere many A give the same weights, and
only the flow's history could tell which is meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from ..arrays import Floats
from ..problem import Reduced

#: Samples whose triangular factor has pivots further apart than this are taken for dependent: beyond it the coefficients
#: would no longer reassemble a neuron to 1e-8.
PIVOT_RATIO = 1e-7


@dataclass(frozen=True)
class Decomposition:
    """Coefficients of all neurons, linear in their weights.

    solve (r, n'): a displacement times it is A; initial (m, r): the weights at time 0; cluster (K, n'): |mu_c|^2 where the
    reduced sample belongs to the cluster, else 0; noise (n',): |xi_i|^2 over the number of samples it stands for.
    """

    solve: Floats
    initial: Floats
    cluster: Floats
    noise: Floats

    @classmethod
    def of(cls, reduced: Reduced) -> Decomposition | None:
        """None where the weights do not determine the coefficients: dependent samples, unknown clusters, or neurons that
        also move along themselves (pReLU), or that see more of samples than their products with these."""
        problem, inputs = reduced.problem, reduced.inputs
        activation = problem.activation
        along_samples = activation.degree is None or activation.degree == activation.homogeneity
        if not along_samples or not problem.reducible or not len(problem.centers) or not _one_cluster_each(reduced):
            return None
        if len(inputs) > inputs.shape[1]:
            return None
        basis, triangle = np.linalg.qr(inputs.T)
        pivots = np.abs(np.diag(triangle))
        if pivots.min() <= PIVOT_RATIO * pivots.max():
            return None
        _, first, count = np.unique(reduced.representative, return_index=True, return_counts=True)
        own = problem.sample_cluster[first]
        member = own == np.arange(len(problem.centers))[:, None]
        noise = problem.inputs[first] - problem.centers[own]
        return cls(
            solve=solve_triangular(triangle, basis.T).T,
            initial=np.exp(problem.weights.log_norm)[:, None] * reduced.direction,
            cluster=member * (problem.centers**2).sum(axis=1)[:, None],
            noise=(noise**2).sum(axis=1) / count,
        )

    def combination(self, direction: Floats, log_norm: Floats) -> Floats:
        """A (…, m, n') of the neurons with these unit directions (…, m, r) and log norms (…, m)."""
        return (np.exp(log_norm)[..., None] * direction - self.initial) @ self.solve


def _one_cluster_each(reduced: Reduced) -> bool:
    """Whether the cluster of every sample is known, and equal samples share it."""
    cluster, group = reduced.problem.sample_cluster, reduced.representative
    _, first = np.unique(group, return_index=True)
    return bool((cluster >= 0).all() and (cluster == cluster[first][group]).all())
