"""Networks of images against NumPy, against differences, and as papers count them."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import flowsim
from flowsim.kinds.networks import NETWORKS
from flowsim.kinds.section import told_by

SMALL = {
    "conv": {"channels": [3, 4], "norm": "group", "group": 2, "pool": "mean"},
    "alexnet": {"widen": 0.03, "hidden": [200], "biases": True, "image": [1, 16, 16]},
    "resnet": {"widen": 0.07, "group": 4},
    "wide_resnet": {"depth": 10, "widen": 0.25},
}


def images(samples=6, image=(1, 8, 8), classes=3):
    """Labelled images of noise, in memory."""
    random = np.random.default_rng(0)
    x = random.standard_normal((samples, int(np.prod(image))))
    return flowsim.Data(x, np.arange(samples) % classes)


def scenario(kind="conv", *, init=None, **keys):
    return flowsim.Scenario(
        {
            "data": {"kind": "table"},
            "model": {"kind": kind, **keys},
            "init": {"shape": "he"} if init is None else init,
            "loss": {"kind": "cross_entropy"},
            "flow": {"until": {"time": 1.0}},
        }
    )


def built(kind="conv", data=None, **keys):
    image = keys.get("image", (1, 8, 8))
    return flowsim.build(scenario(kind, **keys), data=images(image=image) if data is None else data)


def moved(problem, size=0.4):
    """Arrays away from the start, where biases and shifts are not 0."""
    random = np.random.default_rng(1)
    return [array + size * random.uniform(-1, 1, array.shape) for array in problem.leaves]


def outputs(problem, arrays):
    with jax.enable_x64(True):
        return np.asarray(problem.network.outputs(arrays, problem.inputs))


def section(kind, **keys):
    return told_by("network", {"kind": kind, "activation": "relu"}).model_validate(
        {"kind": kind, "activation": "relu", **keys}
    )


def convolved(signal, weight):
    """By its definition, with zeros around."""
    pad = weight.shape[-1] // 2
    around = np.pad(signal, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    seen = np.lib.stride_tricks.sliding_window_view(around, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwab,ocab->nohw", seen, weight)


def squares(signal):
    """(n, channels, height/2, width/2, 4)"""
    n, channels, height, width = signal.shape
    apart = signal.reshape(n, channels, height // 2, 2, width // 2, 2)
    return apart.transpose(0, 1, 2, 4, 3, 5).reshape(n, channels, height // 2, width // 2, 4)


def by_group(signal, groups):
    found = np.empty_like(signal)
    for sample, image in enumerate(signal):
        for some in np.split(np.arange(len(image)), groups):
            found[sample, some] = (image[some] - image[some].mean()) / np.sqrt(image[some].var() + 1e-5)
    return found


def by_average(signal, mean, variance):
    return (signal - mean) / np.sqrt(variance + 1e-5)


@pytest.mark.parametrize("norm", ["none", "group", "batch"])
def test_a_small_network_is_what_its_definition_says(norm):
    problem = built(channels=[4, 6], kernel=5, norm=norm, group=2, biases=True, image=(2, 8, 4))
    arrays = moved(problem)
    named = dict(zip((leaf.name for leaf in problem.network.leaves), arrays, strict=True))
    signal = problem.inputs.reshape(-1, 2, 8, 4)
    for layer, groups in ((1, 2), (2, 3)):
        signal = convolved(signal, named[f"conv_{layer}"])
        if norm != "none":
            of_norm = ("scale", "shift", "mean", "variance") if norm == "batch" else ("scale", "shift")
            scale, shift, *averages = (named[f"norm_{layer}_{part}"][:, None, None] for part in of_norm)
            over = by_average(signal, *averages) if averages else by_group(signal, groups)
            signal = scale * over + shift
        else:
            signal = signal + named[f"norm_{layer}_bias"][:, None, None]
        signal = squares(np.maximum(signal, 0)).max(axis=-1)
    expected = signal.reshape(len(signal), -1) @ named["output"].T + named["output_bias"]
    np.testing.assert_allclose(outputs(problem, arrays), expected.T, rtol=1e-11, atol=1e-12)


def test_means_of_squares_take_the_place_of_the_largest():
    problem = built(channels=[2], pool="mean", activation="tanh")
    weight, output = problem.leaves
    signal = squares(np.tanh(convolved(problem.inputs.reshape(-1, 1, 8, 8), weight))).mean(axis=-1)
    expected = output @ signal.reshape(len(signal), -1).T
    np.testing.assert_allclose(outputs(problem, problem.leaves), expected, rtol=1e-11, atol=1e-13)


#: Of deep networks, whose derivatives compile for half a minute, one is enough for every day.
DEEP = [pytest.param(kind, marks=pytest.mark.papers) for kind in ("alexnet", "resnet")]


@pytest.mark.parametrize("kind", ["conv", "wide_resnet", *DEEP])
def test_gradients_are_those_of_differences(kind):
    # a smooth activation: at a kink, differences of the two sides are neither derivative
    problem = built(kind, **SMALL[kind], activation="tanh")
    arrays, random = moved(problem, 0.05), np.random.default_rng(2)
    along = [random.standard_normal(array.shape) for array in arrays]
    pull = random.standard_normal(outputs(problem, arrays).shape)
    with jax.enable_x64(True):
        value = jax.jit(lambda arrays: (pull * problem.network.outputs(arrays, problem.inputs)).sum())
        slope = sum(float((a * g).sum()) for a, g in zip(along, jax.grad(value)(arrays), strict=True))
        step = 1e-6
        ends = [
            float(value([array + sign * step * a for array, a in zip(arrays, along, strict=True)])) for sign in (1, -1)
        ]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def entries(kind, image, outputs=10):
    shapes = section(kind).shapes(int(np.prod(image)), outputs)
    return sum(int(np.prod(shape)) for shape in shapes.values())


def test_sizes_are_those_that_papers_and_others_count():
    # Zagoruyko & Komodakis (2016), Table 4: 36.5 million for WRN-28-10, whose code has 36 479 194 on CIFAR-10
    assert entries("wide_resnet", (3, 32, 32)) == 36_479_194
    # of basic blocks: 2 x 9 c^2 each, or 27 c^2 / 2 with a shortcut of 1 x 1 of c^2/2 beside; 4 c of normalisations
    convolutions = 27 * 64 + 4 * 9 * 64**2 + sum(9 * c * c // 2 + 27 * c * c + c * c // 2 for c in (128, 256, 512))
    norms = 2 * (4 * 64 + 64 + 3 * 128 + 128 + 3 * 256 + 256 + 3 * 512 + 512)
    assert entries("resnet", (3, 32, 32)) == convolutions + norms + 512 * 10 + 10


def test_channels_are_the_units_and_names_say_where_an_array_is():
    leaves = {leaf.name: leaf for leaf in built("resnet", **SMALL["resnet"]).network.leaves}
    assert leaves["stage_2_block_1_conv_1"].units == (0,)
    assert leaves["stage_2_block_1_shortcut"].shape == (9, 4, 1, 1)
    assert {"stem", "stage_4_block_2_norm_2_scale", "norm_shift", "output", "output_bias"} <= leaves.keys()
    assert next(iter(leaves)) == "stem"


def test_the_start_of_he_keeps_the_size_of_signals():
    problem = built(channels=[400], biases=True, image=(3, 8, 8))
    named = dict(zip((leaf.name for leaf in problem.network.leaves), problem.leaves, strict=True))
    assert named["conv_1"].std() == pytest.approx(np.sqrt(2 / 27), rel=0.03)
    assert named["output"].std() == pytest.approx(np.sqrt(2 / 6400), rel=0.03)
    assert not named["norm_1_bias"].any()


def test_scales_start_at_1_times_the_scale_of_all():
    problem = built(norm="group", init={"shape": "gaussian", "scale": 0.5})
    named = dict(zip((leaf.name for leaf in problem.network.leaves), problem.leaves, strict=True))
    assert (named["norm_1_scale"] == 0.5).all()
    assert not named["norm_1_shift"].any()


@pytest.mark.parametrize(
    ("keys", "data", "said"),
    [
        ({"image": [3, 8, 8]}, (1, 8, 8), "model.image: images of 3 x 8 x 8 pixels have 192 features"),
        ({}, (2, 5, 8), "model.image: 80 features are not the pixels of a square of 1 or 3 channels"),
        ({"channels": [1, 1, 1, 1]}, (1, 8, 8), "model.image: images of 8 x 8 pixels are too small"),
    ],
)
def test_a_shape_that_does_not_fit_is_told(keys, data, said):
    with pytest.raises(flowsim.ScenarioError, match=said):
        built(data=images(image=data), **keys)


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("conv", {"kernel": 4}, "model.kernel: is odd"),
        ("wide_resnet", {"depth": 27}, "model.depth: is 4 more than a multiple of 6"),
        ("resnet", {"depth": 20}, "model.depth"),
        ("resnet", {"image": [32, 32]}, "model.image"),
    ],
)
def test_keys_are_held_to_what_there_is(kind, keys, said):
    with pytest.raises(flowsim.ScenarioError, match=said):
        scenario(kind, **keys)


def test_colour_is_told_from_grey_by_the_number_of_features():
    assert section("resnet").shapes(3072, 10)["stem"] == (64, 3, 3, 3)
    assert section("resnet").shapes(784, 10)["stem"] == (64, 1, 3, 3)


def test_every_kind_of_theirs_is_looked_at():
    of_images = {kind for kind in NETWORKS if "image" in NETWORKS[kind].model_fields}
    assert of_images == SMALL.keys()


@pytest.mark.parametrize("norm", ["none", "group"])
def test_a_flow_of_one_loses_as_fast_as_its_gradient_is_long(norm):
    tree = flowsim.run(
        scenario(channels=[2], norm=norm, pool="mean", activation="tanh").replace(
            {"flow": {"until": {"time": 0.1}, "rtol": 1e-8}, "observe": {"times": 41, "snapshots": "all"}}
        ),
        data=images(),
    )
    case = flowsim.reopen(tree)
    rate = np.gradient(tree["loss"].values, tree["time"].values, edge_order=2)
    with jax.enable_x64(True):
        targets = jax.numpy.asarray(case.problem.targets)

        def loss(arrays):
            found = case.problem.network.outputs(arrays, case.problem.inputs)
            return case.problem.loss.value(found, targets, jax.numpy).mean()

        gradient = jax.jit(jax.grad(loss))
        names = [leaf.name for leaf in case.problem.network.leaves]
        squares = [
            sum(float((part**2).sum()) for part in gradient([tree[name].values[instant] for name in names]))
            for instant in range(1, 40)
        ]
    np.testing.assert_allclose(rate[1:-1], -np.array(squares), rtol=2e-3)
