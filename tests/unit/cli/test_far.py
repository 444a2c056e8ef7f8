"""A run on the loss clock, to times that are no floats any more, as it is shown."""

from __future__ import annotations

from io import StringIO

import flowsim
from flowsim.cli.glance import Sheet
from flowsim.cli.page import text

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
