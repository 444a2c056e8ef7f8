"""Every engine is held to the same statements: a test that asks for `engine`, `small` or `scenario_of` runs for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import xarray as xr

import flowsim
from flowsim.solve.plan import SOLVERS


@pytest.fixture(scope="session", params=SOLVERS)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def small(small: Callable[..., flowsim.Scenario], engine: str) -> Callable[..., flowsim.Scenario]:
    """The small scenario of all tests, for the engine under test."""
    return lambda **overrides: small(**overrides, flow__engine=engine)


@pytest.fixture(scope="session")
def scenario_of(engine: str) -> Callable[..., flowsim.Scenario]:
    """A scenario of this text and these overrides, for the engine under test."""

    def make(text: str, overrides: dict[str, Any] | None = None) -> flowsim.Scenario:
        return flowsim.loads(text, overrides={**(overrides or {}), "flow.engine": engine})

    return make


@pytest.fixture(scope="session")
def followed(engine: str) -> Callable[[flowsim.Scenario], xr.Dataset]:
    """The trajectory of a scenario. An engine that does not follow a kink must say so, one that does must not."""

    def run(scenario: flowsim.Scenario) -> xr.Dataset:
        wary = engine == "diffrax" and scenario.model.activation == "relu"
        with pytest.warns(UserWarning, match="relu has a kink") if wary else nullcontext():
            return flowsim.run(scenario).dataset

    return run
