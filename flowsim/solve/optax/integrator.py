"""Descent of networks in JAX behind the drive's protocol: time is step x iteration, and every instant is at one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.special import logsumexp

from ...arrays import Floats, Integers
from ...kinds.losses import Loss
from ...kinds.network import Network
from ...kinds.streams import stream
from ...kinds.trees import at_a_time, in_float64, outputs_at
from ...problem import Reduced, fresh
from ...scenario import Scenario
from ..compiling import compiling, foreseen, took
from ..descent.layout import Method
from ..function import first_arrays, in_type_of, network_of, scale_of, with_outputs
from ..goals import Goals, reached_goal
from ..integrator import Report
from ..plan import Plan
from ..snapshot import Snapshot
from .attacker import Attacker
from .changes import Changes, Keys, copies
from .optimizer import Recipe

#: Iterations that are handed to compiled code at a time, at most, and how large the samples of their batches may be.
CHUNK, SAMPLE_BYTES = 256, 2**25
#: As of the engine that follows flows.
NAME, SECONDS, WORTH_NOTING = "optax", 1.0, 1.0


class Seen(NamedTuple):
    """What the gradients of some iterations are of: batches, inputs (K, b, r) and targets (K, …, b); and change (K, …, b)
    of targets. None where all samples are seen, and as they are."""

    inputs: jax.Array | None = None
    targets: jax.Array | None = None
    change: jax.Array | None = None

    @property
    def everything(self) -> bool:
        return all(part is None for part in self)


class Carry(NamedTuple):
    """ahead: the gradient that the next iteration takes, and in place of that of arrays that are not trained their next
    values; log_loss: of all samples, as far as a goal asks for it. finite: whether what the next iteration would lead to
    is."""

    arrays: tuple[jax.Array, ...]
    ahead: tuple[jax.Array, ...]
    optimizer: Any  # optax gives its states no common type
    iteration: jax.Array
    evaluations: jax.Array
    log_loss: jax.Array
    finite: jax.Array


class Data(NamedTuple):
    """inputs (n, r), targets (n,) or (k, n), of which whoever sees batches alone needs but one; weight (n,); feature (r,):
    1 for what an attacker may move, 0 for a bias's.
    keys: what changes at random is drawn from."""

    inputs: jax.Array
    targets: jax.Array
    weight: jax.Array
    feature: jax.Array
    keys: Keys


@dataclass(frozen=True)
class Steps:
    """The iterations, hashable so that compiled code is shared. log_goal: log of the loss that ends them. looks: whether
    that of all samples is looked at here once an epoch of batches."""

    network: Network
    loss: Loss
    recipe: Recipe
    method: Method
    attacker: Attacker | None
    changes: Changes
    log_goal: float
    looks: bool

    @cached_property
    def optimizer(self) -> optax.GradientTransformation:
        return self.recipe.optimizer()

    @partial(jax.jit, static_argnums=0)
    def begin(self, arrays: tuple[jax.Array, ...], data: Data, seen: Seen) -> Carry:
        """Before the first iteration, which takes the gradient of what was seen first."""
        none = jnp.zeros((), int)
        carry = Carry(arrays, arrays, self.optimizer.init(arrays), none, none, jnp.asarray(jnp.inf), jnp.asarray(True))
        return self._arrive(carry, data, _one_of(seen, none))

    @partial(jax.jit, static_argnums=0)
    def iterate(self, carry: Carry, data: Data, seen: Seen, count: jax.Array) -> Carry:
        """So many iterations, unless a goal is met or the next one would not be finite."""
        first = carry.iteration

        def goes_on(carry: Carry) -> jax.Array:
            reached = (self.log_goal > -np.inf) & (carry.log_loss <= self.log_goal)
            return (carry.iteration - first < count) & carry.finite & ~reached

        def once(carry: Carry) -> Carry:
            updates, state = self.optimizer.update(carry.ahead, carry.optimizer, carry.arrays)
            # optimisers move each array by itself, so what they make of those that are not trained can be left out
            moved = self._trained(optax.apply_updates(carry.arrays, updates), carry.ahead)
            after = carry._replace(arrays=moved, optimizer=state, iteration=carry.iteration + 1)
            after = self._arrive(after, data, _one_of(seen, carry.iteration - first))
            # what is not finite is left out, and remembered
            left_out = carry._replace(finite=jnp.asarray(False), evaluations=after.evaluations)
            return jax.tree.map(lambda new, old: jnp.where(after.finite, new, old), after, left_out)

        return jax.lax.while_loop(goes_on, once, carry)

    def _arrive(self, carry: Carry, data: Data, seen: Seen) -> Carry:
        """The carry with the gradient that the next iteration takes, and the log of the loss where a goal looks at it."""
        ahead, log_loss = self._gradient(carry.arrays, _batch(data, seen), carry.iteration)
        finite = jnp.isfinite(log_loss) | (log_loss == -jnp.inf)
        for array in (*carry.arrays, *ahead):
            finite = finite & jnp.all(jnp.isfinite(array))
        if not seen.everything:
            log_loss = jnp.asarray(jnp.inf)
            if self.looks:
                due = (self.method.before + carry.iteration) % self.method.epoch == 0
                log_loss = jax.lax.cond(due, lambda: self._log_loss(carry.arrays, data), lambda: jnp.asarray(jnp.inf))
        return carry._replace(ahead=ahead, evaluations=carry.evaluations + 1, log_loss=log_loss, finite=finite)

    def _gradient(
        self, arrays: tuple[jax.Array, ...], data: Data, iteration: jax.Array
    ) -> tuple[tuple[jax.Array, ...], jax.Array]:
        """(of the training loss over these samples, as chance and an attacker change them first, and what they make of
        arrays that are not trained; log of that loss)"""
        data = self._changed(arrays, data, iteration)
        outputs, pull_back, left = jax.vjp(
            partial(in_type_of, data.inputs, self.network.trained_on), arrays, has_aux=True
        )
        pull = data.weight * self.loss.derivative(outputs, data.targets, jnp)
        scale = scale_of(pull, data.inputs)
        gradient = tuple(scale * array for array in pull_back(pull / scale)[0])
        ahead = self._trained(self._decayed(arrays, gradient), left)
        return ahead, self._log_of(outputs, data)

    def _changed(self, arrays: tuple[jax.Array, ...], data: Data, iteration: jax.Array) -> Data:
        """The samples as a gradient sees them, noisy copies of one as one after another."""
        changes, keys = self.changes, data.keys.of_gradient(self.method.before + iteration)
        inputs = changes.augmented(data.inputs, keys.augmentation)
        noises = changes.noises(inputs, keys.noise)
        if self.attacker is not None:
            inputs = self.attacker.moved(inputs, self._ascent(arrays, data, noises), self.attacker.part(iteration))
        if changes.noise:
            repeated = (*[1] * (data.targets.ndim - 1), changes.draws)
            targets, weight = jnp.tile(data.targets, repeated), jnp.tile(data.weight, changes.draws) / changes.draws
            data, inputs = data._replace(targets=targets, weight=weight), copies(inputs, noises)
        return data._replace(inputs=inputs)

    def _trained(self, arrays: tuple[jax.Array, ...], others: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        """Of the arrays those that are trained, and of the others the rest."""
        pairs = zip(self.network.leaves, arrays, others, strict=True)
        return tuple(array if leaf.trained else other for leaf, array, other in pairs)

    def _ascent(self, arrays: tuple[jax.Array, ...], data: Data, noises: jax.Array) -> Callable[[jax.Array], jax.Array]:
        """Samples (n, r) -> the directions in which the loss of each rises; of noisy copies of a sample that of the mean of
        e^-loss, so of the mean probability (Salman et al. 2019)."""
        draws = self.changes.draws
        targets = jnp.tile(data.targets, (*[1] * (data.targets.ndim - 1), draws))

        def ascent(moved: jax.Array) -> jax.Array:
            outputs, pull_back = jax.vjp(lambda at: self._outputs(arrays, copies(at, noises)), moved)
            if self.loss.several or draws > 1:
                pull = self.loss.derivative(outputs, targets, jnp)
            elif self.loss.tail is not None:  # its sign, which nothing underflows
                pull = -targets * jnp.ones_like(outputs)
            else:
                pull = jnp.sign(self.loss.derivative(outputs, targets, jnp))
            if draws > 1:
                loss = self.loss.value(outputs, targets, jnp).reshape(draws, -1)
                pull = pull * jax.nn.softmax(-loss, axis=0).ravel()
            # of each sample for itself, whose direction alone counts
            by_sample = pull.reshape(-1, draws, len(moved))
            return data.feature * pull_back((by_sample / scale_of(by_sample, moved, (0, 1))).reshape(pull.shape))[0]

        return ascent

    def _decayed(self, arrays: tuple[jax.Array, ...], gradient: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        """With the gradient of the neurons' regulariser."""
        square, cubic = self.method.square_decay, self.method.cubic_decay
        if not (square or cubic):
            return gradient
        (rows, _), (of_rows, others) = self.network.apart(arrays), self.network.apart(gradient)
        decay = (square + cubic * jnp.linalg.norm(rows, axis=1, keepdims=True)) * rows
        return self.network.together(of_rows + decay, others)

    def _log_loss(self, arrays: tuple[jax.Array, ...], data: Data) -> jax.Array:
        return self._log_of(self._outputs(arrays, data.inputs), data)

    def _outputs(self, arrays: tuple[jax.Array, ...], inputs: jax.Array) -> jax.Array:
        found: jax.Array = in_type_of(inputs, self.network.outputs, arrays)
        return found

    def _log_of(self, outputs: jax.Array, data: Data) -> jax.Array:
        logs = self.loss.log_value(outputs, data.targets, jnp) + jnp.log(data.weight)
        return jax.scipy.special.logsumexp(logs)


