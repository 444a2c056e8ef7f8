"""Gradient descent in a few lines of NumPy, recorded as a run is, so that claims about iterations have something to see."""

from __future__ import annotations

import numpy as np
import xarray as xr

import flowsim
from flowsim.arrays import Floats
from flowsim.observe import Recorder, Selection, Setting
from flowsim.papers import Evidence
from flowsim.problem import reduce
from flowsim.results import layout
from flowsim.solve import Passed, Report, Snapshot


def descended(scenario: flowsim.Scenario, step: float, iterations: int, also: tuple[str, ...] = ()) -> Evidence:
    """w <- w - step * gradient for a ReLU network with fixed output weights, ReLU'(0) = 1, every iteration kept."""
    problem = flowsim.build(scenario)
    setting = Setting(reduce(problem))
    recorder = Recorder(scenario, setting, Selection.of(scenario, setting, also))
    inputs = np.column_stack([problem.inputs, np.full(len(problem.inputs), float(problem.bias))])
    weights = np.column_stack([problem.hidden, problem.hidden_bias])
    for iteration in range(iterations + 1):
        norm = np.linalg.norm(weights, axis=1)
        unit = weights / norm[:, None]
        direction = setting.reduced.lower(unit[:, :-1], unit[:, -1])
        signs = problem.weights.output_sign, problem.weights.output_log
        report = Report(step * iteration, step, iteration, 0, iteration, "", False, True)
        recorder.keep(Passed.of([(Snapshot(step * iteration, direction, np.log(norm), *signs), report)]))
        weights = weights - step * gradient(problem, inputs, weights)
    root = layout.root(recorder.trajectory(complete=False), layout.coordinates(setting), problem)
    return Evidence(scenario, setting, root, step)


def gradient(problem: flowsim.Problem, inputs: Floats, weights: Floats) -> Floats:
    """(m, d + 1) of the training loss in the weights, biases last"""
    pre = inputs @ weights.T
    outputs = np.maximum(pre, 0) @ problem.output
    pull = problem.sample_weight * problem.loss.derivative(outputs, problem.targets, np)
    return ((pre >= 0) * pull[:, None] * problem.output).T @ inputs


def group(found: xr.Dataset) -> dict[str, tuple[str, float]]:
    """claim -> (verdict, measured value)"""
    return {
        str(name): (str(found["verdict"].values[row]), float(found["measured"][row]))
        for row, name in enumerate(found["claim"].values)
    }


def keeping(found: xr.Dataset) -> set[str]:
    """The claims whose number keeps its bound, whether or not the premises are met"""
    sign = np.array([-1.0 if str(told).startswith("at least") else 1.0 for told in found["prediction"].values])
    kept = sign * found["measured"].values <= sign * found["bound"].values
    return {str(name) for name in found["claim"].values[kept]}
