"""[model]: the network. One file a kind; what a network says of itself is asked for everywhere else, never its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from ..activations import Activation
from ..gates import Gates
from ..registry import Registry
from ..section import Section
from ..threshold import Threshold

#: The kinds whose files stand first where they are listed.
ORDER = ("two_layer", "mlp", "linear", "symmetric_relu", "ntk_features")


class NetworkSection(Section):
    """What a network says of itself. A kind adds `kind`, its keys, and what it is capable of.

    own_outputs: whether each neuron has an output weight of its own, trained or as the scenario says; neurons can then be
    shared out among several outputs. gated: whether gates that were drawn once multiply what neurons respond with.
    hidden_widths: of a network of several layers, the neurons of all but the output layer.
    """

    TAG: ClassVar[str] = "kind"
    own_outputs: ClassVar[bool] = False
    gated: ClassVar[bool] = False

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
        def output(self) -> Literal["trained", "fixed"]:
            """Whether what is behind the first layer is trained."""

        @property
        def output_weight(self) -> float | None:
            """The size of output weights that are not trained."""

        @property
        def neurons(self) -> int:
            """Of the first layer."""

    @classmethod
    def variants(cls) -> tuple[type[Section], ...]:
        """The sections that [model] may be with this kind: itself, or one for each activation."""
        return (cls,)

    @property
    def formulas(self) -> Activation:
        """Of its neurons' response."""
        raise NotImplementedError

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        return ()

    @property
    def common_threshold(self) -> Threshold | None:
        """A threshold that all neurons share and that changes with time; None of networks without one."""
        return None

    def draw_gates(self, dimension: int, seed: int) -> Gates | None:
        """None of networks that are not gated."""
        return None


NETWORKS: Registry[type[NetworkSection]] = Registry("network", __name__)
