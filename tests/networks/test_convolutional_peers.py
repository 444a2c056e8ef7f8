"""Full-size networks of images beside PyTorch's, on the same weights. Needs torch."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from networks.test_convolutional import section

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.papers
nn = torch.nn

#: Samples of a batch of CIFAR-10's size.
BATCH, IMAGE, CLASSES = 4, (3, 32, 32), 10


def normalisation(kind, channels):
    return nn.GroupNorm(channels // 16, channels) if kind == "group" else nn.BatchNorm2d(channels)


class Block(nn.Module):
    """As torchvision's basic block, with normalisation and activation in front (He et al. 2016)."""

    def __init__(self, below, channels, stride, kind):
        super().__init__()
        self.norm_1, self.norm_2 = normalisation(kind, below), normalisation(kind, channels)
        self.conv_1 = nn.Conv2d(below, channels, 3, stride, padding=1, bias=False)
        self.conv_2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        changes = stride > 1 or below != channels
        self.shortcut = nn.Conv2d(below, channels, 1, stride, bias=False) if changes else None

    def forward(self, x):
        seen = torch.relu(self.norm_1(x))
        rest = x if self.shortcut is None else self.shortcut(seen)
        return rest + self.conv_2(torch.relu(self.norm_2(self.conv_1(seen))))


