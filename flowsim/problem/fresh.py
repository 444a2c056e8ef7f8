"""New samples from the distribution of the training data: test data, and batches of the population."""

from __future__ import annotations

from dataclasses import replace

from ..errors import UsageError
from ..kinds.streams import stream
from ..scenario import Scenario
from ..scenario.data import DRAWN, SparseCoding
from .data import SOURCES, Samples, sparse_coding


def fresh(scenario: Scenario, samples: Samples, count: int, purpose: str = "test") -> Samples:
    """So many samples around the centres of `samples`, clusters drawn uniformly, noise and label noise as in training.

    Everything but the centres, and of sparse coding w*, is drawn anew, from a stream of its own for each purpose; the same
    call gives the same samples.
    Raises UsageError where the training data come from no distribution.
    """
    data = scenario.data
    if data.kind not in DRAWN:
        raise UsageError(f'data of kind "{data.kind}" come from no distribution that new samples could be drawn from')
    seed = int(stream(scenario.single_seed, purpose).integers(2**63))
    if isinstance(data, SparseCoding):
        assert samples.label_weight is not None
        return sparse_coding.coded(
            data.model_copy(update={"samples": count}), samples.centers, samples.label_weight, seed
        )
    update = {"data": data.model_copy(update={"samples": count, "balanced": False}), "seed": seed}
    # a file with centres is not read again
    drawn = SOURCES[data.kind](scenario.model_copy(update=update), samples)
    # another seed may also have drawn other centres
    inputs = drawn.inputs + (samples.centers - drawn.centers)[drawn.sample_cluster]
    return replace(drawn, inputs=inputs, centers=samples.centers)
