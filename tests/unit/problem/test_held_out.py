"""Samples that are not trained on: split off, from a file of their own, or drawn anew."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from support.checkpoints import at_every_chance

import flowsim
from flowsim.cli import main
from flowsim.errors import ScenarioError, UsageError
from flowsim.problem import fresh
from flowsim.results import layout, write

RANDOM = np.random.default_rng(0)
LABEL = np.where(np.arange(20) % 2 == 0, 1.0, -1.0)
TABLE = {
    "x": RANDOM.standard_normal((20, 30)) + LABEL[:, None],
    "y": LABEL,
    "cluster": np.arange(20) % 4,
}
OTHER = {"x": RANDOM.standard_normal((6, 30)), "y": LABEL[:6], "cluster": np.array([3, 2, 1, 0, 0, 1])}


def rows_in(table: np.ndarray, some: np.ndarray) -> list[int]:
    """The rows of a table that some samples are."""
    found = [np.flatnonzero((table == sample).all(axis=1)) for sample in some]
    assert all(len(places) == 1 for places in found)
    return [int(places[0]) for places in found]


@pytest.mark.parametrize(("fraction", "held_out"), [(0.2, 4), (0.24, 5), (0.001, 1), (0.999, 19)])
def test_a_fraction_of_a_table_is_split_off_and_training_has_the_rest(on_table, fraction, held_out):
    table = {name: TABLE[name] for name in ("x", "y")}
    problem = flowsim.build(on_table(table, data__test={"fraction": fraction}))
    training, test = rows_in(TABLE["x"], problem.inputs), rows_in(TABLE["x"], problem.test.inputs)
    assert len(test) == held_out
    assert sorted(training + test) == list(range(20))
    assert training == sorted(training)
    assert test == sorted(test)
    np.testing.assert_array_equal(problem.targets, LABEL[training])
    np.testing.assert_array_equal(problem.test.targets, LABEL[test])
    assert problem.test.sample_cluster.tolist() == [-1] * held_out


def test_which_samples_are_held_out_depends_on_the_seed_alone(on_table):
    def held_out(seed: int, **overrides) -> list[int]:
        problem = flowsim.build(on_table(TABLE, data__test={"fraction": 0.3}, seed=seed, **overrides))
        return rows_in(TABLE["x"], problem.test.inputs)

    assert held_out(0) == held_out(0, init__scale=0.5, model__width=9)
    assert held_out(0) != held_out(1)


def test_centres_are_the_means_of_what_is_trained_on(on_table):
    problem = flowsim.build(on_table(TABLE, data__test={"fraction": 0.3}))
    test = rows_in(TABLE["x"], problem.test.inputs)
    np.testing.assert_array_equal(problem.test.sample_cluster, TABLE["cluster"][test])
    for k in range(4):
        mean = problem.inputs[problem.sample_cluster == k].mean(axis=0)
        # means of fewer than 20 numbers of order 1, added up in another order
        np.testing.assert_allclose(problem.centers[k], mean, rtol=0, atol=100 * np.finfo(float).eps)
    assert problem.test.centers is problem.centers


def test_a_cluster_needs_samples_to_train_on_unless_its_centre_is_given(on_table):
    with pytest.raises(ScenarioError, match=r"data.test.fraction: leaves no samples of clusters \[.*\] to train on"):
        flowsim.build(on_table(TABLE, data__test={"fraction": 0.95}))
    given = {**TABLE, "centers": np.eye(4, 30)}
    assert len(flowsim.build(on_table(given, data__test={"fraction": 0.95})).targets) == 1
    with pytest.raises(ScenarioError, match=r"data.test.fraction: a single sample cannot be split"):
        flowsim.build(on_table({"x": np.eye(1, 3), "y": [1.0]}, data__test={"fraction": 0.5}))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("samples", [None, 300])
def test_digits_are_split_and_moved_together(center, samples):
    overrides = {"data.center": center, "data.test": {"fraction": 0.25}} | (
        {"data.samples": samples} if samples else {}
    )
    scenario = flowsim.loads('[data]\nkind = "digits"\n', overrides=overrides)
    problem = flowsim.build(scenario)
    count = samples or 1797
    assert (len(problem.targets), len(problem.test.targets)) == (count - round(0.25 * count), round(0.25 * count))
    assert not set(map(bytes, problem.inputs)) & set(map(bytes, problem.test.inputs))
    bound = count * np.finfo(float).eps
    assert np.linalg.norm(problem.inputs, axis=1).mean() == pytest.approx(8.0, rel=bound)
    if center:
        np.testing.assert_allclose(problem.inputs.mean(axis=0), 0, atol=8 * bound)
    else:  # pixels are whole numbers from 0 to 16, all divided by one number
        pixels = problem.test.inputs / problem.inputs[problem.inputs > 0].min()
        np.testing.assert_allclose(pixels, np.rint(pixels), rtol=0, atol=16 * bound)
    np.testing.assert_array_equal(problem.test.label, np.where(problem.test.sample_cluster % 2 == 0, 1, -1))


def test_a_file_of_its_own(on_table, tmp_path):
    np.savez(tmp_path / "test.npz", **OTHER, centers=np.full((4, 30), 7.0))
    problem = flowsim.build(on_table(TABLE, data__test={"path": "test.npz"}))
    assert len(problem.targets) == 20
    np.testing.assert_array_equal(problem.test.inputs, OTHER["x"])
    np.testing.assert_array_equal(problem.test.targets, OTHER["y"])
    np.testing.assert_array_equal(problem.test.sample_cluster, OTHER["cluster"])
    assert problem.test.centers is problem.centers  # whatever centres the file has
    by_cluster = flowsim.build(
        on_table(
            TABLE,
            data__test={"path": "test.npz"},
            data__supervision="cluster",
            loss__kind="cross_entropy",
            model__width=8,
        )
    )
    np.testing.assert_array_equal(by_cluster.test.targets, OTHER["cluster"])


def test_a_drawn_law_may_have_a_file_of_test_samples(small, tmp_path):
    file = tmp_path / "test.csv"
    file.write_text(",".join(f"f{i}" for i in range(12)) + ",y\n" + ",".join(["0.5"] * 12) + ",-1\n")
    scenario = small(data__test={"path": str(file)})
    problem = flowsim.build(scenario)
    np.testing.assert_array_equal(problem.test.inputs, np.full((1, 12), 0.5))
    assert problem.test.sample_cluster.tolist() == [-1]
    assert {*layout.data(scenario, problem)} == {"test_x", "test_y"}


@pytest.mark.parametrize(
    ("arrays", "overrides", "message"),
    [
        ({"x": np.eye(3)}, {}, "array y missing"),
        ({"x": np.eye(3), "y": np.ones(3)}, {}, "x has 3 features, the training data have 30"),
        ({**OTHER, "y": np.full(6, 0.5)}, {"loss__kind": "logistic"}, r"y must be \+1 or -1"),
        ({**OTHER, "x": np.full((6, 30), np.nan)}, {}, "not finite"),
        ({**OTHER, "cluster": np.full(6, 4)}, {}, "cluster must hold whole numbers from 0 to 3"),
        ({**OTHER, "cluster": np.zeros(2)}, {}, r"cluster has shape \(2,\)"),
        (
            {"x": OTHER["x"], "y": OTHER["y"]},
            {"data__supervision": "cluster", "loss__kind": "cross_entropy", "model__width": 8},
            "needs the array cluster",
        ),
    ],
)
def test_what_is_wrong_with_its_file_is_said(on_table, tmp_path, arrays, overrides, message):
    np.savez(tmp_path / "test.npz", **arrays)
    with pytest.raises(ScenarioError, match=f"data.test.path: .*{message}"):
        flowsim.build(on_table(TABLE, data__test={"path": "test.npz"}, **overrides))


def test_an_unreadable_file_is_named_and_a_missing_one_located(on_table, tmp_path):
    (tmp_path / "test.npz").write_text("no archive")
    with pytest.raises(ScenarioError, match=r"data.test.path: test.npz cannot be read"):
        flowsim.build(on_table(TABLE, data__test={"path": "test.npz"}))
    with pytest.raises(ScenarioError, match=r"a.toml:2: data.test.path: no such file"):
        flowsim.loads('[data.test]\npath = "none.npz"\n', name="a.toml", folder=tmp_path)


@pytest.mark.parametrize("kind", ["gaussian_mixture", "xor", "sparse_coding"])
def test_of_a_law_they_are_drawn_anew(kind):
    noisy = {} if kind == "sparse_coding" else {"label_noise": 0.25}
    data = {"kind": kind, "dimension": 12, "samples": 24, "test": {"samples": 40}, **noisy}
    scenario = flowsim.loads("", overrides={"data": data})
    problem = flowsim.build(scenario)
    np.testing.assert_array_equal(problem.test.inputs, fresh(scenario, problem.samples, 40).inputs)
    np.testing.assert_array_equal(problem.test.centers, problem.centers)
    assert problem.test.flipped.mean() == (0.25 if noisy else 0)
    without = flowsim.build(flowsim.loads("", overrides={"data": {**data, "test": {"samples": 3}}}))
    np.testing.assert_array_equal(without.inputs, problem.inputs)  # training does not notice


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("[data.test]\n", "data.test", "give exactly one"),
        ("[data.test]\nsamples = 2\nfraction = 0.5", "data.test", "give exactly one"),
        ("[data.test]\nfraction = 0.5", "data.test.fraction", 'only with kind = "cifar10" or '),
        ('[data]\nkind = "xor"\ntest = { fraction = 0.5 }', "data.test.fraction", 'for "xor" give samples'),
        ('[data]\nkind = "sparse_coding"\ntest = { fraction = 0.5 }', "data.test.fraction", "give samples"),
        ('[data]\nkind = "digits"\ntest = { samples = 5 }', "data.test.samples", "no distribution to draw from"),
        ("[data.test]\nsamples = 0", "data.test.samples", "greater than or equal to 1"),
        ('[data]\nkind = "digits"\ntest = { fraction = 1.0 }', "data.test.fraction", "less than 1"),
        ('[data.test]\npath = "a.txt"', "data.test.path", "a path that ends with .csv, .npz, .nc"),
        ("[data.test]\nfractions = 0.1", "data.test.fractions", 'did you mean "fraction"?'),
    ],
)
def test_what_makes_no_sense_is_refused(text, key, message):
    with pytest.raises(ScenarioError) as caught:
        flowsim.loads(text, name="a.toml")
    (issue,) = caught.value.issues
    assert issue.key == key
    assert message in issue.message
    assert issue.place.startswith("a.toml:")


def test_an_ensemble_shares_a_file_but_not_a_split_of_its_table(on_table, tmp_path):
    np.savez(tmp_path / "test.npz", **OTHER)
    short = {"flow__until": {"time": 1.0}, "observe__times": 3}
    tree = flowsim.run(on_table(TABLE, data__test={"path": "test.npz"}, seed=[0, 1], **short))
    np.testing.assert_array_equal(tree["data/test_x"], OTHER["x"])
    with pytest.raises(ScenarioError, match=r"data.test.fraction: each member would split the table in its own way"):
        on_table(TABLE, data__test={"fraction": 0.5}, seed=[0, 1])
    scenario = flowsim.loads('seed = [0, 1]\n[data]\nkind = "digits"\n[data.test]\nfraction = 0.5\n')
    first = flowsim.build(scenario.members[0])
    second = flowsim.build(scenario.members[1], first)
    np.testing.assert_array_equal(second.test.inputs, flowsim.build(scenario.members[1]).test.inputs)
    assert (second.test.label != first.test.label).any()


def test_a_result_holds_them_where_they_come_from_a_table(on_table, tmp_path):
    scenario = on_table(TABLE, data__test={"fraction": 0.3}, flow__until={"time": 1.0}, observe__times=3)
    problem = flowsim.build(scenario)
    write(flowsim.run(scenario), tmp_path / "run.nc")
    with flowsim.open(tmp_path / "run.nc") as tree:
        kept = tree["data"].to_dataset(inherit=False)
        for name, array in (
            ("x", problem.test.inputs),
            ("y", problem.test.label),
            ("cluster", problem.test.sample_cluster),
        ):
            np.testing.assert_array_equal(kept[f"test_{name}"], array)
        np.testing.assert_array_equal(kept["x"], problem.inputs)
        assert kept["test_x"].dims == ("test_row", "feature")
        assert all(kept[name].attrs["long_name"] for name in kept)


def test_a_run_with_held_out_samples_of_a_file_goes_on(on_table, tmp_path, monkeypatch):
    at_every_chance(monkeypatch)
    np.savez(tmp_path / "test.npz", **OTHER)
    options = {"data__test": {"path": "test.npz"}, "flow__until": {"time": 9.0}, "observe__times": [0.5, 2, 4.5, 7.5]}
    scenario, output = on_table(TABLE, **options), tmp_path / "run.nc"

    def kill(standing):
        if standing.report.time > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flowsim.run(scenario, output, progress=kill)
    left = output.read_bytes()
    resumed, undisturbed = flowsim.run(scenario, output, resume=True), flowsim.run(scenario)
    xr.testing.assert_equal(resumed.to_dataset(), undisturbed.to_dataset())
    assert resumed["time"].values.tolist() == [0.0, 0.5, 2.0, 4.5, 7.5, 9.0]
    output.write_bytes(left)
    np.savez(tmp_path / "test.npz", **{**OTHER, "x": 2 * OTHER["x"]})
    with pytest.raises(UsageError, match=r"test\.npz has changed since this run was begun"):
        flowsim.run(scenario, output, resume=True)


def test_check_says_how_many_there_are(tmp_path, capsys):
    (tmp_path / "a.toml").write_text("[data]\nsamples = 8\n[data.test]\nsamples = 31\n")
    assert main(["check", str(tmp_path / "a.toml")]) == 0
    assert "held out     31 samples" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "a.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test_samples"] == 31
