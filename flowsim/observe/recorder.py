"""What is kept of a run, and the kept instants themselves, in growing lists of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..arrays import Floats
from ..gate import limit, raised, size
from ..kinds.stop import Watched
from ..scenario import Scenario
from ..solve import Passed, Snapshot
from ..solve.schedule import Schedule
from .custom import handed
from .instant import Instant, Setting
from .observable import OBSERVABLES, SIZES, Observable
from .quantiles import QUANTILES, quantiles
from .stops import met
from .trajectory import Trajectory

#: A per-sample variable with more values than this is kept as quantiles per cluster instead.
PER_SAMPLE_LIMIT = 20_000_000
#: A total mass this many times its first value has left the initial scale.
GROWN = 10.0
#: A certified run keeps its companion's values, and errors, beside its own.
COPIES = 3
#: A stride that no run reaches.
NEVER = 2**62
QUANTILE_SUFFIX = "_quantile"
NUMERICS = {
    "steps": "accepted solver steps so far",
    "rejections": "rejected solver steps so far",
    "evaluations": "evaluations of the field so far",
    "updates": "velocities of a single neuron evaluated so far, where an event concerned no other",
    "events": "changes of gates so far: a pair crossed its boundary, began or ended to slide along it",
    "step_size": "solver step size at the instant",
}


@dataclass(frozen=True)
class Selection:
    """What is kept of a run. summarised: per-sample variables of which only quantiles are kept. shapes: every variable
    that is kept -> its shape at one instant, (K, quantile) or (quantile,) where it is summarised."""

    observables: tuple[Observable, ...]
    summarised: frozenset[str]
    shapes: Mapping[str, tuple[int, ...]]
    bytes: int

    @classmethod
    def of(cls, scenario: Scenario, setting: Setting, also: Iterable[str] = ()) -> Selection:
        """Resolve [observe] for a problem; for an ensemble, the problem of any of its members.

        also: names of observables that are kept beside those that were asked for, where the problem has them.
        Raises ScenarioError for a variable that the problem does not have, UsageError where too much would be kept.
        """
        observe = scenario.observe
        _check_probes(scenario, setting)
        applicable = {
            name: observable
            for name, observable in OBSERVABLES.items()
            if observable.exists(setting) and not (observable.group and scenario.is_ensemble)
        }
        if observe.variables == "default":
            chosen = [
                observable
                for observable in applicable.values()
                if not observable.on_request and (setting.underflows or not observable.companion)
            ]
        else:
            absent = [
                (
                    f"observe.variables[{index}]",
                    _absence(name, applicable),
                )
                for index, name in enumerate(observe.variables)
                if name not in applicable
            ]
            if absent:
                raise scenario.error(*absent)
            chosen = [applicable[name] for name in observe.variables]
        chosen += [applicable[name] for name in also if name in applicable and applicable[name] not in chosen]
        sizes = _sizes(setting, chosen)
        for observable, shape in handed(scenario.handed.observe, setting) if scenario.handed is not None else ():
            chosen.append(observable)
            sizes |= dict(zip(observable.dims, shape, strict=True))
        members, instants = len(scenario.seeds), _instants(scenario)
        summarised = frozenset(
            observable.name
            for observable in chosen
            if observable.dims == ("sample",) and members * instants * sizes["sample"] > PER_SAMPLE_LIMIT
        )
        shapes = dict(
            (item.name + QUANTILE_SUFFIX, _summary_shape(sizes))
            if item.name in summarised
            else (item.name, tuple(sizes[dim] for dim in item.dims))
            for item in chosen
        )
        # the members of an ensemble are kept where they stop, too
        kept = (instants + scenario.is_ensemble) * sum(map(math.prod, shapes.values()))
        weights = (setting.problem.hidden_direction, *setting.problem.leaves)
        kept += sum(map(snapshot_count, scenario.stages)) * sum(matrix.size for matrix in weights)
        kept *= members * (COPIES if scenario.certified else 1)
        if 8 * kept > (most := limit("kept")):
            fewer = "lower observe.times or observe.snapshots, or name fewer observe.variables"
            told = f"this run would keep {size(8 * kept)}, more than {size(most)}; {fewer}"
            raise scenario.error(("observe.times", f"{told}; {raised('kept', 8 * kept)} keeps it all the same"))
        return cls(tuple(chosen), summarised, shapes, 8 * kept)

    def observe(self, instant: Instant) -> dict[str, Floats]:
        """name of the variable -> its values (T, …) at many instants"""
        setting, values = instant.setting, {}
        for observable in self.observables:
            name, seen = observable.name, observable.value(instant)
            if "sample" in observable.dims:
                seen = seen[..., setting.reduced.representative]
            if name in self.summarised:
                name, seen = name + QUANTILE_SUFFIX, quantiles(seen, setting)
            values[name] = seen
        return values


def _absence(name: str, applicable: Iterable[str]) -> str:
    needs = OBSERVABLES[name].needs
    why = f" (it needs {needs})" if needs else ""
    return f'"{name}" does not exist for this problem{why}; it has {", ".join(applicable)}'


def _instants(scenario: Scenario) -> int:
    """How many instants are kept, at most (with spacing "solver", as a guess)."""
    if scenario.observe.listed:
        return sum(_grid(part) + 1 for part in scenario.stages)
    return sum(_grid(part) * (2 if part.open_ended else 1) for part in scenario.stages)


def _grid(scenario: Scenario) -> int:
    """How many instants the grid has; one that may grow, or that every step is on, as many as are wanted."""
    schedule, times = Schedule.of(scenario, math.nan), scenario.observe.times
    return schedule.count if isinstance(times, tuple) or (schedule.listed and not schedule.every_step) else times


def snapshot_count(scenario: Scenario) -> int:
    """How many instants keep their weights, at most."""
    named = {"none": 0, "ends": 2, "all": _instants(scenario)}
    wanted = scenario.observe.snapshots
    return named[wanted] if isinstance(wanted, str) else wanted


def snapshot_indices(scenario: Scenario) -> list[int]:
    """Which instants of a whole grid whose end is known keep their weights."""
    wanted, times = snapshot_count(scenario), _grid(scenario)
    held = sorted({*range(0, times, _stride(scenario)), times - 1})
    return _evenly(held, wanted) if wanted else []


def _stride(scenario: Scenario) -> int:
    """Weights are held at every so many kept instants, enough to choose the wanted number from at the end."""
    wanted = snapshot_count(scenario)
    return max(_grid(scenario) // wanted, 1) if wanted > 2 else NEVER


def _evenly(indices: list[int], wanted: int) -> list[int]:
    """At most so many of the indices, both ends among them."""
    if len(indices) <= wanted:
        return indices
    return [indices[round(place)] for place in np.linspace(0, len(indices) - 1, wanted)]


def _sizes(setting: Setting, chosen: Iterable[Observable]) -> dict[str, int]:
    """Of what chosen observables may have beside time, and of clusters"""
    own = {dim: SIZES[dim](setting) for observable in chosen for dim in observable.dims}
    return {**own, "cluster": len(setting.problem.centers), "sample": len(setting.problem.targets)}


def _check_probes(scenario: Scenario, setting: Setting) -> None:
    """Raise ScenarioError where probes have not as many features as the samples."""
    features, observe = setting.problem.features, scenario.observe
    wrong = [
        (f"observe.probes[{index}]", f"has {len(probe)} entries; the samples have {features} features")
        for index, probe in enumerate(observe.probes or ())
        if len(probe) != features
    ]
    if observe.grid is not None and len(observe.grid) != features:
        wrong.append(("observe.grid", f"has {len(observe.grid)} axes; the samples have {features} features"))
    if wrong:
        raise scenario.error(*wrong)


def _summary_shape(sizes: dict[str, int]) -> tuple[int, ...]:
    return (sizes["cluster"], len(QUANTILES)) if sizes["cluster"] else (len(QUANTILES),)


@dataclass
class Recorder:
    """Where kept instants go: they are observed in batches, each in one pass over the data, and as late as can be, since
    those that are dropped again need not be.

    origin, before: time of the whole run and counts of the solver at time 0 of what is recorded. attacked: name of an
    observable -> what it was where the first adversarial training ended. held: the indices of the instants whose weights
    are kept; None where [observe] says which.
    """

    scenario: Scenario
    setting: Setting
    selection: Selection
    origin: float = 0.0
    before: Mapping[str, int] = field(default_factory=dict)
    attacked: Mapping[str, float] = field(default_factory=dict)
    held: frozenset[int] | None = None
    _waiting: list[Passed] = field(default_factory=list)  # kept, but not observed yet
    _instants: int = 0  # that are observed
    # parts of a trajectory
    _times: list[Floats] = field(default_factory=list)
    _log10_times: list[Floats] = field(default_factory=list)
    _variables: dict[str, list[Floats]] = field(default_factory=dict)
    _numerics: dict[str, list[Floats]] = field(default_factory=dict)
    _weights: dict[int, tuple[Floats, ...]] = field(default_factory=dict)  # index of the instant -> what is held there
    _last: tuple[float, float] = (math.nan, math.nan)  # time, and log10 of it where that is kept, of the latest
    _latest: Instant | None = None  # ends with the latest kept instant
    _met: str = ""
    _first_log_loss: float = math.nan  # at the first kept instant

    @property
    def stop_time(self) -> float:
        """Time of the whole run at the latest kept instant; nan before the first."""
        return self.origin + self._last[0]

    @property
    def last_time(self) -> float:
        """Time of the latest kept instant since time 0 of what is recorded, or log10 of it where that is kept; nan before
        the first."""
        return self._last[1]

    @property
    def phase(self) -> str:
        """The phase that the latest kept instant is in, for a reader's orientation."""
        if self._latest is None:
            return "start"
        start, now = self.setting.problem.weights.log_norm, self._latest.snapshot.log_norm[-1]
        if np.logaddexp.reduce(2 * now) < np.logaddexp.reduce(2 * start) + math.log(GROWN):
            return "alignment"
        if math.isnan(self._first_log_loss):
            self._observe()
        return "growth" if self.log_loss > self._first_log_loss - math.log(2) else "convergence"

    @property
    def separated(self) -> bool:
        """Whether all samples were on their own side at the latest kept instant."""
        return self._latest is not None and bool((self._latest.margin[-1] > 0).all())

    @property
    def log_loss(self) -> float:
        """log of the loss at the latest kept instant; nan before the first."""
        return math.nan if self._latest is None else float(self._latest.log_loss[-1])

    @property
    def room(self) -> int:
        """How many instants it wants at once: one, where a stop condition is watched at kept instants."""
        return 1 if self.scenario.flow.until.watched(Watched.KEPT) else self.setting.batch

    def keep(self, passed: Passed) -> str:
        """The stop condition that is watched at kept instants and that the last of them meets, in words; "" for none."""
        self._waiting.append(passed)
        self._look_at(passed)
        last = passed.snapshot[-1]
        self._last = float(last.time), float(last.time if last.log10_time is None else last.log10_time)
        if sum(map(len, self._waiting)) >= self.room:
            self._observe()
        return self._met

    def _observe(self) -> None:
        if not self._waiting:
            return
        waiting, batch = Passed.join(self._waiting), self.setting.batch
        self._waiting = []
        for begin in range(0, len(waiting), batch):
            self._take(waiting[begin : begin + batch])

    def _look_at(self, passed: Passed) -> None:
        """Have the latest instant of those that were passed at hand, without more of it than will be asked for."""
        self._latest = Instant(self.setting, self._in_run(passed.snapshot[-1:]))

    def _in_run(self, snapshots: Snapshot) -> Snapshot:
        """By the time of the whole run."""
        return replace(snapshots, time=self.origin + snapshots.time)

    def _take(self, batch: Passed) -> None:
        """Observe a batch."""
        snapshots = self._in_run(batch.snapshot)
        instant = self._latest = Instant(self.setting, snapshots)
        if math.isnan(self._first_log_loss):
            self._first_log_loss = float(instant.log_loss[0])
        self._met = met(self.scenario.flow.until, instant, self.attacked)
        for name, values in self.selection.observe(instant).items():
            self._variables.setdefault(name, []).append(values)
        for name in NUMERICS:
            self._numerics.setdefault(name, []).append(batch.numerics[name] + self.before.get(name, 0))
        self._times.append(snapshots.time)
        if snapshots.log10_time is not None:
            self._log10_times.append(snapshots.log10_time)
        begin = self._instants
        self._instants += len(snapshots.time)
        due = self._due(begin, len(snapshots.time))
        if due:
            held = zip(*self._lifted(snapshots[np.array(due)]), strict=True)
            self._weights |= {begin + index: weights for index, weights in zip(due, held, strict=True)}

    def _due(self, begin: int, count: int) -> Sequence[int]:
        """Which of so many instants, the first of index begin, hold their weights."""
        if self.held is not None:
            return [index - begin for index in sorted(self.held) if begin <= index < begin + count]
        return range(-begin % self._stride, count, self._stride)

    @cached_property
    def _stride(self) -> int:
        """Weights are held at every so many kept instants, enough to choose the wanted number from at the end."""
        return _stride(self.scenario)

    def thin(self) -> None:
        """Drop every other kept instant, the second first. What waits is dropped unseen."""
        if self._waiting:
            waiting = Passed.join(self._waiting)[self._instants % 2 :: 2]
            self._waiting = [waiting] if len(waiting) else []
            if self._waiting:
                self._look_at(waiting)
        for parts in (self._times, self._log10_times, *self._variables.values(), *self._numerics.values()):
            parts[:] = [np.concatenate(parts)[::2]] if parts else []
        self._instants = -(-self._instants // 2)
        stride = 2 * self._stride
        self._weights = {index // 2: weights for index, weights in self._weights.items() if index % stride == 0}

    def trajectory(self, complete: bool) -> Trajectory:
        """Everything kept so far, as arrays.

        An incomplete run gives all weights that are held, so that a resumed one has the same to choose from.
        """
        self._observe()
        wanted = self._instants if self.scenario.observe.snapshots == "all" else snapshot_count(self.scenario)
        held, last = dict(self._weights), self._instants - 1
        if self.held is None:
            if self._latest is not None and last not in held:
                held[last] = tuple(array[0] for array in self._lifted(self._latest.snapshot[-1:]))
            indices = sorted(held) if wanted else []
            if complete:
                indices = _evenly(indices, wanted)
        else:
            indices = sorted(held)
        weights = [held[index] for index in indices]
        neurons, features = self.setting.problem.kept_shape
        return Trajectory(
            time=np.concatenate(self._times),
            log10_time=np.concatenate(self._log10_times) if self._log10_times else None,
            variables={name: np.concatenate(values) for name, values in self._variables.items()},
            numerics={name: np.concatenate(values) for name, values in self._numerics.items()},
            kept_weights=np.array(indices, dtype=np.int64),
            direction=np.array([direction for direction, *_ in weights]).reshape(len(weights), neurons, features),
            bias=np.array([bias for _, bias, *_ in weights]).reshape(len(weights), neurons),
            leaves=tuple(
                np.array([layers[2 + place] for layers in weights]).reshape(len(weights), *matrix.shape)
                for place, matrix in enumerate(self.setting.problem.leaves)
            ),
        )

    def _lifted(self, snapshots: Snapshot) -> tuple[Floats, ...]:
        """(directions, biases, layers above the first …) in the original features"""
        return (*self.setting.reduced.lift(snapshots.direction), *snapshots.leaves)

    def restore(self, kept: Trajectory, drop_last: bool) -> None:
        """Go on from an earlier run's trajectory, its last instant left out where that was not one of the schedule's."""
        end = self._instants = len(kept.time) - drop_last
        self._times = [kept.time[:end]]
        self._log10_times = [kept.log10_time[:end]] if kept.log10_time is not None else []
        time = float(kept.time[end - 1]) - self.origin
        self._last = time, time if kept.log10_time is None else float(kept.log10_time[end - 1])
        self._variables = {name: [values[:end]] for name, values in kept.variables.items()}
        self._numerics = {name: [values[:end]] for name, values in kept.numerics.items()}
        # without neurons a result has no directions
        shape = (len(kept.kept_weights), *self.setting.problem.hidden_direction.shape)
        held = zip(kept.direction.reshape(shape), kept.bias, *kept.leaves, strict=True)
        self._weights = {
            index: weights
            for index, weights in zip(kept.kept_weights.tolist(), held, strict=True)
            if index < end and self._due(index, 1)
        }
