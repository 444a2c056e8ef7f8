"""The shipped scenarios that go to the limit: they get there, and are seen to come from where the flow goes."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.scenario.shipped import find

#: Scenario -> (what the angle to the limit falls like: (log t)^-rate, the residual at the end, most evaluations).
#: What no sample pulls at, of a neuron with a kink, stays as it is beside weights that grow like (log t)^(1/2).
LIMITS = {
    "limits/relu_clusters": (0.5, 1e-3, 30_000),
    "limits/prelu_mixture": (1.0, 1e-4, 10_000),
}


@pytest.fixture(scope="module", params=LIMITS)
def gone(request):
    return flowsim.run(flowsim.load(find(request.param))), *LIMITS[request.param]


def test_the_residual_falls_to_the_end(gone):
    run, _, residual, evaluations = gone
    assert run.attrs["status"] == "done"
    assert run["numerics/evaluations"][-1] <= evaluations
    found = run["kkt/kkt_residual"].values
    assert found[-1] <= residual
    late = found[len(found) // 2 :]
    assert (np.diff(late) <= 0.1 * residual).all()
    # from the middle of the run to its end log t doubles
    assert late[-1] < 0.8 * late[0]


def test_the_smoothed_margin_never_falls(gone):
    smoothed = gone[0]["kkt/smoothed_margin"].values
    smoothed = smoothed[~np.isnan(smoothed)]
    assert len(smoothed) > 50
    assert (np.diff(smoothed) >= -1e-6 * smoothed[1:]).all()


def test_the_limit_is_the_flow_s_own(gone):
    run, rate, _, _ = gone
    limit = run["limit"]
    assert limit.attrs["found"] == 1
    assert limit["residual"] < 1e-8
    assert limit.attrs["verdict"].startswith("the flow's own limit")
    log_time, angle = run["snapshot_log10_time"].values, limit["angle"].values
    late = log_time > 0.25 * log_time[-1]
    slope = np.polyfit(np.log(log_time[late]), np.log(angle[late]), 1)[0]
    assert slope == pytest.approx(-rate, abs=0.1)
