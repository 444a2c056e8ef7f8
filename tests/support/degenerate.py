"""Data and neurons on which events of the Clarke flow coincide, touch without crossing, or leave a choice, and what the
exact flow does there.

Conventions. Balanced neurons (|v| = |w|), s the sign of v. pull_i = -(weight of sample i) l'(0, y_i) is what a sample
pulls with while the outputs are negligible (scale -> 0): y_i/n for the square and exponential loss with reduction
"mean", y_i/(2n) for the logistic loss. In that phase  w' = s |w| sum_i gate_i pull_i x_i,  so that

    w moves on a straight line at constant speed in the clock  d sigma = |w| dt  as long as no gate changes, and
    |w|^2 = A sigma^2 + 2 B sigma + D  gives  sigma(t) = (Delta sinh(sqrt(A) t + asinh(B/Delta)) - B)/A,
    Delta^2 = A D - B^2.                                                                                    (clock)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import flowsim
from flowsim import Problem
from flowsim.arrays import Floats
from flowsim.kinds.samples import Samples
from flowsim.problem.weights import Weights


def problem_on(
    inputs: Floats, targets: Floats, hidden: Floats, signs: Floats, loss: str = "square", bias: bool = False
) -> Problem:
    """A ReLU problem on these samples (n, d), reduction "mean", with balanced neurons of these weights (m, d + bias)."""
    text = f'model.activation = "relu"\nmodel.bias = {str(bias).lower()}\nloss.kind = "{loss}"'
    problem = flowsim.build(flowsim.loads(text))
    count, features = inputs.shape
    norm = np.linalg.norm(hidden, axis=1)
    unknown = np.full(count, -1)
    return replace(
        problem,
        samples=Samples.supervised(
            "class",
            inputs=inputs,
            label=targets,
            sample_cluster=unknown,
            centers=np.zeros((0, features)),
            cluster_label=np.zeros(0, dtype=np.int64),
        ),
        weights=Weights.exactly(hidden / norm[:, None], np.log(norm), signs, np.log(norm), bias=bias),
        sample_weight=np.full(count, 1 / count),
    )


# --- samples (inputs (n, d), targets (n,)) ---------------------------------------------------------------------------


def opposite(first: float, second: float) -> tuple[Floats, Floats]:
    """x and -x with targets `first`, `second`: both gates of a neuron change at the same instant, in opposite senses.

    A neuron sees the rates P = pull_1 |x| s on the side of x and N = -pull_2 |x| s on the other (see `line_alignment`):
    equal targets that match s repel it from the boundary <w, x> = 0, equal ones that oppose s bring it there in finite
    time and hold it with w = its part across x and v constant; x's gate is then pull_2/(pull_1 + pull_2), -x's the rest
    (as independent gates they are not unique, the motion is). Targets +1 and -1 make P = N: it crosses at constant
    speed in the clock, as if there were no kink.
    """
    return np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]]), np.array([first, second])


def duplicated(targets: Floats) -> tuple[Floats, Floats]:
    """One sample many times, and one other across it of target 1.

    Equal targets: the flow of one sample of the summed weight (the exact reduction merges them). Targets that sum to 0,
    square loss: that of one sample of target 0 and the summed weight; pulls on a tiny network cancel exactly, so its
    neurons cross that boundary without noticing it.
    """
    return np.array([[1.0, 0.5, 0.0]] * len(targets) + [[-0.5, 1.0, 0.0]]), np.append(targets, 1.0)


def collinear(targets: Floats, multiples: Floats) -> tuple[Floats, Floats]:
    """Multiples a_i of one unit vector e: every boundary is <w, e> = 0, all gates of a neuron change at once.

    `line_alignment` with P = s sum of a_i pull_i over a_i > 0 and N the same over a_i < 0.
    """
    return np.outer(multiples, [0.6, 0.8, 0.0]), np.asarray(targets, dtype=float)


def on_a_line(features: int = 1) -> tuple[Floats, Floats]:
    """Points on a line, for a network with a bias: rank 2 with five boundaries, <x_i, x_k> + 1 of both signs.

    A neuron on two of the boundaries is on all five, at the origin of the plane that the samples span: the Gram matrix
    of its sliding samples then has rank 2. With one feature that is the neuron 0, which no neuron reaches. With more, a
    neuron that slides along one boundary gets to the origin in finite time from an open set of starts, as nothing moves
    its part outside the plane; and there the flow is not unique: it may rest, for next to it lies a cone in which no
    sample is active, or leave along another boundary. Starts 0.1 * default_rng(0).standard_normal((8, 4)) with signs
    1, -1, 1, ... and the square loss: neuron 5 gets there at t = 0.7086; the loss falls by the square of the shortest
    subgradient whichever way it takes. Compare runs before that, or losses' rates. No closed form.
    """
    return np.outer([-2.0, -1.0, 0.0, 1.0, 3.0], np.eye(features)[0]), np.array([1.0, -1.0, 1.0, 1.0, -1.0])


def orthonormal(labels: Floats) -> tuple[Floats, Floats]:
    """One noise-free sample on each of the first axes of len(labels) + 1 dimensions; see `orthonormal_alignment`."""
    return np.eye(len(labels), len(labels) + 1), np.asarray(labels, dtype=float)


def at_a_boundary(target: float, lean: float) -> tuple[Floats, Floats]:
    """a = (1, 0) with this target and b = (lean, 1) with target 1, for a neuron s = +1 that starts at (0, |w|), exactly
    on the boundary of a. While tiny, <w, a>' = |w| (lean + gate target)/2:

    target +1, lean > 0: it leaves for the active side.          target -1, lean < 0: for the inactive side.
    target -1, 0 < lean < 1: it slides, see `sliding_logistic`.
    target +1, -1 < lean < 0: a repelling kink. The flow is not unique; with flowsim's derivative 0 at 0 it leaves for
    the inactive side. Then, on either side that leaves, w is a straight line in the clock.

    A user gets such starts from `init.shape = "nudged"` with `nudge = 1` on orthonormal centres along the axes without
    noise, where every neuron is on the boundaries of all clusters but its own: opposing ones stay at 0, and so, by the
    convention, do matching ones, for which leaving 0 would be a solution as well.
    """
    return np.array([[1.0, 0.0], [lean, 1.0]]), np.array([target, 1.0])


# --- closed forms ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clock:
    """sigma(t) of a neuron at `start` (d,) that moves along `force` (d,): see (clock) in the module's docstring."""

    start: Floats
    force: Floats

    def sigma(self, time: Floats) -> Floats:
        square, middle, delta = self._quadratic()
        root = np.sqrt(square)
        if square == 0:
            return np.sqrt(self.start @ self.start) * time
        if delta == 0:
            return middle / square * np.expm1(np.sign(middle) * root * time)
        return (delta * np.sinh(root * time + np.arcsinh(middle / delta)) - middle) / square

    def time(self, sigma: float) -> float:
        square, middle, delta = self._quadratic()
        if square == 0:
            return sigma / float(np.linalg.norm(self.start))
        if delta == 0:
            return float(np.sign(middle) * np.log1p(square * sigma / middle) / np.sqrt(square))
        return float((np.arcsinh((square * sigma + middle) / delta) - np.arcsinh(middle / delta)) / np.sqrt(square))

    def _quadratic(self) -> tuple[float, float, float]:
        square, middle = float(self.force @ self.force), float(self.force @ self.start)
        across = self.start * square - self.force * middle
        return square, middle, float(np.linalg.norm(across)) / np.sqrt(square) if square else 0.0


