"""flowsim's attacks side by side with those of the Adversarial Robustness Toolbox (ART): the same networks and samples.

    pip install 'flowsim[attacks]'
    python benchmarks/attacks.py [--samples N] [--markdown FILE]

See README.md beside this file for what the columns mean.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from cartesian import Floats
from tables import claim, machine, say, text_table, write_markdown

import flowsim
from flowsim.evaluate.robustness import Classifier, TwoLayer, of_result
from flowsim.evaluate.robustness.attacks import Options, Target, attacked

#: activation -> radii at which robust accuracies are compared
RADII = {"prelu": (0.2, 0.4, 0.6, 0.68, 0.72), "relu": (0.05, 0.1, 0.15, 0.2, 0.25)}
SCENARIO = """
[data]
dimension = 400
positive = 12
negative = 8
samples = 400
[model]
width = 100
[init]
scale = 1e-3
[flow]
until = { time = 600.0 }
[observe]
times = 3
"""
STEPS = 100


@dataclass
class Count:
    """Samples at which the network was evaluated, and of those at which its gradient was taken."""

    values: int = 0
    gradients: int = 0


@dataclass(frozen=True)
class Counting:
    """A classifier that counts."""

    inner: Classifier
    count: Count = field(default_factory=Count)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def directions(self) -> Floats:
        return self.inner.directions

    def within(self, basis: Floats) -> Counting:
        return replace(self, inner=self.inner.within(basis))

    def value(self, x: Floats) -> Floats:
        self.count.values += len(x)
        return self.inner.value(x)

    def value_and_gradient(self, x: Floats) -> tuple[Floats, Floats]:
        self.count.values += len(x)
        self.count.gradients += len(x)
        return self.inner.value_and_gradient(x)


class Logits(torch.nn.Module):
    """(n, d) -> (n, 2): -f/2 and f/2, f divided by its typical size, so that cross entropy has gradients."""

    def __init__(self, network: TwoLayer, power: float, typical: float):
        super().__init__()
        self.direction = torch.tensor(network.direction)
        self.weight = torch.tensor(network.weight / typical)
        self.power, self.count = power, Count()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.values += len(x)
        self.count.gradients += len(x) if x.requires_grad else 0
        f = torch.relu(x.double() @ self.direction.T) ** self.power @ self.weight
        return torch.stack([-f / 2, f / 2], dim=1)


@dataclass(frozen=True)
class Row:
    """sizes (n,): of the smallest perturbations found, inf where there is none; count per sample; seconds."""

    name: str
    accuracy: Floats
    count: Count
    seconds: float

    def cells(self, samples: int) -> list[str]:
        shares = [f"{share:.3f}" for share in self.accuracy]
        counts = (self.count.gradients, self.count.values)
        return [self.name, *shares, *(f"{count / samples:.0f}" for count in counts), f"{self.seconds:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--markdown", type=Path, help="write the tables there too, the activation before the suffix")
    options = parser.parse_args()
    print("\n".join(machine(("numpy", "torch", "adversarial-robustness-toolbox"))))
    for activation, radii in RADII.items():
        say(f"training: {activation}")
        scenario = flowsim.loads(SCENARIO, overrides={"model.activation": activation})
        network = of_result(flowsim.run(scenario))
        assert isinstance(network, TwoLayer)
        problem = flowsim.build(scenario)
        test = flowsim.problem.fresh(scenario, problem.samples, options.samples)
        label = problem.cluster_label[test.sample_cluster].astype(float)
        rows = [*of_flowsim(network, problem, test.inputs, label, np.array(radii))]
        rows += of_art(network, test.inputs, label, np.array(radii))
        columns = ("attack", *(f"at {radius:g}" for radius in radii), "gradients", "values", "seconds")
        cells = [row.cells(options.samples) for row in rows]
        print(f"\n{activation}: robust accuracy at these radii; evaluations per sample")
        print("\n".join(text_table(columns, cells)))
        strong = next(row for row in rows if row.name == "flowsim strong")
        print(claim("no attack of ART is stronger than flowsim's strong one", _weakest(rows, strong)))
        if options.markdown:
            file = options.markdown
            write_markdown(file.with_name(f"{file.stem}_{activation}{file.suffix}"), columns, cells)


def _weakest(rows: list[Row], strong: Row) -> bool:
    return all((strong.accuracy <= row.accuracy).all() for row in rows)


def of_flowsim(network: TwoLayer, problem: flowsim.Problem, x: Floats, label: Floats, radii: Floats) -> Iterator[Row]:
    centers, side = problem.centers, problem.cluster_label.astype(float)
    for name in ("fgm", "pgd", "universal", "targeted", "minimal", "strong"):
        say(f"flowsim {name}")
        counting = Counting(network)
        begun = time.perf_counter()
        target = Target.of(counting, x, label, centers, side, side @ centers)
        found = attacked(target, radii, [name], Options(steps=STEPS))[name]
        yield Row(f"flowsim {name}", found.withstands.mean(axis=1), counting.count, time.perf_counter() - begun)


def of_art(network: TwoLayer, x: Floats, label: Floats, radii: Floats) -> Iterator[Row]:
    from art.attacks.evasion import (
        AutoProjectedGradientDescent,
        CarliniL2Method,
        DeepFool,
        FastGradientMethod,
        ProjectedGradientDescentPyTorch,
    )
    from art.estimators.classification import PyTorchClassifier

    typical = float(np.median(np.abs(network.value(x))))
    power = network.activation.degree
    assert power is not None
    start, classes = x.astype(np.float32), (label > 0).astype(int)
    targets = np.eye(2)[classes]

    def classifier() -> tuple[PyTorchClassifier, Count]:
        model = Logits(network, power, typical)
        loss = torch.nn.CrossEntropyLoss()
        return PyTorchClassifier(model, loss, input_shape=(x.shape[1],), nb_classes=2), model.count

    def sizes(moved: Floats) -> Floats:
        """Judged by flowsim's network in float64: inf where the class is still the right one."""
        size = np.linalg.norm(moved - x, axis=1)
        return np.where(label * network.value(moved) <= 0, size, np.inf)

    def fixed(name: str, make: Callable[[PyTorchClassifier, float], object]) -> Row:
        wrapped, count = classifier()
        begun, smallest = time.perf_counter(), np.full(len(x), np.inf)
        for radius in radii:
            moved = np.asarray(make(wrapped, float(radius)).generate(start, targets), dtype=float)  # type: ignore[attr-defined]
            found = sizes(moved)
            smallest = np.minimum(smallest, np.where(found <= radius * (1 + 1e-5), np.minimum(found, radius), np.inf))
        accuracy = (smallest > radii[:, None]).mean(axis=1)
        return Row(f"ART {name}", accuracy, count, time.perf_counter() - begun)

    def free(name: str, make: Callable[[PyTorchClassifier], object]) -> Row:
        wrapped, count = classifier()
        begun = time.perf_counter()
        found = sizes(np.asarray(make(wrapped).generate(start, targets), dtype=float))  # type: ignore[attr-defined]
        accuracy = (found > radii[:, None]).mean(axis=1)
        return Row(f"ART {name}", accuracy, count, time.perf_counter() - begun)

    step, rows = 2.5 / STEPS, len(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        say("ART, radius by radius")
        yield fixed("FastGradientMethod", lambda net, r: FastGradientMethod(net, norm=2, eps=r, batch_size=rows))
        yield fixed(
            "ProjectedGradientDescent",
            lambda net, r: ProjectedGradientDescentPyTorch(
                net, norm=2, eps=r, eps_step=step * r, max_iter=STEPS, num_random_init=1, batch_size=rows, verbose=False
            ),
        )
        yield fixed(
            "AutoPGD",
            lambda net, r: AutoProjectedGradientDescent(
                net,
                norm=2,
                eps=r,
                eps_step=2 * r,
                max_iter=STEPS,
                nb_random_init=2,
                batch_size=rows,
                loss_type="cross_entropy",
                verbose=False,
            ),
        )
        say("ART, smallest perturbations")
        yield free("DeepFool", lambda net: DeepFool(net, max_iter=STEPS, batch_size=rows, verbose=False))
        yield free(
            "CarliniL2",
            lambda net: CarliniL2Method(
                net, max_iter=STEPS, binary_search_steps=5, learning_rate=0.05, batch_size=rows, verbose=False
            ),
        )


if __name__ == "__main__":
    main()
