"""The package's own face."""

from __future__ import annotations

import pytest

import flowsim


def test_every_public_name_is_there():
    for name in flowsim.__all__:
        # flowsim.sweep is its package, too
        assert getattr(flowsim, name).__name__.removeprefix("flowsim.") == name
    assert set(flowsim.__all__) <= set(dir(flowsim))


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        flowsim.rum  # noqa: B018


def test_every_answer_to_the_user_is_one_kind_of_error():
    for error in (flowsim.ScenarioError, flowsim.UsageError):
        assert issubclass(error, flowsim.FlowsimError)
        assert error.exit_code == 2


def test_resuming_needs_a_file(small):
    with pytest.raises(flowsim.UsageError, match="needs the file"):
        flowsim.run(small(), resume=True)
