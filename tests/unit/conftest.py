"""What unit tests share: scenarios on a table of one's own, a recorder to fill by hand, and one finished run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flowsim
from flowsim.observe import Recorder, Selection, Setting
from flowsim.problem import reduce
from flowsim.solve import Report, Snapshot


@pytest.fixture
def on_table(tmp_path: Path) -> Callable[..., flowsim.Scenario]:
    """A scenario whose data are these arrays; keyword `loss__kind="logistic"` overrides the key `loss.kind`."""

    def make(arrays: dict[str, Any], **overrides: Any) -> flowsim.Scenario:
        np.savez(tmp_path / "table.npz", **arrays)
        return flowsim.loads(
            '[data]\nkind = "table"\npath = "table.npz"\n[model]\nwidth = 5\n',
            name="a.toml",
            folder=tmp_path,
            overrides={key.replace("__", "."): value for key, value in overrides.items()},
        )

    return make


@pytest.fixture(scope="session")
def setting_of() -> Callable[[flowsim.Scenario], Setting]:
    return lambda scenario: Setting(reduce(flowsim.build(scenario)))


@pytest.fixture(scope="session")
def recorder_of(setting_of: Callable[[flowsim.Scenario], Setting]) -> Callable[[flowsim.Scenario], Recorder]:
    def make(scenario: flowsim.Scenario) -> Recorder:
        setting = setting_of(scenario)
        return Recorder(scenario, setting, Selection.of(scenario, setting))

    return make


@pytest.fixture(scope="session")
def moved() -> Callable[[Setting, float], Snapshot]:
    """The start of a problem, each neuron turned and grown a little by a made-up flow, without any engine."""

    def make(setting: Setting, time: float) -> Snapshot:
        weights, reduced = setting.problem.weights, setting.reduced
        direction = reduced.direction + 0.1 * time * np.cos(np.arange(reduced.direction.size)).reshape(
            reduced.direction.shape
        )
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return Snapshot(time, direction, weights.log_norm + time, weights.output_sign, weights.output_log + 0.9 * time)

    return make


@pytest.fixture(scope="session")
def report_at() -> Callable[..., Report]:
    """A report of a run in good order; keywords replace its fields."""

    def make(time: float, **fields: Any) -> Report:
        usual = {"step_size": 0.5, "steps": 2, "rejections": 1, "evaluations": 9, "reached": ""}
        return Report(time=time, **{**usual, "stalled": False, "finite": True, **fields})

    return make


@pytest.fixture(scope="session")
def result(small: Callable[..., flowsim.Scenario], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a finished run, all its weights kept."""
    file = tmp_path_factory.mktemp("result") / "run.nc"
    flowsim.run(small(observe__snapshots="all", title="a run"), file)
    return file
