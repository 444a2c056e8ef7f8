"""What is kept of a run: the variables that the problem has, in an amount that can be kept."""

from __future__ import annotations

import numpy as np
import pytest

import flowsim
from flowsim.observe import NUMERICS, OBSERVABLES, Selection, recorder
from flowsim.run.prepare import Prepared
from flowsim.solve import Passed

TABLE = {"x": np.eye(4), "y": np.array([0.5, 1.0, -1.0, 2.0])}


def select(scenario, setting_of) -> Selection:
    return Selection.of(scenario, setting_of(scenario))


def names(scenario, setting_of) -> set[str]:
    return {observable.name for observable in select(scenario, setting_of).observables}


#: What only a network with a kink has.
KINK = {"gate", "sliding_pairs"}
#: What only a network with an output for every cluster has.
CLASSES = {"binary_accuracy", "binary_accuracy_outputs"}
#: What exists only where samples are held out.
HELD_OUT = {"test_loss", "log10_test_loss", "test_accuracy"}
#: What exists only where points are asked for.
PROBES = {"probe_output"}
#: What exists only where label noise flipped a label.
NOISY = {"clean_accuracy", "noisy_accuracy"}
#: What only the loss of a margin has; the default is square.
MARGINS = {name for name, observable in OBSERVABLES.items() if observable.group == "kkt"}
#: What is kept only where it is named.
ON_REQUEST = {name for name, observable in OBSERVABLES.items() if observable.on_request}


def test_by_default_everything_is_kept_but_companions(small, setting_of):
    companions = {"log_output_weight", "log_cluster_mass", "log_void_mass"}
    assert (
        names(small(), setting_of)
        == set(OBSERVABLES) - KINK - NOISY - HELD_OUT - PROBES - CLASSES - MARGINS - ON_REQUEST - companions
    )


def test_what_is_held_out_is_kept_by_default_where_there_is_any(small, setting_of):
    scenario = small(data__test={"samples": 5})
    assert names(scenario, setting_of) - names(small(), setting_of) == HELD_OUT


def test_where_squared_norms_would_underflow_their_logarithms_are_kept_too(small, setting_of):
    absent = KINK | NOISY | HELD_OUT | PROBES | CLASSES | MARGINS | ON_REQUEST
    assert names(small(init__scale=1e-300), setting_of) == set(OBSERVABLES) - absent


def test_the_margin_s_certificates_are_kept_of_losses_of_margins_but_not_of_ensembles(small, setting_of):
    assert names(small(loss__kind="logistic"), setting_of) >= MARGINS - ON_REQUEST
    ensemble = small(loss__kind="logistic", seed=[0, 1])
    kept = {observable.name for observable in Selection.of(ensemble, setting_of(ensemble.members[0])).observables}
    assert not kept & MARGINS


@pytest.mark.parametrize(("fraction", "kept"), [(0.01, set()), (0.5, NOISY), (1.0, {"noisy_accuracy"})])
def test_accuracy_is_split_where_labels_were_flipped(small, setting_of, fraction, kept):
    # of 24 labels, a hundredth is none
    assert names(small(data__label_noise=fraction), setting_of) & NOISY == kept


@pytest.mark.parametrize("engine", ["numba", "diffrax"])
def test_sliding_pairs_are_kept_where_the_engine_follows_them_and_gates_where_they_are_named(small, engine):
    scenario = small(model={"activation": "relu", "width": 6}, flow__engine=engine)
    kept = {observable.name for observable in Prepared(scenario).selection.observables}
    assert kept & KINK == ({"sliding_pairs"} if engine == "numba" else set())
    named = small(
        model={"activation": "relu", "width": 6}, flow__engine=engine, observe__variables=["gate", "sliding_pairs"]
    )
    if engine == "numba":
        assert set(Prepared(named).selection.shapes.items()) == {("gate", (6, 24)), ("sliding_pairs", ())}
    else:
        with pytest.raises(flowsim.ScenarioError, match='"sliding_pairs" does not exist for this problem'):
            Prepared(named)


def test_a_smooth_network_has_no_gates(small, setting_of):
    with pytest.raises(flowsim.ScenarioError, match='"gate" does not exist for this problem'):
        select(small(observe__variables=["gate"]), setting_of)


@pytest.mark.parametrize(
    ("overrides", "absent"),
    [
        ({"model": {"activation": "tanh"}}, {"balance_drift"}),
        ({"model": {"output": "fixed", "output_weight": 1.0}}, {"balance_drift"}),
    ],
)
def test_balance_is_observed_only_where_it_is_conserved(small, setting_of, overrides, absent):
    assert names(small(), setting_of) - names(small(**overrides), setting_of) == absent


def test_real_targets_have_no_accuracy_and_unknown_clusters_no_cosines(on_table, setting_of):
    kept = names(on_table(TABLE), setting_of)
    assert kept == {"log_norm", "output_weight", "loss", "log10_loss", "margin", "loss_derivative", "balance_drift"}