class Residual(nn.Module):
    def __init__(self, stem, stages, kind):
        super().__init__()
        self.stem, below = nn.Conv2d(3, stem, 3, padding=1, bias=False), stem
        for stage, (channels, blocks) in enumerate(stages, start=1):
            for block in range(1, blocks + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                self.add_module(f"stage_{stage}_block_{block}", Block(below, channels, stride, kind))
                below = channels
        self.norm, self.output = normalisation(kind, below), nn.Linear(below, CLASSES)

    def forward(self, x):
        seen = self.stem(x)
        for name, block in self.named_children():
            seen = block(seen) if name.startswith("stage") else seen
        return self.output(torch.relu(self.norm(seen)).mean(dim=(2, 3)))


def alexnet():
    """Without biases."""
    layers, below = [], 3
    for channels, kernel, pools in ((64, 5, 1), (192, 5, 1), (384, 3, 0), (256, 3, 0), (256, 3, 1)):
        layers += [nn.Conv2d(below, channels, kernel, padding=kernel // 2, bias=False), nn.ReLU()]
        layers += [nn.MaxPool2d(3, 2)] if pools else []
        below = channels
    dense = [nn.Linear(256 * 9, 4096, bias=False), nn.ReLU(), nn.Linear(4096, 4096, bias=False), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), *dense, nn.Linear(4096, CLASSES, bias=False))


RESNET_18 = (64, ((64, 2), (128, 2), (256, 2), (512, 2)))
RESNET_34 = (64, ((64, 3), (128, 4), (256, 6), (512, 3)))
WIDE_16_4 = (16, ((64, 2), (128, 2), (256, 2)))

#: Names of flowsim's arrays end so where those of PyTorch end in ".weight" and ".bias".
ENDS = (
    ("_scale", ".weight"),
    ("_shift", ".bias"),
    ("_mean", ".running_mean"),
    ("_variance", ".running_var"),
    ("_bias", ".bias"),
    ("", ".weight"),
)


def name_there(name):
    """stage_1_block_2_conv_1 -> stage_1_block_2.conv_1.weight"""
    end, theirs = next((end, theirs) for end, theirs in ENDS if name.endswith(end))
    stem = name.removesuffix(end)
    head, found, inner = stem.partition("_block_")
    number, _, part = inner.partition("_")
    return f"{head}_block_{number}.{part}{theirs}" if found else stem + theirs


def arrays_of(model, names, values):
    """Of `values`, by PyTorch's names, those that have one of these names of flowsim's; a plain sequence has them in that
    order."""
    if isinstance(model, nn.Sequential):
        return dict(zip(names, values.values(), strict=True))
    return {name: values[name_there(name)] for name in names if name_there(name) in values}


def loss(outputs, labels):
    """The mean of the cross entropy."""
    return (jax.nn.logsumexp(outputs, axis=1) - outputs[np.arange(len(labels)), labels]).mean()


@pytest.mark.parametrize(
    ("kind", "keys", "make"),
    [
        ("resnet", {"norm": "group"}, lambda: Residual(*RESNET_18, "group")),
        ("resnet", {"norm": "group", "depth": 34}, lambda: Residual(*RESNET_34, "group")),
        ("wide_resnet", {"norm": "group", "depth": 16, "widen": 4.0}, lambda: Residual(*WIDE_16_4, "group")),
        ("alexnet", {}, alexnet),
        ("resnet", {"norm": "batch"}, lambda: Residual(*RESNET_18, "batch")),
    ],
    ids=["resnet18", "resnet34", "wide_resnet", "alexnet", "resnet18 by averages"],
)
def test_outputs_and_gradients_are_those_of_pytorch(kind, keys, make):
    model, params, x, labels = beside(make, section(kind, **keys))
    model.eval()
    outputs, gradients = of_torch(model, x, labels)
    ours = section(kind, **keys)
    with jax.enable_x64(True):
        found = jax.jit(ours.apply)(params, flat(x))
        gradient = jax.jit(jax.grad(lambda params: loss(ours.apply(params, flat(x)), labels.numpy())))(params)
    np.testing.assert_allclose(found, outputs, rtol=1e-9, atol=1e-11)
    agree(gradient, arrays_of(model, list(params), gradients))


def test_a_step_by_batches_is_that_of_pytorch():
    ours = section("resnet", norm="batch")
    model, params, x, labels = beside(lambda: Residual(*RESNET_18, "batch"), ours)
    outputs, gradients = of_torch(model.train(), x, labels)

    def training(params):
        found, averages = ours.training(params, flat(x))
        return loss(found, labels.numpy()), (found, averages)

    with jax.enable_x64(True):
        (_, (found, averages)), gradient = jax.jit(jax.value_and_grad(training, has_aux=True))(params)
    np.testing.assert_allclose(found, outputs, rtol=1e-9, atol=1e-11)
    agree(gradient, arrays_of(model, list(params), gradients))
    agree(averages, arrays_of(model, list(averages), dict(model.named_buffers())))


def beside(make, ours):
    """(a module, its arrays by flowsim's names, samples, their labels), scales, shifts and averages away from 1 and 0."""
    torch.manual_seed(0)
    model = make().double()
    with torch.no_grad():
        for name, array in (*model.named_parameters(), *model.named_buffers()):
            if array.ndim == 1:
                away = 0.3 * torch.randn(array.shape, dtype=array.dtype)
                array.add_(away.abs() if name.endswith("running_var") else away)
    shapes = ours.shapes(int(np.prod(IMAGE)), CLASSES)
    named = arrays_of(model, list(shapes), {**dict(model.named_parameters()), **dict(model.named_buffers())})
    assert {name: tuple(array.shape) for name, array in named.items()} == dict(shapes)
    params = {name: array.detach().numpy().copy() for name, array in named.items()}
    return model, params, torch.randn(BATCH, *IMAGE, dtype=torch.float64), torch.arange(BATCH) % CLASSES


def of_torch(model, x, labels):
    """(outputs, gradients of the mean cross entropy by PyTorch's names)"""
    outputs = model(x)
    nn.functional.cross_entropy(outputs, labels).backward()
    return outputs.detach().numpy(), {name: array.grad for name, array in model.named_parameters()}


def flat(x):
    return x.reshape(len(x), -1).numpy()


def agree(found, theirs):
    assert theirs
    for name, array in theirs.items():
        expected = array.detach().numpy()
        assert np.linalg.norm(np.asarray(found[name]) - expected) <= 1e-8 * np.linalg.norm(expected), name
