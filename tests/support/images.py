"""Scenarios of tiny sets of images, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.errors import ScenarioError


def scenario(place: Path, kind: str = "idx", /, width: int = 40, **keys) -> flowsim.Scenario:
    changes = {f"data.{key}": value for key, value in keys.items()}
    by_cluster = {"loss.kind": "cross_entropy"} if keys.get("supervision") == "cluster" else {}
    text = f'[data]\nkind = "{kind}"\n[model]\nwidth = {width}\n'
    return flowsim.loads(text, name="a.toml", folder=place, overrides=changes | by_cluster)


def build(*given, **keys) -> flowsim.Problem:
    return flowsim.build(scenario(*given, **keys))


def wrong(*given, **keys) -> tuple[str, str]:
    """(key, message) of the one thing that is wrong."""
    with pytest.raises(ScenarioError) as caught:
        build(*given, **keys)
    (issue,) = caught.value.issues
    assert issue.place
    return issue.key, issue.message
