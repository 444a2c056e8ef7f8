"""A neuron's response against its definition h(w, x), and its slope against finite differences."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import flowsim
from flowsim.kinds.activations import ACTIVATIONS, Activation

degrees = st.one_of(st.integers(1, 10), st.floats(1, 10))
slopes = st.floats(0, 1)
models = st.one_of(
    st.just({"activation": "relu"}),
    st.builds(lambda slope: {"activation": "leaky_relu", "slope": slope}, slopes),
    st.builds(lambda degree: {"activation": "prelu", "degree": degree}, degrees),
    st.builds(lambda degree: {"activation": "relu_power", "degree": degree}, degrees),
    st.just({"activation": "tanh"}),
    st.just({"kind": "linear"}),
    st.just({"kind": "ntk_features", "threshold": 0.5}),  # without its gates
    st.builds(
        lambda threshold, smoothing: {"kind": "symmetric_relu", "threshold": threshold, "smoothing": smoothing},
        st.floats(0.01, 0.5),
        st.floats(0.5, 2),
    ),
)
cosines = st.floats(-1, 1)
log_norms = st.floats(-30, 5)


def build(model: dict) -> Activation:
    section = flowsim.loads("", overrides={"model": model}).model
    return section.formulas


def respond(activation: Activation, s: float, log_norm: float) -> tuple[float, float]:
    value, slope = activation.response(np.array(s), np.array(log_norm), np)
    return float(value), float(slope)


def definition(model: dict, s: float, log_norm: float) -> float:
    """h(w, x) with <w, x> = |w| s."""
    norm = math.exp(log_norm)
    product = norm * s
    positive = max(product, 0.0)
    match model.get("activation", model.get("kind")):
        case "linear" | "ntk_features":
            return product
        case "symmetric_relu":
            law, threshold = NormalDist(sigma=model["smoothing"] * model["threshold"]), model["threshold"]
            return ramped(product - threshold, law) - ramped(-product - threshold, law)
        case "relu":
            return positive
        case "leaky_relu":
            return max(product, model["slope"] * product)
        case "prelu":
            return positive ** model["degree"] / norm ** (model["degree"] - 1)
        case "relu_power":
            return positive ** model["degree"]
        case _:
            return math.tanh(product)


def ramped(x: float, noise: NormalDist) -> float:
    """max(x + r, 0) in the mean over the noise r."""
    return x * noise.cdf(x) + noise.variance * noise.pdf(x)


def test_every_activation_is_under_test():
    assert set(ACTIVATIONS) == {"relu", "leaky_relu", "prelu", "relu_power", "tanh"}


@given(model=models, s=cosines, log_norm=log_norms)
def test_the_response_is_the_definition_with_the_norm_taken_out(model, s, log_norm):
    activation = build(model)
    value, _ = respond(activation, s, log_norm)
    expected = definition(model, s, log_norm)
    # what underflows in the definition is no measure of the response
    assert math.exp(activation.homogeneity * log_norm) * value == pytest.approx(
        expected, rel=1e-12, abs=1e-15 if "threshold" in model else 1e-290
    )


@given(model=models, s=cosines, log_norm=log_norms)
def test_the_slope_is_the_derivative_of_the_response(model, s, log_norm):
    activation, step = build(model), 1e-6
    assume(abs(s) > 0.01)  # the kink
    _, slope = respond(activation, s, log_norm)
    rise = respond(activation, s + step, log_norm)[0] - respond(activation, s - step, log_norm)[0]
    # third derivatives are below 10^3 s^-2 for powers and 2 |w|^2 for tanh
    assert rise / (2 * step) == pytest.approx(slope, abs=1e-8 + 1e7 * step**2)


@given(model=models, s=cosines, log_norm=log_norms)
def test_a_power_satisfies_euler_s_identity(model, s, log_norm):
    activation = build(model)
    assume(activation.degree is not None)
    value, slope = respond(activation, s, log_norm)
    assert slope * s == pytest.approx(activation.degree * value, rel=1e-12, abs=1e-300)


@given(model=models, s=cosines, log_norm=st.floats(-690, -30))
def test_no_norm_is_too_small(model, s, log_norm):
    activation = build(model)
    # a threshold's response is linear only in the limit: its slope there is not the same to the last bit
    assert respond(activation, s, log_norm) == pytest.approx(respond(activation, s, -30.0), rel=1e-14)


@pytest.mark.parametrize("degree", [1, 1.5, 2, 3, 8, 9, 2.000001])
@given(s=st.floats(0, 100))
def test_whole_powers_by_multiplication_are_powers(degree, s):
    value, slope = respond(build({"activation": "relu_power", "degree": degree}), s, 0.0)
    assert value == pytest.approx(s**degree, rel=1e-13, abs=1e-300)
    assert slope == pytest.approx(degree * s ** (degree - 1) if s else 0.0, rel=1e-13, abs=1e-300)
