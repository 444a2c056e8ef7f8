"""[model]: the network."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from ..kinds.section import Broken, Count, NonNegative, Positive, Section, as_tuple, refuse
from ..kinds.threshold import Threshold


class NetworkSection(Section):
    """What every network has to say of itself."""

    @property
    def common_threshold(self) -> Threshold | None:
        """A threshold that all neurons share and that changes with time; None of networks without one."""
        return None


Degree = Annotated[float, Field(ge=1, allow_inf_nan=False)]


class TwoLayer(NetworkSection):
    """f(x) = sum_j v_j h(w_j, x); the kinds differ in h."""

    kind: Literal["two_layer"] = "two_layer"
    width: Count = Field(50, description="number of neurons, of all outputs together")
    bias: bool = Field(False, description="a trained bias entry b_j per neuron: h sees <w_j, x> + b_j")
    output: Literal["trained", "fixed"] = Field("trained", description="whether v_j is trained")
    output_weight: Positive | None = Field(
        None, description='size |v_j| of fixed output weights; only with output = "fixed"'
    )

    @model_validator(mode="after")
    def _rules(self) -> TwoLayer:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.output == "fixed" and self.output_weight is None:
            yield Broken("output_weight", 'required with output = "fixed"', ("output",))
        if self.output == "trained" and self.output_weight is not None:
            yield Broken("output_weight", 'only with output = "fixed"', ("output",))

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.width


class Relu(TwoLayer):
    """h = max(<w, x>, 0)"""

    activation: Literal["relu"]


class LeakyRelu(TwoLayer):
    """h = max(<w, x>, slope <w, x>)"""

    activation: Literal["leaky_relu"]
    slope: float = Field(0.01, ge=0, le=1, description="slope on the negative side; 1 makes the neuron linear")


class Prelu(TwoLayer):
    """h = max(<w, x>, 0)^degree / |w|^(degree - 1)"""

    activation: Literal["prelu"] = "prelu"
    degree: Degree = Field(3.0, description="p; 1 is ReLU")


class ReluPower(TwoLayer):
    """h = max(<w, x>, 0)^degree"""

    activation: Literal["relu_power"]
    degree: Degree = Field(3.0, description="p; 1 is ReLU")


class Tanh(TwoLayer):
    """h = tanh(<w, x>)"""

    activation: Literal["tanh"]


class Mlp(NetworkSection):
    """A network of any depth, all of its layers trained: f(x) = W_L s(... s(W_2 s(W_1 x))), s the activation."""

    kind: Literal["mlp"]
    activation: Literal["relu", "tanh"] = Field("relu", description="of every hidden layer")
    depth: Annotated[int, Field(ge=2)] | None = Field(
        None, description="layers of weights, the output layer included: 2 by default; not with widths"
    )
    width: Count | None = Field(None, description="neurons of each hidden layer: 50 by default; not with widths")
    widths: Annotated[tuple[Count, ...], Field(min_length=1), as_tuple] | None = Field(
        None, description="neurons of the hidden layers, the first one first, in place of depth and width"
    )
    bias: bool = Field(False, description="a trained bias entry for every neuron of every layer, the output's included")
    output: ClassVar[str] = "trained"
    output_weight: ClassVar[None] = None

    @model_validator(mode="after")
    def _rules(self) -> Mlp:
        refuse(
            Broken(key, "give either widths, or depth and width", ("widths",))
            for key in ("depth", "width")
            if self.widths is not None and getattr(self, key) is not None
        )
        return self

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """Neurons of the hidden layers."""
        return self.widths or (self.width or 50,) * ((self.depth or 2) - 1)

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.hidden_widths[0]


class SymmetricRelu(NetworkSection):
    """f(x) = sum_j R(<w_j, x> - b + r_j) - R(-<w_j, x> - b + r_j), R the ReLU.

    b is common to all neurons and r_j ~ N(0, sigma^2) their noise:
    b(t) = min(threshold + growth t, cap), and sigma = smoothing b(t)."""

    kind: Literal["symmetric_relu"]
    width: Count = Field(50, description="number of neurons")
    threshold: NonNegative = Field(description="b at time 0")
    growth: NonNegative = Field(0.0, description="by how much b grows per unit of time, until it is at `cap`")
    cap: Positive | None = Field(None, description="largest b; needed where it grows")
    smoothing: NonNegative = Field(0.0, description="standard deviation of the noise, in units of b; a flow needs some")
    noise: Literal["integrated", "sampled"] = Field(
        "integrated",
        description="the expectation over the noise, in closed form; or, in descent, new noise for every sample and "
        "neuron at every iteration",
    )
    # what it is as a two-layer network
    activation: ClassVar[str] = "symmetric_relu"
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "fixed"
    output_weight: ClassVar[float] = 1.0

    @model_validator(mode="after")
    def _rules(self) -> SymmetricRelu:
        refuse(self._broken())
        return self

    def _broken(self) -> Iterator[Broken]:
        if self.growth and self.cap is None:
            yield Broken("cap", "required where b grows", ("growth",))
        if self.cap is not None and self.cap < self.threshold:
            yield Broken("cap", f"{self.cap:g} is below the threshold {self.threshold:g}", ("threshold",))
        if self.noise == "sampled" and not self.smoothing:
            yield Broken("smoothing", 'required with noise = "sampled"', ("noise",))

    @property
    def common_threshold(self) -> Threshold:
        cap = inf if self.cap is None else self.cap
        return Threshold(self.threshold, self.growth, cap, self.smoothing, self.noise == "sampled")

    @property
    def neurons(self) -> int:
        """Neurons of the first layer."""
        return self.width


class Linear(NetworkSection):
    """A linear classifier, f(x) = <w, x>: with the logistic loss, logistic regression."""

    kind: Literal["linear"]
    bias: bool = Field(False, description="a trained bias: f(x) = <w, x> + b")
    # what it is as a two-layer network: one linear neuron and the output weight 1, which is not trained
    activation: ClassVar[str] = "linear"
    neurons: ClassVar[int] = 1
    output: ClassVar[str] = "fixed"
    output_weight: ClassVar[float] = 1.0


class NtkFeatures(NetworkSection):
    """f(x) = sum_j <v_j, x> g_j(x) with g_j(x) = P(<w_j, x> + r >= b) + P(-<w_j, x> + r >= b), r ~ N(0, sigma^2).

    Only v is trained. w_j ~ N(0, I) is drawn once, and sigma = smoothing b. With the sum of the two, x g_j(x) is the
    derivative of `symmetric_relu` in w_j."""

    kind: Literal["ntk_features"]
    width: Count = Field(50, description="number of neurons, each of which has as many features as the data")
    threshold: NonNegative = Field(description="b, for entries of w_j of variance 1")
    smoothing: NonNegative = Field(0.0, description="standard deviation of the noise, in units of b")
    gates: Literal["sum", "difference"] = Field(
        "sum", description='"difference" subtracts the second probability: f(-x) is then f(x)'
    )
    # what it is as a two-layer network
    activation: ClassVar[str] = "ntk_features"
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "fixed"
    output_weight: ClassVar[float] = 1.0

    @property
    def neurons(self) -> int:
        return self.width


class Function(NetworkSection):
    """A function of Python, f(x) = apply(params, x), as :func:`flowsim.flow` takes it; no text can say all of it."""

    kind: Literal["function"]
    name: str = Field(description="what Python calls the function")
    paths: Annotated[tuple[str, ...], as_tuple] = Field(
        description="where the trained arrays are in the tree, in order"
    )
    input_shape: Annotated[tuple[Count, ...], as_tuple] = Field(description="shape of one x")
    homogeneity: Positive | None = Field(None, description="L of f(c params) = c^L f(params), of a homogeneous network")
    neurons: ClassVar[int] = 0
    bias: ClassVar[bool] = False
    output: ClassVar[str] = "trained"
    output_weight: ClassVar[None] = None


AnyTwoLayer = Annotated[Relu | LeakyRelu | Prelu | ReluPower | Tanh, Field(discriminator="activation")]
Model = Annotated[AnyTwoLayer | Mlp | Linear | SymmetricRelu | NtkFeatures | Function, Field(discriminator="kind")]
