"""Many KKT points of one problem, and the largest margin that any network has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ...errors import UsageError
from ...kinds.streams import stream
from ...observe.kkt import certifiable
from ...problem import Problem, Reduced, build, reduce
from ...scenario import Scenario
from ...threads import blas_threads
from ..case import Result, reopened
from .convex import Cones
from .found import Collection
from .limit import find
from .patterns import from_cones, random_cones
from .point import Point
from .starts import from_start
from .state import System
from .table import Asked, dataset

#: (tries that are done, all tries, KKT points so far)
Progress = Callable[[int, int, int], None]


def kkt_points(
    problem: Scenario | Result,
    *,
    starts: int = 20,
    patterns: int = 50,
    widths: Iterable[int] | None = None,
    seed: int = 0,
    samples: int = 1000,
    probes: int = 10,
    claims: Iterable[str] = (),
    member: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """KKT points of the margin problem of a scenario, or of a result, whose flow's own limit is then one of them.

    starts: random networks of each width, from which the asymptotic flow is followed. patterns: random gates of each
    width, some with neurons in planes of samples, for which the convex problem is solved. widths: numbers of neurons, by
    default the scenario's own. seed: of these draws, not of the samples, which are the scenario's. samples: test samples;
    probes: those of them whose radii are looked for. claims: names of claims about every KKT point, which are asked of
    each. member: the seed, of an ensemble. progress: told (tries done, tries in all, points so far).

    Points that are one function are one row along `point`, the largest margin first. Raises UsageError where the problem
    is none of two trained layers of homogeneous neurons and a loss with an exponential tail, and where nothing was found.
    """
    if min(starts, patterns, probes) < 0 or samples < 1:
        raise UsageError("starts, patterns, probes: none is negative; samples: at least 1")
    with _subject(problem, member) as subject, blas_threads(subject.reduced.operations):
        chosen = sorted({*(widths if widths is not None else [len(subject.problem.weights.log_norm)])})
        if not chosen or chosen[0] < 1:
            raise UsageError("widths: one or more numbers of neurons, each at least 1")
        search = _Search(subject, seed)
        total = len(chosen) * (starts + patterns) + 2
        for done, _ in enumerate(search.tries(chosen, starts, patterns), 1):
            if progress is not None:
                progress(done, total, len(search.collection.found))
        if not search.collection.found:
            raise UsageError(f"no KKT point was found in {total} tries; try more starts, or wider networks")
        asked = Asked(samples, probes, tuple(claims), search.generator("escape"))
        found = dataset(subject.scenario, search.collection, search.cones, asked)
    tries = {"starts": starts, "patterns": patterns, "widths": chosen, "seed": seed}
    return found.assign_attrs({f"explore_{name}": value for name, value in tries.items()})


@dataclass(frozen=True)
class _Subject:
    """weights: of the flow at its end, None of a scenario that has not run"""

    scenario: Scenario
    reduced: Reduced
    own: Callable[[], Point] | None

    @property
    def problem(self) -> Problem:
        return self.reduced.problem


@contextmanager
def _subject(problem: Scenario | Result, member: int | None) -> Iterator[_Subject]:
    if isinstance(problem, Scenario):
        scenario = problem.validated()
        if scenario.is_ensemble:
            raise UsageError("the scenario is an ensemble; give it a single seed")
        reduced = reduce(build(scenario), project=scenario.project, merge=scenario.merge)
        _check(reduced.problem)
        yield _Subject(scenario, reduced, None)
        return
    with reopened(problem, member) as case:
        _check(case.problem)
        yield _Subject(case.scenario, case.reduced, lambda: find(case.setting, case.weights[-1]).point)


def _check(problem: Problem) -> None:
    if not certifiable(problem):
        raise UsageError("only homogeneous networks with targets +1/-1, logistic or exponential loss have KKT points")
    if not problem.two_layers or not problem.trained_output or problem.activation.degree is None:
        raise UsageError("KKT points are looked for in networks of two trained layers")


class _Search:
    """All tries, one after the other; what each draws depends on the seed and on its own number alone."""

    def __init__(self, subject: _Subject, seed: int):
        self.subject, self.seed = subject, seed
        self.system = System.of(subject.reduced)
        self.collection = Collection(subject.reduced, self.generator("points"))
        # of other activations the margin problem is convex for no gates
        self.piecewise = self.system.degree == 1
        self.cones = Cones.of_all(self.system) if self.piecewise else None

    def generator(self, purpose: str) -> np.random.Generator:
        return stream(self.seed, f"explore.{purpose}")

    def tries(self, widths: list[int], starts: int, patterns: int) -> Iterator[None]:
        self._own()
        yield
        if self.piecewise:
            self._of_cones(self.cones, "optimum", None)
        yield
        for width in widths:
            for index in range(starts):
                generator = self.generator(f"start.{width}.{index}")
                for point in from_start(self.subject.reduced, self.system, width, generator):
                    self.collection.add(point, "start", width)
                yield
            for index in range(patterns):
                if self.piecewise:
                    cones = random_cones(self.system, width, self.generator(f"pattern.{width}.{index}"))
                    self._of_cones(cones, "pattern", width)
                yield

    def _own(self) -> None:
        """The limit of the result's own flow."""
        if self.subject.own is not None:
            try:
                self.collection.add(self.subject.own(), "flow", len(self.subject.problem.weights.log_norm))
            except UsageError:  # it shows none
                return

    def _of_cones(self, cones: Cones | None, origin: str, width: int | None) -> None:
        point = from_cones(self.subject.reduced, self.system, cones, self.generator("columns"))
        if point is not None:
            lives = int((np.abs(point.network.output) > 0).sum())
            self.collection.add(point, origin, lives if width is None else width)
