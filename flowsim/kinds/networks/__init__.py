"""[model]: the network.

One file a kind. What a network says of itself is asked for everywhere else, never its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import UsageError
from ..activations import NONE, Activation
from ..drawing import Drawing
from ..network import Handed, Network
from ..registry import Registry
from ..samples import Samples
from ..section import Section
from ..threshold import Threshold

#: The kinds whose files stand first where they are listed.
ORDER = ("two_layer", "mlp", "linear", "symmetric_relu", "ntk_features", "dense", "function")


class NetworkSection(Section):
    """What a network says of itself. A kind adds `kind`, its keys, and what it is capable of.

    two_layers: whether the output is a sum over neurons, each a function of its own weights times an output weight. Such a
    network gives the `formulas` of its neurons, which make it a function of two arrays and open the fast road: polar
    coordinates, compiled kernels, sliding. All others give that function themselves, as `network`. own_outputs: whether
    each neuron has an output weight of its own, trained or as the scenario says; neurons can then be shared out among
    several outputs. has_neurons: whether there is a first layer of neurons, whose rows see the inputs. reducible: whether
    inputs are seen by these rows alone, and by their products with them. layered: whether there are matrices of layers
    above.
    takes_weights: whether it may start from weights that [init] takes from outside.
    is_product: whether it is a product of matrices times x; starts that are for such products then move them. factors: how
    many trained arrays are multiplied with each other, where products of small ones may underflow.
    """

    TAG: ClassVar[str] = "kind"
    SORT: ClassVar[str] = "network"
    two_layers: ClassVar[bool] = False
    own_outputs: ClassVar[bool] = False
    has_neurons: ClassVar[bool] = True
    reducible: ClassVar[bool] = True
    layered: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = True
    is_product: ClassVar[bool] = False

    if TYPE_CHECKING:
        # keys of a kind, or else constants of it

        @property
        def kind(self) -> str: ...
        @property
        def activation(self) -> str:
            """What messages call the neurons' response."""

        @property
        def bias(self) -> bool:
            """Whether neurons have a trained bias."""

        @property
        def output(self) -> str:
            """Whether what is behind the first layer is "trained" or "fixed"."""

        @property
        def output_weight(self) -> float | None:
            """The size of output weights that are not trained."""

        @property
        def neurons(self) -> int:
            """Of the first layer."""

    @property
    def formulas(self) -> Activation:
        """Of its neurons' response."""
        return NONE

    @property
    def output_degree(self) -> float | None:
        """Where there are no two layers, L of f(c params) = c^L f(params); None where it is not known to be homogeneous."""
        return None

    def network(self, scenario: Drawing, samples: Samples) -> Handed:
        """Where there are no two layers: what it computes, and from where it starts."""
        raise UsageError(f'a network of kind "{self.kind}" does not say what it computes')

    def again(self, apply: Callable[..., Any] | None, params: Any, arrays: Mapping[str, Any]) -> Network:
        """Of a result of a network that no text can say all of: the same network, from the function and a tree that are
        handed over once more. arrays: name -> its values at time 0. Raises UsageError for all others."""
        raise UsageError(f'apply and params are for runs of flowsim.flow; this one was of model.kind = "{self.kind}"')

    @property
    def factors(self) -> int:
        return 1

    @property
    def common_threshold(self) -> Threshold | None:
        """A threshold that all neurons share and that changes with time; None of networks without one."""
        return None


NETWORKS: Registry[type[NetworkSection]] = Registry("network", __name__, ("model.kind",), ORDER)
