"""The initial value problem in NumPy arrays: exactly what the flow starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats, Integers
from ..kinds.activations import Activation
from ..kinds.in_memory import Data
from ..kinds.losses import Loss
from ..kinds.network import Network
from ..kinds.samples import Samples
from ..scenario import Scenario
from ..scenario.rules import class_problems
from ..threads import one_blas_thread
from .given import with_given
from .held_out import held_out
from .initial import draw
from .memory import check_room
from .weights import Weights


@dataclass(frozen=True)
class Problem:
    """n samples in d features, m neurons, K clusters.

    A neuron's bias, where the model has one, counts as one more entry of its weight vector, fed by a constant feature 1:
    norms, balance and the direction's normalisation include it.
    """

    samples: Samples
    weights: Weights
    activation: Activation
    loss: Loss
    sample_weight: Floats  # (n,): what each sample's loss is multiplied with in the sum
    bias: bool
    trained_output: bool  # true also where there are layers above the first
    square_decay: float = 0.0  # of the regulariser square_decay |w|^2/2 + cubic_decay |w|^3/3
    cubic_decay: float = 0.0
    network: Network | None = None  # of two layers of neurons None

    def __repr__(self) -> str:
        samples, coordinates = self.samples.stored.shape
        spanned = f" by {coordinates} coordinates" if self.samples.span is not None else ""
        features = f"{self.dimension} features{spanned}"
        if self.network is not None and not self.has_neurons:
            entries = sum(leaf.size for leaf in self.network.leaves)
            return f"Problem: {samples} samples, {features}, {self.network.name} of {entries} weights"
        sizes = f"{samples} samples, {features}, {len(self.centers)} clusters, {len(self.hidden_log_norm)} neurons"
        return f"Problem: {sizes}"

    @property
    def inputs(self) -> Floats:
        """(n, d), as an array; of images made anew whenever it is asked for"""
        return self.samples.inputs

    @property
    def features(self) -> int:
        """d"""
        return self.samples.features

    @property
    def dimension(self) -> int:
        """Of the space that the samples are from: d, but for those given by coordinates in their span"""
        return self.samples.dimension

    @property
    def targets(self) -> Floats:
        """(n,): what is trained on: labels +1/-1 or real targets, label noise included, or indices of clusters; (n, k) of
        vectors"""
        return self.samples.targets

    @property
    def clean_targets(self) -> Floats:
        """(n,): the targets without label noise"""
        return self.samples.clean_targets

    @property
    def label(self) -> Floats:
        """(n,): +1/-1 or real targets, label noise included, also where the targets are indices of clusters"""
        return self.samples.label

    @property
    def sample_cluster(self) -> Integers:
        """(n,): index of the sample's centre, -1 where unknown"""
        return self.samples.sample_cluster

    @property
    def centers(self) -> Floats:
        """(K, d)"""
        return self.samples.centers

    @property
    def cluster_label(self) -> Integers:
        """(K,): +1/-1"""
        return self.samples.cluster_label

    @property
    def test(self) -> Samples | None:
        """Samples that are not trained on"""
        return self.samples.test

    @property
    def hidden_direction(self) -> Floats:
        """(m, d): w_j(0) divided by exp(hidden_log_norm)"""
        return self.weights.direction[:, : self.features]

    @property
    def hidden_bias_direction(self) -> Floats:
        """(m,): b_j(0) divided by exp(hidden_log_norm); zeros without a bias"""
        return self.weights.direction[:, -1] if self.bias else np.zeros(len(self.weights.direction))

    @property
    def hidden_log_norm(self) -> Floats:
        """(m,): log of |(w_j(0), b_j(0))|"""
        return self.weights.log_norm

    @property
    def hidden(self) -> Floats:
        """(m, d): w_j(0)"""
        return np.exp(self.hidden_log_norm)[:, None] * self.hidden_direction

    @property
    def hidden_bias(self) -> Floats:
        """(m,): b_j(0)"""
        return np.exp(self.hidden_log_norm) * self.hidden_bias_direction

    @property
    def output(self) -> Floats:
        """(m,): v_j(0)"""
        return self.weights.output_sign * np.exp(self.weights.output_log)

    @property
    def leaves(self) -> tuple[Floats, ...]:
        """Of an ordinary network, the trained arrays at time 0 whose rows are no neurons; of one of any depth (`mlp`), W_l
        of the layers above the first, (m_l, m_(l-1)), biases in a last column."""
        return self.weights.leaves

    @property
    def two_layers(self) -> bool:
        """Whether the output is a sum over neurons, each a function of its own trained weights times an output weight."""
        return self.network is None

    @property
    def kept_shape(self) -> tuple[int, int]:
        """(neurons, features) of the directions that results keep; (0, 0) without neurons."""
        neurons, features = self.hidden_direction.shape
        return neurons, features if neurons else 0

    @property
    def has_neurons(self) -> bool:
        """Whether there is a first layer of neurons."""
        return self.network is None or self.network.neurons is not None

    @property
    def reducible(self) -> bool:
        """Whether inputs are seen by neurons alone, and by their products with these."""
        return self.network is None or (self.network.neurons is not None and self.network.neurons.reducible)

    @property
    def layered(self) -> bool:
        """Whether `leaves` are the matrices of layers above the neurons."""
        return self.network is not None and self.network.neurons is not None and self.network.neurons.layered

    @property
    def uncompiled(self) -> str:
        """What of the formulas compiled code does not have: the activation's or the loss's name, or ""."""
        lacking = [one.name for one in (self.activation, self.loss) if one.kernel is None]
        return " and ".join(lacking)

    @property
    def compiled(self) -> bool:
        """Whether there is compiled code for all of its formulas."""
        return self.two_layers and not self.uncompiled

    @property
    def outputs(self) -> int:
        """k: how many outputs the network has"""
        if self.network is not None:
            return self.network.count
        return len(self.samples.centers) if self.loss.classes else 1

    @property
    def neuron_output(self) -> Integers:
        """(m,): the output that each neuron is part of; as many neurons for each, in order"""
        return np.arange(len(self.weights.log_norm)) * self.outputs // max(len(self.weights.log_norm), 1)

    @property
    def total_degree(self) -> float:
        """L: the output's degree of homogeneity in what is trained; of tanh, that of small neurons."""
        if self.network is not None:
            assert self.network.degree is not None, "this network is not homogeneous"
            return self.network.degree
        return self.activation.homogeneity + self.trained_output

    @property
    def regularized(self) -> bool:
        return self.square_decay > 0 or self.cubic_decay > 0

    @property
    def balanced(self) -> bool:
        """Whether |v_j| = |w_j| holds at the start and is conserved by the flow."""
        conserved = (
            self.two_layers
            and not self.regularized
            and self.trained_output
            and self.activation.homogeneity == 1
            and self.activation.degree is not None
        )
        return conserved and bool((self.weights.output_log == self.weights.log_norm).all())


