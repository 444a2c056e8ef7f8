"""Descent of a network of any depth, in NumPy: all of its cost are matrix products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import matmul
from typing import Any

import numpy as np

from ...problem import Reduced
from ...problem.data.samples import Floats, Integers
from ...problem.networks.layers import forward, pulls_back, velocities
from ...problem.streams import stream
from ...scenario import Scenario
from ..goals import Goals, reached_goal
from ..integrator import Report
from ..plan import Plan
from ..snapshot import Snapshot
from .layout import Method

#: Samples that pass through the network at a time.
PIECE = 2048

Weights = tuple[Floats, ...]


@dataclass(frozen=True)
class Carry:
    """weights: W_1 in reduced coordinates, W_2, …; ahead: the velocity that the next iteration takes. finite: whether what
    the next iteration would lead to is."""

    weights: Weights
    ahead: Weights
    iteration: int
    evaluations: int
    log_loss: float
    finite: bool


class LayersDescent:
    """Implements :class:`flowsim.engine.integrator.Integrator`."""

    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        del plan  # descent knows one way
        self._until, self._seed, self._reduced = scenario.flow.until, scenario.single_seed, reduced
        self._goals = Goals.of(scenario.flow.until)
        self._method = Method.of(scenario, len(reduced.targets))
        self._order = -1, np.zeros(0, dtype=np.int64)

    def begin(self) -> Carry:
        weights = self._reduced.problem.weights
        hidden = np.exp(weights.log_norm)[:, None] * self._reduced.direction
        return self._arrived((hidden, *weights.upper), 0, 0)

    def advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        last = carry.iteration + attempts
        while self._time(carry) < min(stop, self._goals.end) and carry.iteration < last:
            if not carry.finite or self._reached(carry):
                break
            moved = tuple(w + self._method.step * ahead for w, ahead in zip(carry.weights, carry.ahead, strict=True))
            after = self._arrived(moved, carry.iteration + 1, carry.evaluations)
            # what is not finite is left out, and remembered
            carry = after if after.finite else replace(carry, finite=False, evaluations=after.evaluations)
        return carry

    def report(self, carry: Carry) -> Report:
        return Report(
            time=self._time(carry),
            step_size=self._method.step,
            steps=carry.iteration,
            rejections=0,
            evaluations=carry.evaluations,
            reached=reached_goal(self._until, carry.log_loss) if self._reached(carry) else "",
            stalled=not carry.finite,
            finite=carry.finite,
        )

    def at(self, carry: Carry, time: float) -> Snapshot:
        assert time == self._time(carry), "between two iterations there is nothing"
        return self.now(carry)

    def now(self, carry: Carry) -> Snapshot:
        hidden, *upper = carry.weights
        norm = np.linalg.norm(hidden, axis=1)
        norm = np.where(norm > 0, norm, 1.0)
        none = np.zeros(len(norm))
        return Snapshot(
            self._time(carry), hidden / norm[:, None], np.log(norm), none, none - np.inf, upper=tuple(upper)
        )

    def save(self, carry: Carry) -> dict[str, Any]:
        layers = {f"layer_{layer}": matrix for layer, matrix in enumerate(carry.weights, start=1)}
        ahead = {f"velocity_{layer}": matrix for layer, matrix in enumerate(carry.ahead, start=1)}
        counts = np.array([carry.iteration, carry.evaluations, carry.finite])
        return {**layers, **ahead, "counts": counts, "log_loss": np.array(carry.log_loss)}

    def restore(self, saved: dict[str, Any]) -> Carry:
        layers = range(1, len(self._reduced.problem.upper) + 2)
        weights, ahead = (tuple(saved[f"{name}_{layer}"] for layer in layers) for name in ("layer", "velocity"))
        iteration, evaluations, finite = saved["counts"].tolist()
        return Carry(weights, ahead, iteration, evaluations, float(saved["log_loss"]), bool(finite))

    def _time(self, carry: Carry) -> float:
        return self._method.step * carry.iteration

    def _reached(self, carry: Carry) -> bool:
        return carry.iteration > 0 and carry.log_loss <= self._goals.log_loss

    def _arrived(self, weights: Weights, iteration: int, evaluations: int) -> Carry:
        """The carry at these weights: the velocity there, and the log of the loss where a goal looks at it."""
        reduced, method = self._reduced, self._method
        rows, share = np.arange(len(reduced.targets)), 1.0
        if method.batch:
            begin = (iteration % method.epoch) * method.batch
            rows = self._drawn(iteration // method.epoch)[begin : begin + method.batch]
            share = len(reduced.targets) / method.batch
        with np.errstate(all="ignore"):  # what overflows is not finite, and ends the run
            ahead, log_loss = self._velocity(weights, rows, share)
            finite = bool(np.isfinite(log_loss) or log_loss == -np.inf)
            finite = finite and all(np.isfinite(matrix).all() for matrix in (*weights, *ahead))
            if method.batch:
                watched = self._goals.log_loss > -np.inf and iteration % method.epoch == 0
                log_loss = self._velocity(weights, np.arange(len(reduced.targets)), 1.0)[1] if watched else np.inf
        return Carry(weights, ahead, iteration, evaluations + 1, float(log_loss), finite)

    def _velocity(self, weights: Weights, rows: Integers, share: float) -> tuple[Weights, float]:
        """(minus the gradient, log of the loss) over some samples, each with `share` times its weight."""
        reduced, loss, activation = self._reduced, self._reduced.problem.loss, self._reduced.problem.activation
        hidden, *upper = weights
        total: list[Floats] = [np.zeros_like(matrix) for matrix in weights]
        log_loss = -np.inf
        for begin in range(0, len(rows), PIECE):
            some = rows[begin : begin + PIECE]
            inputs, targets, weight = reduced.inputs[some], reduced.targets[some], share * reduced.sample_weight[some]
            outputs, passed = forward(hidden @ inputs.T, upper, activation, np, matmul)
            outputs = outputs if loss.classes else outputs[0]
            pull = np.atleast_2d(-weight * loss.derivative(outputs, targets, np))
            pulls = pulls_back(pull, upper, passed, matmul)
            for sum_, part in zip(total, (pulls[0] @ inputs, *velocities(pulls, passed, matmul)), strict=True):
                sum_ += part
            per_sample = loss.log_value(outputs, targets, np) + np.log(weight)
            log_loss = np.logaddexp(log_loss, np.logaddexp.reduce(per_sample))
        return tuple(total), float(log_loss)

    def _drawn(self, epoch: int) -> Integers:
        """The order in which an epoch's batches take the samples."""
        if self._order[0] != epoch:
            self._order = epoch, stream(self._seed, f"flow.batches.{epoch}").permutation(len(self._reduced.targets))
        return self._order[1]
