"""The network's outputs at points of the user's."""

from __future__ import annotations

from ...arrays import Floats
from ..instant import Instant, Setting
from ..observable import observable


def has_probes(setting: Setting) -> bool:
    return setting.probes is not None


@observable(
    "probe_output",
    ("output", "probe"),
    "output of the network at the probe",
    has_probes,
    needs="points, from observe.probes or observe.grid",
    any_network=True,
)
def probe_output(instant: Instant) -> Floats:
    probes = instant.setting.probes
    assert probes is not None
    return instant.outputs_at(probes)
