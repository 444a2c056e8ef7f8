"""A user's own samples."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import flowsim
from flowsim.results import layout, write

X = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, -4.0]])
Y = np.array([1.0, 1.0, -1.0, -1.0])
CLUSTER = np.array([0, 0, 1, 1])


def from_file(folder, name: str, loss: str = "square") -> flowsim.Scenario:
    text = f'[data]\nkind = "table"\npath = "{name}"\n[loss]\nkind = "{loss}"\n'
    return flowsim.loads(text, name="a.toml", folder=folder)


def csv(folder, text: str, loss: str = "square") -> flowsim.Problem:
    (folder / "t.csv").write_text(text)
    return flowsim.build(from_file(folder, "t.csv", loss))


def test_a_csv_names_y_and_cluster_and_every_other_column_is_a_feature(tmp_path):
    problem = csv(tmp_path, "cluster, height, y, width\n0, 1, 1, 0\n0, 3, 1, 0\n1, 0, -1, 2\n1, 0, -1, -4\n")
    np.testing.assert_array_equal(problem.inputs, X)
    np.testing.assert_array_equal(problem.targets, Y)
    np.testing.assert_array_equal(problem.sample_cluster, CLUSTER)


def test_a_csv_may_be_as_excel_writes_it(tmp_path):
    # with a byte order mark and the line ends of Windows
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfy,a\r\n1,2\r\n-1,3\r\n")
    problem = flowsim.build(from_file(tmp_path, "t.csv"))
    np.testing.assert_array_equal(problem.inputs, [[2.0], [3.0]])
    np.testing.assert_array_equal(problem.targets, [1.0, -1.0])


def test_npz_and_netcdf_hold_the_same_table(tmp_path):
    np.savez(tmp_path / "t.npz", x=X, y=Y, cluster=CLUSTER)
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as dataset:
        dataset.createDimension("sample", 4)
        dataset.createDimension("feature", 2)
        dataset.createVariable("x", "f4", ("sample", "feature"))[:] = X
        dataset.createVariable("y", "i1", ("sample",))[:] = Y
        dataset.createVariable("cluster", "i4", ("sample",))[:] = CLUSTER
    for name in ("t.npz", "t.nc"):
        problem = flowsim.build(from_file(tmp_path, name))
        np.testing.assert_array_equal(problem.inputs, X)
        np.testing.assert_array_equal(problem.targets, Y)
        np.testing.assert_array_equal(problem.sample_cluster, CLUSTER)
        assert problem.inputs.dtype == problem.targets.dtype == np.float64


def stored(folder, layout: str, **arrays) -> str:
    """Write a table. Returns its path."""
    if layout == "npy":
        for name, array in arrays.items():
            np.save(folder / f"train_{name}.npy", array)
        return "train_x.npy"
    group = zarr.open_group(folder / "t.zarr", mode="w", zarr_format=3)
    place = group.require_group("data") if layout == "zarr, in a group" else group
    for name, array in arrays.items():
        place.create_array(name, data=array, chunks=(2,) * array.ndim)
    return "t.zarr"


@pytest.mark.parametrize("layout", ["npy", "zarr", "zarr, in a group"])
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i2"])
def test_npy_files_and_zarr_stores_hold_the_same_table(tmp_path, layout, dtype):
    path = stored(tmp_path, layout, x=X.astype(dtype), y=Y.astype("i1"), cluster=CLUSTER, centers=np.eye(2))
    problem = flowsim.build(from_file(tmp_path, path))
    np.testing.assert_array_equal(problem.inputs, X)
    np.testing.assert_array_equal(problem.targets, Y)
    np.testing.assert_array_equal(problem.sample_cluster, CLUSTER)
    np.testing.assert_array_equal(problem.centers, np.eye(2))
    assert problem.inputs.dtype == problem.targets.dtype == np.float64


def test_npy_files_of_columns_are_turned(tmp_path):
    path = stored(tmp_path, "npy", x=np.asfortranarray(X), y=Y)
    assert flowsim.build(from_file(tmp_path, path)).inputs.flags.c_contiguous


def test_npy_files_stay_on_the_disk_and_are_not_written_to(tmp_path):
    path = stored(tmp_path, "npy", x=X, y=Y)
    inputs = flowsim.build(from_file(tmp_path, path)).inputs
    assert isinstance(inputs.base, np.memmap) or isinstance(inputs, np.memmap)
    inputs[0] = 7.0
    np.testing.assert_array_equal(np.load(tmp_path / path), X)


@pytest.mark.parametrize("layout", ["npy", "zarr"])
def test_what_is_wrong_with_them_is_said_at_their_key(tmp_path, layout):
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:3: data\.path: array y missing"):
        flowsim.build(from_file(tmp_path, stored(tmp_path, layout, x=X)))
    path = stored(tmp_path, layout, x=np.where(X == -4, np.nan, X), y=Y[:3])
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.build(from_file(tmp_path, path))
    assert [issue.message for issue in caught.value.issues] == [
        "y has shape (3,), but x has 4 samples; expected (4,)",
        "x has 1 values that are not finite, the first at [3, 1]",
    ]


def test_no_objects_are_read(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(object), allow_pickle=True)
    np.save(tmp_path / "y.npy", Y)
    with pytest.raises(flowsim.ScenarioError, match=r"x\.npy is object; expected whole or floating-point numbers"):
        flowsim.build(from_file(tmp_path, "x.npy"))
    group = zarr.open_group(tmp_path / "t.zarr", mode="w", zarr_format=3)
    group.create_array("y", data=Y)
    group.create_array("x", data=1j * X)
    with pytest.raises(flowsim.ScenarioError, match="x is no array of whole or floating-point numbers"):
        flowsim.build(from_file(tmp_path, "t.zarr"))


def test_a_header_that_promises_too_much_is_not_believed(tmp_path, monkeypatch):
    group = zarr.open_group(tmp_path / "t.zarr", mode="w", zarr_format=3)
    group.create_array("x", shape=(10**9, 10**4), dtype="f8", chunks=(10, 10))
    group.create_array("y", data=Y)
    with pytest.raises(flowsim.ScenarioError, match=r"data\.path: t\.zarr cannot be read: its arrays need"):
        flowsim.build(from_file(tmp_path, "t.zarr"))
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-8])
    with pytest.raises(flowsim.ScenarioError, match="speaks of 64 bytes, and 56 are there"):
        flowsim.build(from_file(tmp_path, "x.npy"))


@pytest.mark.parametrize("name", ["x.npy", "t.zarr"])
def test_a_path_at_which_nothing_is_has_a_place(tmp_path, name):
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:3: data\.path: no such file"):
        from_file(tmp_path, name)


def test_another_npy_file_is_no_table(tmp_path):
    with pytest.raises(flowsim.ScenarioError, match=r'"y.npy" is not allowed; allowed: a path that ends with .*x\.npy'):
        from_file(tmp_path, "y.npy")


def test_clusters_without_centres_have_their_class_means(on_table):
    problem = flowsim.build(on_table({"x": X, "y": Y, "cluster": CLUSTER}))
    np.testing.assert_array_equal(problem.centers, [[2.0, 0.0], [0.0, -1.0]])
    assert problem.cluster_label.tolist() == [1, -1]


def test_given_centres_are_kept_and_a_cluster_s_label_is_its_majority(on_table):
    centers = np.array([[5.0, 5.0], [6.0, 6.0], [7.0, 7.0], [8.0, 8.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0])
    problem = flowsim.build(on_table({"x": X, "y": y, "cluster": np.array([0, 1, 3, 3]), "centers": centers}))
    np.testing.assert_array_equal(problem.centers, centers)
    # the third has no samples, the fourth no majority
    assert problem.cluster_label.tolist() == [1, 1, 0, 0]


def test_without_clusters_there_are_no_centres(on_table):
    problem = flowsim.build(on_table({"x": X, "y": Y}))
    assert problem.centers.shape == (0, 2)
    assert problem.sample_cluster.tolist() == [-1, -1, -1, -1]


def test_targets_of_the_square_loss_may_be_any_real_number(on_table):
    y = np.array([0.5, -3.0, 1e6, 0.0])
    np.testing.assert_array_equal(flowsim.build(on_table({"x": X, "y": y})).targets, y)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_other_losses_want_labels(on_table, loss):
    with pytest.raises(flowsim.ScenarioError, match=r"y must be \+1 or -1"):
        flowsim.build(on_table({"x": X, "y": np.array([0.0, 1.0, 1.0, 0.0])}, loss__kind=loss))
    assert flowsim.build(on_table({"x": X, "y": Y}, loss__kind=loss)).loss.name == loss


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"x": X}, "array y missing"),
        ({"y": Y}, "array x missing"),
        ({}, "array x and y missing"),
        ({"x": X[:, 0], "y": Y}, r"x has shape \(4,\); expected \(samples, features\)"),
        ({"x": X[:0], "y": Y[:0]}, r"x has shape \(0, 2\)"),
        ({"x": X, "y": Y[:3]}, r"y has shape \(3,\), but x has 4 samples"),
        ({"x": X, "y": Y, "cluster": CLUSTER[:1]}, r"cluster has shape \(1,\), but x has 4 samples"),
        ({"x": np.where(X == 3, np.nan, X), "y": Y}, r"x has 1 values that are not finite, the first at \[1, 0\]"),
        ({"x": X, "y": np.where(Y < 0, np.inf, Y)}, r"y has 2 values that are not finite, the first at \[2\]"),
        ({"x": X, "y": Y, "cluster": CLUSTER + 0.5}, "cluster must hold whole numbers from 0 to 1"),
        ({"x": X, "y": Y, "cluster": CLUSTER - 1}, "cluster must hold whole numbers"),
        ({"x": X, "y": Y, "cluster": CLUSTER * 2}, r"clusters \[1\] have no samples"),
        ({"x": X, "y": Y, "cluster": CLUSTER, "centers": np.eye(2)[:1]}, "whole numbers from 0 to 0"),
        ({"x": X, "y": Y, "cluster": CLUSTER, "centers": np.eye(3)}, r"shape \(3, 3\); expected \(clusters, 2\)"),
        ({"x": X, "y": Y, "centers": np.eye(2)}, "centers are given without cluster"),
        ({"x": X, "y": np.array(["a", "b", "c", "d"])}, "cannot be read"),
    ],
)
def test_a_table_that_holds_something_else_is_refused_at_its_key(on_table, arrays, problem):
    with pytest.raises(flowsim.ScenarioError, match=rf"^a\.toml:3: data\.path: .*{problem}"):
        flowsim.build(on_table(arrays))


def test_all_problems_of_a_table_are_found_at_once(on_table):
    scenario = on_table({"x": np.where(X == 3, np.nan, X), "y": Y[:3], "cluster": CLUSTER + 0.5})
    with pytest.raises(flowsim.ScenarioError) as caught:
        flowsim.build(scenario)
    assert len(caught.value.issues) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b,y\n1,two,1\n",
        "a,b,y\n1,,1\n",
        "1,2,1\n3,4,-1\n",
        "a,b,y\n1,2,1\n3,4,1,5\n",
        "a,b,y\n1,2,3,1\n4,5,6,-1\n",
        "a,b,y\n0,2,3,1\n1,5,6,-1\n",
    ],
    ids=["empty", "a word", "a gap", "no header", "a longer row", "longer rows", "numbered rows without a name"],
)
def test_a_csv_that_is_no_table_is_refused(tmp_path, text):
    with pytest.raises(flowsim.ScenarioError, match=r"data\.path: "):
        csv(tmp_path, text)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"not a table"], ids=["empty", "torn", "text"])
@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, suffix, content):
    (tmp_path / f"t{suffix}").write_bytes(content)
    with pytest.raises(flowsim.ScenarioError, match=r"^a\.toml:3: data\.path: .*cannot be read"):
        flowsim.build(from_file(tmp_path, f"t{suffix}"))


def test_a_gap_in_netcdf_is_not_a_number(tmp_path):
    with netCDF4.Dataset(tmp_path / "t.nc", "w") as dataset:
        dataset.createDimension("sample", 2)
        dataset.createDimension("feature", 1)
        dataset.createVariable("x", "f8", ("sample", "feature"))[0] = 1.0
        dataset.createVariable("y", "f8", ("sample",))[:] = 1.0
    with pytest.raises(flowsim.ScenarioError, match=r"x has 1 values that are not finite, the first at \[1, 0\]"):
        flowsim.build(from_file(tmp_path, "t.nc"))


@pytest.mark.parametrize("known", [{}, {"cluster": CLUSTER}, {"cluster": CLUSTER, "centers": np.eye(2)}], ids=list)
def test_the_data_of_a_result_are_a_table(tmp_path, on_table, known):
    scenario = on_table({"x": X, "y": np.array([0.5, 1.0, -1.0, -2.0]), **known})
    problem = flowsim.build(scenario)
    write(xr.DataTree.from_dict({"/": xr.Dataset(), "/data": layout.data(scenario, problem)}), tmp_path / "run.nc")
    again = flowsim.build(from_file(tmp_path, "run.nc"))
    for name in ("inputs", "targets", "sample_cluster", "centers", "cluster_label"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name), err_msg=name)
