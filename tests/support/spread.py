"""The field of a small problem with samples spread over devices and looked at in blocks, beside all of them at once; run by
itself, on four devices of the processor, it prints how far they are apart."""

from __future__ import annotations

import json
from typing import Any

import jax
import numpy as np

import flowsim
from flowsim.problem import reduce
from flowsim.solve import choose
from flowsim.solve.diffrax.integrator import DiffraxIntegrator
from flowsim.solve.diffrax.stepper import Stepper

#: No number of devices or of samples in a block divides it.
SAMPLES = 23
SMALL = {
    "data": {"samples": SAMPLES, "dimension": 9, "balanced": False},
    "model": {"width": 8},
    "init": {"scale": 0.5},
    "flow": {"engine": "diffrax", "until": {"time": 2.0}},
    "observe": {"times": 3},
}
LOSS_CLOCK = {"loss.kind": "logistic", "flow.until": {"log10_loss": -3.0}}
KINDS: dict[str, dict[str, Any]] = {
    "polar": {},
    "loss clock": LOSS_CLOCK,
    "several outputs": {"loss.kind": "cross_entropy", "data.supervision": "cluster"},
    "not homogeneous": {"model.activation": "tanh"},
    "of a tree": {"model": {"kind": "mlp", "widths": [6, 5], "activation": "relu"}, **LOSS_CLOCK, "flow.clock": "loss"},
}


def apart(kind: str, **shared: Any) -> float:
    """The largest difference of field, outputs or loss at the start, relative to the largest entry of each."""
    found = [_seen(flowsim.Scenario(SMALL).replace({**KINDS[kind], **by})) for by in ({}, shared)]
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in zip(*found, strict=True))


def _seen(scenario: flowsim.Scenario) -> list[np.ndarray]:
    """Every array of the field, outputs over the samples, log of the loss."""
    reduced = reduce(flowsim.build(scenario))
    integrator = DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))
    coordinates, constants = integrator._later.coordinates, integrator._constants

    @jax.jit
    def see(state: Any, constants: Any) -> Any:
        outputs = coordinates.outputs(state, constants)
        return coordinates.field(state, constants), outputs, coordinates.network.log_loss(outputs, constants.data)

    with jax.enable_x64(True):
        velocity, outputs, log_loss = see(integrator._start, constants)
        real = np.asarray(constants.data.weight) > 0
    assert real.sum() == SAMPLES
    moved = [np.asarray(array) for array in jax.tree.leaves(velocity) if array.size]
    return [*moved, np.asarray(outputs)[..., real], np.asarray(log_loss)]


def programs() -> int:
    """How many programs a run on all devices has that goes on from chunk to chunk."""
    scenario = flowsim.Scenario(SMALL).replace({"flow.devices": "all", "flow.solver": "tsit5"})
    reduced = reduce(flowsim.build(scenario))
    integrator = DiffraxIntegrator(scenario, reduced, choose(scenario, reduced))
    carry = integrator.begin()
    for end in (0.1, 0.2, 0.3):
        with jax.transfer_guard("disallow"):
            carry = integrator.advance(carry, end, 5)
    return Stepper.advance._cache_size()


def main() -> None:
    found: dict[str, Any] = {"devices": jax.device_count(), "programs": programs()}
    for kind, shared in {"loss clock": {"flow.block": 4}, "of a tree": {}}.items():
        found[kind] = apart(kind, **{"flow.devices": 4, **shared})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
