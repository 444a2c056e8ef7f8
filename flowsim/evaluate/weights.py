"""The weights of a result, for another run to start from."""

from __future__ import annotations

from ..errors import UsageError
from ..problem import Weights
from .case import Result, reopened


def weights(result: Result, *, at: int = -1, seed: int | None = None) -> Weights:
    """The weights that a result has kept, to the last bit: ``flowsim.run(scenario, init=flowsim.weights("other.nc"))``.

    at: which of the instants at which weights were kept, 0 the start; an index below 0 counts from the last one. seed: of
    an ensemble, the member. Raises UsageError where no weights were kept.
    """
    with reopened(result, seed) as case:
        try:
            found = Weights.of_trajectory(case.trajectory, at)
        except UsageError as error:
            raise UsageError(f"{case.name}: {error}") from None
        if case.weights_at(at, "at").time == 0:
            found = case.problem.weights  # as they were, where the trajectory has them projected and rounded
        return found.of_outputs(case.problem.outputs)