def orthonormal_alignment(start: Floats, matching: Floats, rate: float, times: Floats) -> tuple[Floats, Floats]:
    """(weights (times, d), instants (K,)) of a neuron from `start` (d,) with orthonormal samples on the first K axes.

    matching (K,): s y_k, +1 or -1. rate: |pull_k|, 1/K for the square loss. Matching entries above 0 grow by rate times
    sigma, opposing ones above 0 fall by as much, reach 0 and stay there; the others never move. So active matching
    cosines tend to one another, and the first opposing one is 0 at

        T = (asinh((A c + B)/Delta) - asinh(B/Delta))/(rate sqrt(A)),

    c the smallest opposing positive entry, A the number of positive entries, B the sum of the matching positive ones less
    that of the opposing ones, Delta^2 = A |w(0)|^2 - B^2; after it the same again without that entry. instants holds the
    times at which opposing entries reach 0, inf where they do not.
    """
    count = len(matching)
    weights, instants = np.empty((len(times), len(start))), np.full(count, np.inf)
    now, here = 0.0, np.array(start, dtype=float)
    while True:
        force = np.zeros_like(here)
        force[:count] = rate * matching * (here[:count] > 0)
        clock, falling = Clock(here, force), np.flatnonzero(force < 0)
        later = times >= now
        weights[later] = here + np.outer(clock.sigma(times[later] - now), force)
        if not len(falling):
            return weights, instants
        first = falling[np.argmin(here[falling])]
        sigma = here[first] / rate
        instants[first] = now = now + clock.time(sigma)
        here = here + sigma * force
        here[first] = 0.0


def line_alignment(along: float, across: float, up: float, down: float, times: Floats) -> Floats:
    """(times,): <w, e> of a neuron that starts with <w, e> = along != 0 and the norm `across` > 0 of the rest, where all
    samples are multiples of the unit vector e.

    <w, e>' = |w| up where <w, e> > 0 and |w| down below. With z the entry over `across`, asinh(z)' is up or down:
    z = sinh(asinh(z(0)) + up t), until it is 0 at T = -asinh(z(0))/up if along and up differ in sign. From there on it
    goes on with the other rate if up and down have one sign, and rests at 0 if up < 0 < down or one of them is 0.
    """
    rate, other = (up, down) if along > 0 else (down, up)
    angle = np.arcsinh(along / across) + rate * times
    if along * rate < 0:
        beyond = angle * along < 0
        angle[beyond] *= other / rate if other * rate > 0 else 0.0
    return across * np.sinh(angle)


def sliding_logistic(norm: float, lean: float, times: Floats) -> tuple[Floats, Floats]:
    """(|w|, gate of a) over time of the neuron that slides in `at_a_boundary(-1, lean)`, square loss, reduction "mean".

    It stays at (0, |w|), where f(a) = 0 and f(b) = z = |w|^2: z' = z (1 - z) and gate = lean (1 - z). The loss is
    ((1 - z)^2 + 1)/4.
    """
    odds = norm**2 / (1 - norm**2) * np.exp(times)
    z = odds / (1 + odds)
    return np.sqrt(z), lean * (1 - z)


#: What becomes of a neuron whose samples all lie on one line -> the samples and their targets.
ON_ONE_LINE = {
    "repelled": opposite(1.0, 1.0),
    "no kink": opposite(1.0, -1.0),
    "held": opposite(-1.0, -1.0),
    "through, slower": collinear([1.0, -1.0, 1.0, -1.0], [1.0, 0.5, -2.0, -0.7]),
    "held by four": collinear([1.0, -1.0, 1.0, -1.0], [0.2, 0.5, -1.0, -2.0]),
    "through, faster": collinear([-1.0, 1.0, 1.0], [3.0, 1.0, -0.5]),
}
