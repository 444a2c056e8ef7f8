"""How far a network is, in direction, from a KKT point of  min |theta|^2/2  where  y_i f(x_i) >= 1  (Lyu & Li 2020).

theta is all that is trained, and f is homogeneous in it: f(c theta) = c^L f(theta). With q_i = y_i f(x_i), q the smallest
of them, p_i = |loss'(q_i)| and h = -grad of the loss, the point theta/q^(1/L) meets the constraints, and its multipliers
are lambda_i = q^(1 - 2/L) |theta| p_i / |h|. Everything is computed relative to |theta|, so that it may be of any size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from ..arrays import Floats
from ..kinds.losses import Loss
from ..kinds.network import Network
from ..kinds.stop import STOPS
from ..problem import Problem, Reduced
from ..scenario import Scenario
from ..solve import Snapshot

#: A sample supports the margin where its multiplier is at least this part of the largest.
SUPPORT = 1e-3


def homogeneity(problem: Problem) -> float | None:
    """L of f(c theta) = c^L f(theta), theta all trained weights; None where the network is not homogeneous, or is not
    known to be."""
    if problem.network is not None:
        return problem.network.degree
    activation = problem.activation
    return None if activation.degree is None else activation.homogeneity + problem.trained_output


def certifiable(problem: Problem) -> bool:
    """Whether the flow has such a limit: a homogeneous network, labels +1/-1 and an unregularised loss of margins."""
    labelled = bool(np.isin(problem.targets, (-1.0, 1.0)).all())
    endless = problem.loss.tail is not None and not problem.regularized
    return endless and labelled and homogeneity(problem) is not None


def check(scenario: Scenario, problem: Problem) -> None:
    """Raise ScenarioError where a scenario asks for a limit that its problem does not have."""
    asked = [
        f"{key}.until.{name}" for key, flow in scenario.flows() for name in flow.until.goals if STOPS[name].of_limit
    ]
    asked += ["evaluate.limit"] if scenario.evaluate.limit else []
    if asked and not certifiable(problem):
        needs = "needs a homogeneous network and targets +1/-1, and this problem has others"
        raise scenario.error(*((key, needs) for key in asked))


@dataclass(frozen=True)
class Certificate:
    """Of each instant (…). Where a margin is not positive, all but the first two are NaN.

    normalised_margin: q / |theta|^L. gradient_cosine: between theta and h. smoothed_margin: the margin at which a single
    sample would have the whole loss, over |theta|^L; NaN until that is positive. multiplier (…, n'): of each of the
    samples that a reduced one stands for. epsilon: |theta' - sum lambda_i grad q_i(theta')| at theta' = theta/q^(1/L);
    delta: the largest lambda_i (q_i(theta') - 1). residual: the larger of epsilon/|theta'| and delta/|theta'|^2.
    """

    normalised_margin: Floats
    gradient_cosine: Floats
    smoothed_margin: Floats
    multiplier: Floats
    epsilon: Floats
    delta: Floats
    residual: Floats

    @property
    def support(self) -> Floats:
        """(…, n'): 1 where a sample supports the margin"""
        largest = self.multiplier.max(axis=-1, keepdims=True)
        return np.where(np.isnan(largest), np.nan, self.multiplier >= SUPPORT * largest)


def certify(
    reduced: Reduced, snapshot: Snapshot, outputs: Floats, log_scale: Floats, counts: Floats, block: int
) -> Certificate:
    """outputs (…, n'): f(x_i) / exp(log_scale), log_scale (…, 1); counts (n',): samples that each reduced one stands for;
    block: so many samples are looked at at a time."""
    problem = reduced.problem
    power = homogeneity(problem)
    tail = problem.loss.tail
    assert power is not None
    assert tail is not None
    log_size = log_norm_of(snapshot, problem)
    scaled = reduced.targets * outputs
    smallest = scaled.min(axis=-1, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        margin = scaled * np.exp(log_scale)
        gap = np.where(scaled > smallest, (scaled - smallest) * np.exp(log_scale), 0.0)
        relative = np.exp(log_scale - power * log_size[..., None])
        beside = tail.slope(margin)
        weight = counts * np.exp(-gap + (beside - tail.slope(margin.min(axis=-1, keepdims=True))))
        weight /= weight.sum(axis=-1, keepdims=True)
        distance, cosine, log_gradient = _against_gradient(reduced, snapshot, log_size, weight, block)
        right = smallest[..., 0] > 0
        log_smallest = np.where(right, np.log(np.where(right, smallest[..., 0], 1.0)) + log_scale[..., 0], np.nan)
        log_multiplier = (1 - 2 / power) * log_smallest + log_size - log_gradient
        multiplier = np.exp(log_multiplier[..., None] + np.log(weight / counts))
        size = np.exp(log_size - log_smallest / power)
        delta = (multiplier * (scaled / smallest - 1)).max(axis=-1)
    return Certificate(
        normalised_margin=(smallest * relative)[..., 0],
        gradient_cosine=cosine,
        smoothed_margin=_smoothed(gap, margin, counts, problem.loss, (smallest * relative)[..., 0], power * log_size),
        multiplier=multiplier,
        epsilon=size * distance,
        delta=delta,
        residual=np.maximum(np.where(right, distance, np.nan), delta / size**2),
    )


def log_norm_of(snapshot: Snapshot, problem: Problem) -> Floats:
    """(…): log |theta|"""
    if problem.network is not None:
        with np.errstate(divide="ignore"):
            return np.log(np.linalg.norm(_flat(problem.network, snapshot), axis=-1))
    parts = [snapshot.log_norm, snapshot.output_log] if problem.trained_output else [snapshot.log_norm]
    return np.asarray(0.5 * logsumexp(2 * np.concatenate(parts, axis=-1), axis=-1))


def _smoothed(gap: Floats, margin: Floats, counts: Floats, loss: Loss, normalised: Floats, log_size: Floats) -> Floats:
    """(…): the margin of a single sample with the whole loss, sum over the samples, divided by exp(log_size).

    normalised: the smallest margin divided by that. gap (…, n'): margins less the smallest.
    """
    assert loss.tail is not None
    least, logs = margin.min(axis=-1), -gap + np.log(counts) + loss.tail.value(margin)
    beyond = logsumexp(logs, axis=-1)  # log of the loss is this less the smallest margin
    log_loss = beyond - least
    beyond = beyond - loss.tail.margin(log_loss)
    there = (least > 0) & (log_loss < loss.border)
    return np.where(there, normalised - beyond * np.exp(np.where(there, -log_size, 0.0)), np.nan)


def _against_gradient(
    reduced: Reduced, snapshot: Snapshot, log_size: Floats, weight: Floats, block: int
) -> tuple[Floats, Floats, Floats]:
    """(distance and cosine between theta/|theta| and h/|h|, log |h|), each (…), for sample weights (…, n') of sum 1."""
    problem = reduced.problem
    if problem.network is not None:
        return _against_gradient_of(problem.network, reduced, snapshot, weight)
    power, direction = problem.activation.homogeneity, snapshot.direction
    log_hidden = snapshot.output_log + (power - 1) * snapshot.log_norm
    log_output = power * snapshot.log_norm
    top = np.maximum(log_hidden, log_output) if problem.trained_output else log_hidden
    top = top.max(axis=-1, keepdims=True)
    force, response = _forces(reduced, snapshot, weight, block)
    along = (force * direction).sum(axis=-1)
    hidden = force + (power * response - along)[..., None] * direction
    parts = [(snapshot.output_sign * np.exp(log_hidden - top))[..., None] * hidden]
    place = [np.exp(snapshot.log_norm - log_size[..., None])[..., None] * direction]
    if problem.trained_output:
        parts.append((np.exp(log_output - top) * response)[..., None])
        place.append((snapshot.output_sign * np.exp(snapshot.output_log - log_size[..., None]))[..., None])
    gradient, theta = np.concatenate(parts, axis=-1), np.concatenate(place, axis=-1)
    size = np.sqrt((gradient**2).sum(axis=(-2, -1), keepdims=True))
    gradient = gradient / size
    distance = np.sqrt(((theta - gradient) ** 2).sum(axis=(-2, -1)))
    return distance, (theta * gradient).sum(axis=(-2, -1)), np.log(size[..., 0, 0]) + top[..., 0]


def _against_gradient_of(
    network: Network, reduced: Reduced, snapshot: Snapshot, weight: Floats
) -> tuple[Floats, Floats, Floats]:
    """The same of an ordinary network."""
    from ..kinds.trees import gradients_at  # with JAX, which other networks do without

    gradient = gradients_at(network, snapshot.arrays(network), reduced.inputs, weight * reduced.targets)
    theta, size = _flat(network, snapshot), np.linalg.norm(gradient, axis=-1)
    gradient, theta = gradient / size[..., None], theta / np.linalg.norm(theta, axis=-1, keepdims=True)
    return np.linalg.norm(theta - gradient, axis=-1), (theta * gradient).sum(axis=-1), np.log(size)


def _flat(network: Network, snapshot: Snapshot) -> Floats:
    """(…, p): all trained arrays in a row"""
    lead = np.shape(snapshot.time)
    return np.concatenate([array.reshape(*lead, -1) for array in snapshot.arrays(network)], axis=-1)


def _forces(reduced: Reduced, snapshot: Snapshot, weight: Floats, block: int) -> tuple[Floats, Floats]:
    """(sum_i weight_i y_i k'(s_ij) x_i (…, m, r), sum_i weight_i y_i k(s_ij) (…, m)). Of Clarke's subdifferential it is the
    element that the flow follows: a neuron is not pulled off the planes that it slides along."""
    activation, pull = reduced.problem.activation, weight * reduced.targets
    force, response = np.zeros_like(snapshot.direction), np.zeros_like(snapshot.log_norm)
    for begin in range(0, len(reduced.targets), block):
        rows = slice(begin, begin + block)
        projection = reduced.projections(snapshot.direction, rows)
        if snapshot.sliding is not None:
            projection[snapshot.sliding[..., rows]] = 0.0
        value, slope = activation.response(projection, snapshot.log_norm[..., None], np)
        force += (slope * pull[..., None, rows]) @ reduced.inputs[rows]
        response += (value * pull[..., None, rows]).sum(axis=-1)
    if snapshot.sliding is not None:
        for place in np.argwhere(snapshot.sliding.any(axis=-1)):
            neuron = tuple(place)
            normals = reduced.inputs[snapshot.sliding[neuron]].T
            force[neuron] -= normals @ np.linalg.lstsq(normals, force[neuron])[0]
    return force, response
