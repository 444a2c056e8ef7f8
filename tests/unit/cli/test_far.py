"""A run on the loss clock, to times that are no floats any more, as it is shown."""

from __future__ import annotations

import json
from io import StringIO

import flowsim
from flowsim.cli.page import summary, text
from flowsim.cli.sparklines import Sheet

FAR = """
[data]
dimension = 20
positive = 2
negative = 2
samples = 40

[model]
width = 12

[loss]
kind = "exponential"

[flow]
rtol = 1e-4
until = { log10_loss = -800.0 }
"""


def test_its_phases_are_on_a_line_of_logarithms_and_its_end_has_a_number():
    for spacing in ("log", "linear"):
        tree = flowsim.run(flowsim.loads(FAR, overrides={"observe": {"times": 20, "spacing": spacing}}))
        shown = text(tree, Sheet.of(StringIO()))
        assert f"1e{float(tree['log10_time'][-1]):.6g}, log scale" in shown
        assert "to inf" not in shown
        assert " inf " not in shown
        assert f"at time 1e{float(tree['log10_time'][-1]):.6g}\n" in shown


def test_it_has_a_summary_for_machines_with_logarithms_in_place_of_what_is_no_number():
    tree = flowsim.run(flowsim.loads(FAR, overrides={"observe": {"times": 20, "spacing": "log"}}))
    found = json.loads(json.dumps(summary(tree), allow_nan=False))
    assert found["time"] is None
    assert found["log10_time"] == tree["log10_time"][-1]
    reached = {name: instant for name, instant in found["log10_phases"].items() if instant is not None}
    assert set(reached.values()) <= set(tree["log10_time"].values)
    late = [name for name, instant in reached.items() if instant > 308]
    assert late
    assert all(found["phases"][name] is None for name in late)
