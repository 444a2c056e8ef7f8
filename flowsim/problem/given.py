"""From arrays in memory to a scenario that has them with it."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..kinds.data import DATA
from ..kinds.in_memory import Data
from ..kinds.inits import INITS
from ..kinds.registry import Registry
from ..kinds.section import Section
from ..scenario import Scenario
from ..scenario.arrays import Attached, outside
from .weights import Weights


def with_given(scenario: Scenario, data: object, init: object) -> Scenario:
    """The scenario on these data, from these weights, itself where both are None. Raises ScenarioError where what it asks
    for is not for such data or weights."""
    changes: dict[str, Any] = {}
    arrays = {}
    if data is not None:
        if not isinstance(data, Data):
            raise UsageError(f"data is a flowsim.Data, not {type(data).__name__}")
        section = scenario.said().get("data", {}) if scenario.data.takes_arrays else {}
        other = {"path"} if data.test is None else {"path", "test"}
        kept = {key: value for key, value in section.items() if key not in other}
        changes["data"] = {**kept, "kind": _taking(DATA), "supervision": scenario.data.supervision}
        arrays["data"] = data.arrays()
    if init is not None:
        if not isinstance(init, Weights):
            others = "flowsim.weights takes those of a result"
            raise UsageError(f"init is a flowsim.Weights, not {type(init).__name__}; {others}")
        changes["init"] = {"shape": _taking(INITS)}
        changes |= _sizes(scenario, init)
        arrays["init"] = init.arrays()
    if not changes:
        return scenario
    # the arrays are there before the values are held to the rules, which ask for them
    sections: dict[str, type[Section]] = {"data": DATA[_taking(DATA)], "init": INITS[_taking(INITS)]}
    attached = {
        name: Attached(outside(sections[name].model_validate(changes[name])), values) for name, values in arrays.items()
    }
    return scenario.holding(attached).replace(changes)


def _taking(kinds: Registry[Any]) -> str:
    """The kind that takes arrays in memory."""
    return next(name for name, kind in kinds.items() if kind.takes_arrays)


def _sizes(scenario: Scenario, init: Weights) -> dict[str, Any]:
    """Keys of the model that follow from the weights where the scenario does not say them."""
    model, said = scenario.model, scenario.said().get("model", {})
    neurons = len(init.log_norm)
    found: dict[str, Any] = {}
    if model.layered:
        if not {"width", "widths", "depth"} & said.keys():
            found["model.widths"] = [neurons, *(len(matrix) for matrix in init.leaves[:-1])]
    elif hasattr(model, "width"):
        if "width" not in said:
            found["model.width"] = neurons
        elif model.width != neurons:
            wrong = f"{model.width}, but the weights are of {neurons} neurons; leave it out"
            raise scenario.error(("model.width", wrong))
    if init.bias and "bias" in type(model).model_fields and "bias" not in said:
        found["model.bias"] = True
    return found
