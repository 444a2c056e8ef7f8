"""How many devices share the samples of a run, and how many samples one of them looks at at once."""

from __future__ import annotations

from dataclasses import dataclass

from ..gate import size
from ..problem import Reduced
from ..processes import alone, count, devices
from ..scenario import Scenario

#: Bytes that what an evaluation makes of samples may take on a device, unless `flow.block` says otherwise.
BUDGET = 2**28
#: Of neurons, how many arrays as large as the pre-activations are there at once: these, responses, slopes, pulls.
COPIES = 4
#: Of other networks, how often what is between inputs and outputs is there: forwards, and backwards.
WAYS = 2
FLOAT = 8


@dataclass(frozen=True)
class Shares:
    """devices: that share the samples. each: how many samples one has, those of weight 0 included that make them even.
    block: how many of these it looks at at once; None for all. bytes: what a device takes, for its samples and for what an
    evaluation makes of them."""

    devices: int = 1
    each: int = 0
    block: int | None = None
    bytes: int = 0

    @property
    def reasons(self) -> tuple[str, ...]:
        """A sentence for each of devices and blocks, where there are several."""
        found = []
        if self.devices > 1:
            found.append(f"devices {self.devices}: {self.each} samples on each, {size(self.bytes)} of memory")
        if self.block is not None:
            parts = -(-self.each // self.block)
            found.append(f"block {self.block}: a device looks at its {self.each} samples in {parts} parts")
        return tuple(found)


#: All samples at once, on one device or none.
UNSHARED = Shares()


def check_processes(scenario: Scenario) -> None:
    """Raise ScenarioError where several processes would run what one alone can."""
    if alone():
        return
    together = f"{count()} processes run this together"
    if scenario.is_ensemble:
        raise scenario.error(("seed", f"{together}; the members of an ensemble are run by one"))
    if scenario.flow.descends:
        raise scenario.error(("flow.method", f"{together}, which only a gradient_flow can be; descent is run by one"))
    if scenario.flow.devices not in ("all", devices()):
        raise scenario.error(("flow.devices", f'{together}, with {devices()} devices; use "all"'))


def shares(scenario: Scenario, reduced: Reduced) -> Shares:
    """Of a flow on the engine diffrax. Raises ScenarioError where there are not so many devices, or samples."""
    flow, samples = scenario.flow, len(reduced.targets)
    used = 1
    if flow.devices != 1:
        there = devices()
        used = there if flow.devices == "all" else flow.devices
        if used > there:
            wrong = f'{used}, but JAX has {there} here; "all" takes those that are there'
            raise scenario.error(("flow.devices", wrong))
        if used > samples:
            raise scenario.error(("flow.devices", f"{used} devices for {samples} samples; at most one for each"))
    each, of_one = -(-samples // used), bytes_of_one(reduced)
    block = max(BUDGET // of_one, 1) if flow.block == "auto" else flow.block
    at_once = min(each, block)
    data = FLOAT * each * (reduced.stored.shape[1] + 2)
    return Shares(used, each, block if block < each else None, data + at_once * of_one)


def bytes_of_one(reduced: Reduced) -> int:
    """What an evaluation makes of one sample takes."""
    network = reduced.problem.network
    if network is None:
        return FLOAT * COPIES * max(len(reduced.direction), 1)
    from ..kinds.trees import entries_of_one  # with JAX, which other networks do without

    return FLOAT * WAYS * max(entries_of_one(network), 1)