def test_variables_are_kept_in_the_order_in_which_they_are_named(small, setting_of):
    scenario = small(observe__variables=["margin", "log_void_mass", "loss"])
    assert [item.name for item in select(scenario, setting_of).observables] == ["margin", "log_void_mass", "loss"]


def test_a_variable_named_twice_is_refused_or_kept_once(small, setting_of):
    try:
        scenario = small(observe__variables=["loss", "loss"])
    except flowsim.ScenarioError:
        return
    assert [item.name for item in select(scenario, setting_of).observables] == ["loss"]


def test_a_variable_that_the_problem_does_not_have_is_refused_at_its_place(on_table, setting_of):
    scenario = on_table(TABLE)
    text = scenario.source.text + '[observe]\nvariables = [\n  "loss",\n  "cosine",\n  "accuracy",\n]\n'
    scenario = flowsim.loads(text, name="a.toml", folder=scenario.source.folder)
    with pytest.raises(flowsim.ScenarioError) as caught:
        select(scenario, setting_of)
    line = text.splitlines().index('  "cosine",') + 1
    assert [(issue.place, issue.key) for issue in caught.value.issues] == [
        (f"a.toml:{line}", "observe.variables[1]"),
        (f"a.toml:{line + 1}", "observe.variables[2]"),
    ]
    assert 'cosine" does not exist for this problem; it has log_norm, ' in str(caught.value)


def test_per_sample_variables_past_the_limit_are_summarised(small, setting_of, monkeypatch):
    # 11 instants of 24 samples
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 11 * 24)
    assert select(small(), setting_of).summarised == set()
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 11 * 24 - 1)
    assert select(small(), setting_of).summarised == {"margin", "loss_derivative"}
    assert select(small(observe__variables=["loss", "margin"]), setting_of).summarised == {"margin"}


def test_with_an_open_end_twice_the_instants_are_reckoned_with(small, setting_of):
    closed, opened = small(observe__snapshots="none"), small(observe__snapshots="none", flow__until={"loss": 0.1})
    assert select(opened, setting_of).bytes == 2 * select(closed, setting_of).bytes


@pytest.mark.parametrize("summarised", [False, True])
@pytest.mark.parametrize("snapshots", ["none", "ends", "all", 5])
def test_the_size_foretold_is_the_size_kept(small, recorder_of, moved, report_at, monkeypatch, snapshots, summarised):
    if summarised:
        monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 0)
    filled = recorder_of(small(observe__snapshots=snapshots))
    for time in range(11):
        filled.keep(Passed.of([(moved(filled.setting, time), report_at(time))]))
    kept = filled.trajectory(complete=True)
    size = sum(values.nbytes for values in kept.variables.values()) + kept.direction.nbytes
    assert size == filled.selection.bytes


def test_the_members_of_an_ensemble_are_all_reckoned_with(small, setting_of, monkeypatch):
    alone, setting = small(), setting_of(small())
    size = Selection.of(alone, setting).bytes
    # where a member stops is one instant more, of one instant's size
    one_instant = Selection.of(small(observe__times=12), setting).bytes - size
    assert Selection.of(small(seed=[0, 1, 2]), setting).bytes == 3 * (size + one_instant)
    # 3 members of 11 instants of 24 samples; a goal beside the time does not open their grid
    members = small(seed=[0, 1, 2], flow__until={"time": 30.0, "loss": 0.1})
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 3 * 11 * 24)
    assert Selection.of(members, setting).summarised == set()
    monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 3 * 11 * 24 - 1)
    assert Selection.of(members, setting).summarised == {"margin", "loss_derivative"}
    assert Selection.of(alone, setting).summarised == set()


@pytest.mark.parametrize("summarised", [False, True])
@pytest.mark.parametrize("snapshots", ["none", "ends", "all", 5])
def test_the_size_foretold_is_that_of_the_ensemble(small, monkeypatch, snapshots, summarised):
    if summarised:
        monkeypatch.setattr(recorder, "PER_SAMPLE_LIMIT", 0)
    scenario = small(seed=[0, 1], observe__snapshots=snapshots, flow__until={"time": 1.0})
    tree, foretold = flowsim.run(scenario), Prepared(scenario).selection.bytes
    observed = [
        *tree.to_dataset().data_vars.values(),
        *tree["final"].to_dataset().drop_vars(NUMERICS).data_vars.values(),
    ]
    assert sum(variable.nbytes for variable in observed) == foretold


def test_a_run_that_would_keep_too_much_is_refused_before_it_starts(small, setting_of, monkeypatch):
    size = select(small(), setting_of).bytes
    monkeypatch.setenv("FLOWSIM_LIMITS", f"kept={size}")
    assert select(small(), setting_of).bytes == size
    monkeypatch.setenv("FLOWSIM_LIMITS", f"kept={size - 1}")
    with pytest.raises(flowsim.ScenarioError, match=r"observe\.times: .*lower observe\.times"):
        select(small(), setting_of)


def test_a_billion_instants_are_refused(small, setting_of):
    with pytest.raises(flowsim.ScenarioError, match="GiB"):
        select(small(observe__times=10**9), setting_of)
