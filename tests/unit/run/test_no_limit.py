"""A run that was to find its limit and ended before its goal says in its file why there is none."""

from __future__ import annotations

import flowsim
from flowsim.cli.page import _towards_limit


def test_the_reason_stands_in_the_group(small):
    tree = flowsim.run(
        small(loss__kind="exponential", flow__until={"log10_loss": -50.0, "steps": 3}, evaluate__limit=True)
    )
    assert tree.attrs["status"] == "step_limit"
    limit = tree["limit"]
    assert limit.attrs["found"] == 0
    assert "step_limit" in limit.attrs["verdict"]
    assert tree.attrs["status_cause"] in limit.attrs["verdict"]
    assert any(limit.attrs["verdict"] in line for line in _towards_limit(tree))
