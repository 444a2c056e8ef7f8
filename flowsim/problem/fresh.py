"""New samples from the distribution of the training data: test data, and batches of the population."""

from __future__ import annotations

from ..errors import UsageError
from ..kinds.samples import Samples
from ..kinds.streams import stream
from ..scenario import Scenario


def fresh(scenario: Scenario, samples: Samples, count: int, purpose: str = "test") -> Samples:
    """So many samples around the centres of `samples`, clusters drawn uniformly, noise and label noise as in training.

    Everything but the centres, and of sparse coding w*, is drawn anew, from a stream of its own for each purpose; the same
    call gives the same samples. Where samples are coordinates in a span, products of fresh ones with each other mean
    nothing, since each has a rest of its own outside of that span; `beside` is for those who need them.
    Raises UsageError where the training data come from no distribution.
    """
    if not scenario.data.drawn:
        kind = scenario.data.kind
        raise UsageError(f'data of kind "{kind}" come from no distribution that new samples could be drawn from')
    seed = int(stream(scenario.single_seed, purpose).integers(2**63))
    return scenario.data.fresh(scenario, samples, count, seed)