@one_blas_thread()  # that draws round alike wherever they are made, alone or by one of many
def build(
    scenario: Scenario, sibling: Problem | None = None, *, data: Data | None = None, init: Weights | None = None
) -> Problem:
    """Draw the data and the initial weights of a scenario.

    data, init: samples and weights in memory, in place of those that the scenario speaks of.
    sibling: the problem of the same scenario with another seed, where that was built before; files are not read again.
    Raises ScenarioError where a copied scenario has values that are not valid, where a file that it names does not hold
    what it should, or where the arrays would not fit into this machine's memory; and UsageError for an ensemble, each of
    whose members has a problem of its own.
    """
    if sibling is None:
        scenario = with_given(scenario, data, init).validated()
        check_room(scenario)
    known = sibling.samples if sibling is not None else None
    samples = scenario.data.draw(scenario, known)
    test = held_out(scenario, samples, known)
    if test is not samples.test:
        samples = replace(samples, test=test)
    if sibling is None:  # which has as much
        check_room(scenario, samples)
    model, loss = scenario.model, scenario.loss.formulas
    handed = model.network(scenario, samples) if not model.two_layers else None
    if samples.targets.ndim == 2:
        loss = loss.of_vectors()
    if handed is not None:
        _check_outputs(scenario, handed.network, samples, loss)
    if loss.classes and model.own_outputs:
        problems = [("model.width", problem) for problem in class_problems(len(samples.centers), model.neurons)]
        if problems:
            raise scenario.error(*problems)
    count = len(samples.targets)
    per_sample = {"mean": 1 / count, "sum": 1.0, "per_cluster": max(len(samples.centers), 1) / count}
    return Problem(
        samples=samples,
        weights=draw(scenario, samples, handed),
        activation=model.formulas,
        loss=loss,
        sample_weight=np.full(count, per_sample[scenario.loss.reduction]),
        bias=model.bias,
        trained_output=model.output == "trained",
        square_decay=scenario.loss.regularizer.square,
        cubic_decay=scenario.loss.regularizer.cubic,
        network=None if handed is None else handed.network,
    )


def _check_outputs(scenario: Scenario, network: Network, samples: Samples, loss: Loss) -> None:
    """Raise ScenarioError where a network's outputs and the targets do not go together."""
    count, targets = network.count, samples.targets
    wanted = targets.shape[1] if targets.ndim == 2 else 1
    if loss.classes:
        classes = targets.ndim == 1 and bool(np.isin(targets, np.arange(count)).all())
        if count < 2 or not classes:
            wrong = (
                f"the network has {count} outputs, so targets have to be classes from 0 to {count - 1}, of at least two"
            )
            raise scenario.error(("loss.kind", wrong))
    elif count != wanted:
        raise scenario.error(("model.kind", f"the network has {count} outputs, and the targets have {wanted} entries"))
