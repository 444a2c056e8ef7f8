"""Descent in NumPy: of networks of any depth, or linear in their weights, and of neurons without compiled code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Integers
from ...kinds.streams import stream
from ...problem import Reduced, fresh
from ...scenario import Scenario
from ..goals import Goals, reached_goal
from ..integrator import Report
from ..plan import Plan
from ..snapshot import Snapshot
from .attacker import Attacker
from .layers import Weights, layers_of
from .layout import Method

#: Samples that pass through the network at a time.
PIECE = 2048


class Seen(NamedTuple):
    """The samples of an iteration: inputs (n, r), targets, weight (n,)."""

    inputs: Floats
    targets: Floats
    weight: Floats


@dataclass(frozen=True)
class Carry:
    """weights: of the first layer in reduced coordinates, and of those above it; ahead: the velocity that the next
    iteration takes. finite: whether what the next iteration would lead to is."""

    weights: Weights
    ahead: Weights
    iteration: int
    evaluations: int
    log_loss: float
    finite: bool


class GeneralDescent:
    """Implements :class:`flowsim.solve.integrator.Integrator`."""

    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        self._scenario, self._seed, self._reduced = scenario, scenario.single_seed, reduced
        self._until, self._goals = scenario.flow.until, Goals.of(scenario.flow.until)
        self._method = Method.of(scenario, len(reduced.targets), plan.iterations)
        self._layers, self._attacker = layers_of(reduced), Attacker.of(scenario)
        self._of_neurons = reduced.problem.two_layers
        self._order = -1, np.zeros(0, dtype=np.int64)

    @property
    def program(self) -> str:
        return ""

    def to_compile(self) -> float:
        return 0.0

    def begin(self) -> Carry:
        weights = self._reduced.problem.weights
        hidden = np.exp(weights.log_norm)[:, None] * self._reduced.direction
        output = (self._reduced.problem.output,) if self._of_neurons else ()
        return self._arrived((hidden, *output, *weights.upper), 0, 0)

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
        hidden, *above = carry.weights
        norm = np.linalg.norm(hidden, axis=1)
        norm, first = np.where(norm > 0, norm, 1.0), self._reduced.problem.weights
        sign, log_output = first.output_sign, first.output_log
        if self._of_neurons:
            with np.errstate(divide="ignore"):
                sign, log_output = np.sign(above[0]), np.log(np.abs(above[0]))
            above = []
        return Snapshot(self._time(carry), hidden / norm[:, None], np.log(norm), sign, log_output, upper=tuple(above))

    def save(self, carry: Carry) -> dict[str, Any]:
        layers = {f"layer_{layer}": matrix for layer, matrix in enumerate(carry.weights, start=1)}
        ahead = {f"velocity_{layer}": matrix for layer, matrix in enumerate(carry.ahead, start=1)}
        counts = np.array([carry.iteration, carry.evaluations, carry.finite])
        return {**layers, **ahead, "counts": counts, "log_loss": np.array(carry.log_loss)}

    def restore(self, saved: dict[str, Any]) -> Carry:
        layers = range(1, len(self._reduced.problem.upper) + self._of_neurons + 2)
        weights, ahead = (tuple(saved[f"{name}_{layer}"] for layer in layers) for name in ("layer", "velocity"))
        iteration, evaluations, finite = saved["counts"].tolist()
        return Carry(weights, ahead, iteration, evaluations, float(saved["log_loss"]), bool(finite))

    def _time(self, carry: Carry) -> float:
        return self._method.step * carry.iteration

    def _reached(self, carry: Carry) -> bool:
        return carry.iteration > 0 and carry.log_loss <= self._goals.log_loss

    def _arrived(self, weights: Weights, iteration: int, evaluations: int) -> Carry:
        """The carry at these weights: the velocity there, and the log of the loss where a goal looks at it."""
        method, whole = self._method, self._method.before + iteration
        with np.errstate(all="ignore"):  # what overflows is not finite, and ends the run
            ahead, log_loss = self._velocity(weights, self._seen(whole))
            finite = bool(np.isfinite(log_loss) or log_loss == -np.inf)
            finite = finite and all(np.isfinite(matrix).all() for matrix in (*weights, *ahead))
            if method.batch:
                watched = self._goals.log_loss > -np.inf and whole % method.epoch == 0
                log_loss = self._velocity(weights, self._all())[1] if watched else np.inf
        return Carry(weights, ahead, iteration, evaluations + 1, float(log_loss), finite)

    def _all(self) -> Seen:
        return Seen(self._reduced.inputs, self._reduced.targets, self._reduced.sample_weight)

    def _seen(self, iteration: int) -> Seen:
        """What the gradient is of after so many iterations, counted from the first stage's beginning."""
        everything, method = self._all(), self._method
        if not method.batch:
            return everything
        if self._scenario.flow.fresh:
            samples = fresh(self._scenario, self._reduced.problem.samples, method.batch, f"flow.fresh.{iteration}")
            constant = np.ones((method.batch, everything.inputs.shape[1] - samples.inputs.shape[1]))  # a bias's
            inputs = np.concatenate([samples.inputs, constant], axis=1)
            weight = np.full(method.batch, everything.weight.sum() / method.batch)
            return Seen(inputs, samples.targets, weight)
        begin = (iteration % method.epoch) * method.batch
        rows = self._drawn(iteration // method.epoch)[begin : begin + method.batch]
        share = len(everything.targets) / method.batch
        return Seen(everything.inputs[rows], everything.targets[rows], share * everything.weight[rows])

    def _velocity(self, weights: Weights, seen: Seen) -> tuple[Weights, float]:
        """(minus the gradient, log of the loss) over samples, which an attacker moves first."""
        loss, layers = self._reduced.problem.loss, self._layers
        total: list[Floats] = [np.zeros_like(matrix) for matrix in weights]
        log_loss = -np.inf
        for begin in range(0, len(seen.targets), PIECE):
            inputs, targets, weight = (part[begin : begin + PIECE] for part in seen)
            inputs = self._attacked(weights, inputs, targets)
            outputs, passed = layers.forward(weights, inputs)
            outputs = outputs if loss.classes else outputs[0]
            pull = np.atleast_2d(-weight * loss.derivative(outputs, targets, np))
            for sum_, part in zip(total, layers.velocity(inputs, pull, weights, passed), strict=True):
                sum_ += part
            per_sample = loss.log_value(outputs, targets, np) + np.log(weight)
            log_loss = np.logaddexp(log_loss, np.logaddexp.reduce(per_sample))
        decay = self._layers.decay(weights)
        if decay is not None:
            total = [part + shrinking for part, shrinking in zip(total, decay, strict=True)]
        return tuple(total), float(log_loss)

    def _attacked(self, weights: Weights, inputs: Floats, targets: Floats) -> Floats:
        if self._attacker is None:
            return inputs
        loss, layers, feature = self._reduced.problem.loss, self._layers, self._reduced.feature_coordinates

        def ascent(moved: Floats) -> Floats:
            outputs, passed = layers.forward(weights, moved)
            if loss.classes:
                pull = loss.derivative(outputs, targets, np)
            elif loss.tail is not None:  # its sign, which nothing underflows
                pull = -targets * np.ones_like(outputs)
            else:
                pull = np.sign(loss.derivative(outputs, targets, np))
            return feature * layers.ascent(moved, pull, weights, passed)

        return self._attacker.moved(inputs, ascent)

    def _drawn(self, epoch: int) -> Integers:
        """The order in which an epoch's batches take the samples."""
        if self._order[0] != epoch:
            self._order = epoch, stream(self._seed, f"flow.batches.{epoch}").permutation(len(self._reduced.targets))
        return self._order[1]