def _one_of(seen: Seen, place: jax.Array) -> Seen:
    return jax.tree.map(lambda leaf: leaf[place], seen)


def _batch(data: Data, seen: Seen) -> Data:
    """The samples of one iteration; their weights, in a batch all equal, make the gradient's expectation that of all
    samples."""
    inputs, targets, weight = data.inputs, data.targets, data.weight
    if seen.inputs is not None and seen.targets is not None:
        inputs, targets = seen.inputs, seen.targets
        weight = jnp.full(len(inputs), weight.sum() / len(inputs))
    if seen.change is not None:
        targets = targets + seen.change
    return data._replace(inputs=inputs, targets=targets, weight=weight)


class OptaxDescent:
    """Implements :class:`flowsim.solve.integrator.Integrator`."""

    @in_float64
    def __init__(self, scenario: Scenario, reduced: Reduced, plan: Plan):
        flow, problem = scenario.flow, reduced.problem
        self._network = network = network_of(problem)
        self._scenario, self._until, self._goals = scenario, flow.until, Goals.of(flow.until)
        self._problem, self._method = problem, Method.of(scenario, len(reduced.targets), plan.iterations)
        recipe, attacker = Recipe.of(flow, network.rates(flow.rates or {})), Attacker.of(scenario)
        changes = Changes.of(scenario, problem.samples)
        self._inputs, self._targets, batch = reduced.stored, reduced.targets.T, self._method.batch
        looked_at = self._goals.log_loss > -np.inf
        # where a goal looks at more samples than go through the network at a time, they do so between compiled iterations
        self._aside = looked_at and batch > 0 and len(self._inputs) > at_a_time(network)
        looks = looked_at and not self._aside
        self._steps = Steps(network, problem.loss, recipe, self._method, attacker, changes, self._goals.log_loss, looks)
        # who sees batches alone is given these as they come
        kept = slice(None) if looks or not batch else slice(1)
        self._number = np.float32 if flow.precision == "mixed" else np.float64
        self._data = Data(
            jnp.asarray(self._inputs[kept], self._number),
            jnp.asarray(self._targets[..., kept]),
            jnp.asarray(reduced.sample_weight),
            jnp.asarray(reduced.feature_coordinates, self._number),
            Keys.of(scenario),
        )
        self._start = tuple(map(jnp.asarray, first_arrays(reduced, network)))
        drawn = 8 * self._method.batch * reduced.stored.shape[1]
        self._chunk = max(min(CHUNK, SAMPLE_BYTES // max(drawn, 1)), 1)
        self._order: tuple[int, Integers] = -1, np.zeros(0, dtype=np.int64)

    @property
    def program(self) -> str:
        return NAME

    def to_compile(self) -> float:
        return foreseen(NAME, len(self._network.leaves), SECONDS)

    @in_float64
    def begin(self) -> Carry:
        return self._looked(self._ready(self._first))

    @in_float64
    def advance(self, carry: Carry, stop: float, attempts: int) -> Carry:
        end = min(stop, self._goals.end)
        left = attempts if np.isinf(end) else min(attempts, round(end / self._method.step) - int(carry.iteration))
        while left > 0:
            before, most = int(carry.iteration), min(left, self._chunk)
            if self._aside:
                most = min(most, self._method.epoch - (self._method.before + before) % self._method.epoch)
            seen = self._seen(before + 1, most)
            carry = self._looked(self._steps.iterate(carry, self._data, seen, jnp.asarray(most)))
            made = int(carry.iteration) - before
            left -= made
            if made < most:
                break
        return carry

    def report(self, carry: Carry) -> Report:
        reached = self._is_reached(carry)
        return Report(
            time=self._time(carry),
            step_size=self._method.step,
            steps=int(carry.iteration),
            rejections=0,
            evaluations=int(carry.evaluations),
            reached=reached_goal(self._until, float(carry.log_loss)) if reached else "",
            stalled=not carry.finite,
            finite=bool(carry.finite),
        )

    def at(self, carry: Carry, time: float) -> Snapshot:
        assert time == self._time(carry), "between two iterations there is nothing"
        return self.now(carry)

    def now(self, carry: Carry) -> Snapshot:
        found = Snapshot.of_arrays(self._time(carry), self._network, tuple(map(np.asarray, carry.arrays)))
        return with_outputs(found, self._problem.output) if self._problem.two_layers else found

    def save(self, carry: Carry) -> dict[str, Any]:
        return {f"carry_{place}": np.asarray(leaf) for place, leaf in enumerate(jax.tree.leaves(carry))}

    @in_float64
    def restore(self, saved: dict[str, Any]) -> Carry:
        fresh, structure = jax.tree.flatten(self._ready(self._first))
        leaves = [jnp.asarray(saved[f"carry_{place}"], leaf.dtype) for place, leaf in enumerate(fresh)]
        restored: Carry = jax.tree.unflatten(structure, leaves)
        return restored

    def _time(self, carry: Carry) -> float:
        return self._method.step * int(carry.iteration)

    def _looked(self, carry: Carry) -> Carry:
        """The carry with the log of the loss of all samples, at an epoch's end where compiled code does not look at it."""
        if not self._aside or (self._method.before + int(carry.iteration)) % self._method.epoch:
            return carry
        outputs = outputs_at(self._network, carry.arrays, self._inputs)
        logs = self._problem.loss.log_value(outputs, self._targets, np) + np.log(np.asarray(self._data.weight))
        return carry._replace(log_loss=jnp.asarray(logsumexp(logs)))

    def _is_reached(self, carry: Carry) -> bool:
        return self._goals.watched and float(carry.log_loss) <= self._goals.log_loss

    def _ready(self, make: Callable[[], Carry]) -> Carry:
        """A carry with which iterations can begin: all that they need is compiled now."""
        with compiling(self.to_compile(), once=False):
            begun = time.thread_time()
            carry = make()
            carry = self._steps.iterate(carry, self._data, self._seen(1, 1), jnp.zeros((), int))
            jax.block_until_ready(carry.iteration)
            seconds = time.thread_time() - begun
        if seconds > WORTH_NOTING:
            took(NAME, len(self._network.leaves), seconds)
        return carry

    def _first(self) -> Carry:
        return self._steps.begin(self._start, self._data, self._seen(0, 1))

    def _seen(self, first: int, count: int) -> Seen:
        """What gradients see after `first` iterations, and after those that follow, counted from the first stage's
        beginning. Room for as many iterations in any case, so that code is compiled once."""
        method, flow, seen = self._method, self._scenario.flow, Seen()
        iterations = range(method.before + first, method.before + first + count)
        if method.batch:
            of_one = self._fresh if flow.fresh else self._chosen
            drawn = [of_one(iteration) for iteration in iterations]
            inputs, targets = (list(part) for part in zip(*drawn, strict=True))
            narrow = [part.astype(self._number, copy=False) for part in inputs]
            seen = seen._replace(inputs=self._padded(narrow), targets=self._padded(targets))
        if flow.label_noise:
            seen = seen._replace(change=self._padded([self._change(iteration) for iteration in iterations]))
        return seen

    def _padded(self, drawn: list[Any]) -> jax.Array:
        """(K, …): one of these for each iteration, and zeros for those that are not asked for."""
        rest = np.zeros((self._chunk - len(drawn), *drawn[0].shape), drawn[0].dtype)
        return jnp.asarray(np.concatenate([np.stack(drawn), rest]))

    def _fresh(self, iteration: int) -> tuple[Floats, Floats]:
        """Samples of the population: inputs (b, r), targets (…, b)."""
        samples = fresh(self._scenario, self._problem.samples, self._method.batch, f"flow.fresh.{iteration}")
        return self._network.seen(samples.inputs), samples.targets.T

    def _chosen(self, iteration: int) -> tuple[Floats, Floats]:
        """Some of the samples: inputs (b, r), targets (…, b)."""
        rows = self._rows(iteration)
        return self._inputs[rows], self._targets[..., rows]

    def _rows(self, iteration: int) -> Integers:
        """As :class:`flowsim.solve.descent.integrator.DescentIntegrator` chooses them."""
        method = self._method
        epoch, place = divmod(iteration, method.epoch)
        if self._order[0] != epoch:
            total = len(self._inputs)
            self._order = epoch, stream(self._scenario.single_seed, f"flow.batches.{epoch}").permutation(total)
        return self._order[1][place * method.batch : (place + 1) * method.batch]

    def _change(self, iteration: int) -> Floats:
        """Of targets (…, b), by label noise."""
        shape = (*self._targets.shape[:-1], self._method.batch or self._targets.shape[-1])
        size, draw = (
            self._scenario.flow.label_noise,
            stream(self._scenario.single_seed, f"flow.label_noise.{iteration}"),
        )
        assert size is not None
        return size * draw.choice([1.0, -1.0], size=shape)
