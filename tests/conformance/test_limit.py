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


#: Of an angle, what it may be off by without its power of the time being so.
RESOLVED = 0.02


@pytest.fixture(scope="module", params=LIMITS)
def gone(request):
    return flowsim.run(flowsim.load(find(request.param))), *LIMITS[request.param]


def test_a_scenario_as_it_is_shipped_gets_to_its_limit(gone):
    run, _, residual, evaluations = gone
    assert run.attrs["status"] == "done"
    assert run["numerics/evaluations"][-1] <= evaluations
    assert run["kkt/kkt_residual"][-1] <= residual


def test_the_residual_falls_to_the_end(gone):
    run, rate, _, _ = gone
    rtol = run.attrs["rtol"]
    found, margin = run["kkt/kkt_residual"].values, -np.log(10) * run["log10_loss"].values
    middle = len(found) // 2
    late, log_time = found[middle:], run["log10_time"].values[middle:]
    # the last step may go beyond the goal, by a fifth and more
    assert rtol * margin[-1] < 0.5
    # as far as multipliers e^-margin are known
    assert (late[1:] <= late[:-1] * (1 + rtol * margin[middle + 1 :])).all()
    assert late[-1] == pytest.approx(late[0] * (log_time[-1] / log_time[0]) ** -rate, rel=0.1)


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
    # angles are known to the tolerance, and the last ones may be smaller than that of the scenario
    if (rtol := RESOLVED * float(limit["angle"].min())) < run.attrs["rtol"]:
        run = flowsim.run(flowsim.loads(run.attrs["scenario"], overrides={"flow.rtol": rtol}))
    log_time, angle = run["snapshot_log10_time"].values, run["limit/angle"].values
    late = log_time > 0.25 * log_time[-1]
    slope = np.polyfit(np.log(log_time[late]), np.log(angle[late]), 1)[0]
    assert slope == pytest.approx(-rate, abs=0.1)
