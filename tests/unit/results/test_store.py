"""Files of results: written whole or not at all, and read back as they were written."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest
import xarray as xr

import flowsim
from flowsim.durable import check_writable
from flowsim.results import write
from flowsim.results.layouts import LAYOUT


@pytest.fixture
def tree() -> xr.DataTree:
    root = xr.Dataset(
        {"loss": ("time", [1.0, 1e-300, -np.inf, np.nan])},
        {"time": [0.0, 1.0, 2.0, np.inf]},
        {**LAYOUT, "flowsim_version": "0", "title": "ρ", "status_remedy": "", "seed": 3},
    )
    group = xr.Dataset({"count": ("time", np.arange(4)), "word": ("name", ["a", "b"])}, attrs={"exit_code": 0})
    return xr.DataTree.from_dict({"/": root, "/numerics": group})


def test_what_was_written_is_read_back(tree, tmp_path):
    write(tree, tmp_path / "run.nc")
    with flowsim.open(tmp_path / "run.nc") as again:
        xr.testing.assert_identical(again.load(), tree)


def test_writing_leaves_nothing_but_the_file_and_replaces_what_was_there(tree, tmp_path):
    (tmp_path / "run.nc").write_text("old")
    write(tree, tmp_path / "run.nc")
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
    with flowsim.open(tmp_path / "run.nc") as again:
        assert again.attrs["title"] == "ρ"


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()], ids=["disk full", "interrupted"])
@pytest.mark.parametrize("old", [None, b"the old result"])
def test_a_write_that_fails_half_way_leaves_no_part_of_a_file_and_the_old_one_whole(
    tree, tmp_path, monkeypatch, old, failure
):
    def torn(self, path, **options):
        path.write_bytes(b"the first half")
        raise failure

    monkeypatch.setattr(xr.DataTree, "to_netcdf", torn)
    if old is not None:
        (tmp_path / "run.nc").write_bytes(old)
    with pytest.raises(flowsim.NotWritten if isinstance(failure, OSError) else KeyboardInterrupt):
        write(tree, tmp_path / "run.nc")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == ({} if old is None else {"run.nc": old})


def test_a_result_can_be_written_to_a_new_file_in_a_folder(tmp_path):
    check_writable(tmp_path / "run.nc", overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_replaced_only_on_request(tmp_path):
    file = tmp_path / "run.nc"
    file.write_text("old")
    with pytest.raises(flowsim.UsageError, match=r"exists already; use --overwrite"):
        check_writable(file, overwrite=False)
    check_writable(file, overwrite=True)
    assert file.read_text() == "old"


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        (".", "is a folder"),
        ("missing/run.nc", "does not exist"),
        ("file/run.nc", "does not exist"),
        ("x" * 300 + ".nc", "name"),
    ],
    ids=["a folder", "in a missing folder", "below a file", "name too long"],
)
def test_where_no_file_can_be_is_said_beforehand(tmp_path, path, complaint, overwrite):
    (tmp_path / "file").write_text("")
    with pytest.raises(flowsim.UsageError, match=complaint):
        check_writable(tmp_path / path, overwrite)


def test_a_folder_that_refuses_files_is_said_beforehand(tmp_path, monkeypatch):
    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("flowsim.durable.TemporaryFile", refuse)
    with pytest.raises(flowsim.UsageError, match="cannot be written: Permission denied"):
        check_writable(tmp_path / "run.nc", overwrite=False)


def test_what_is_no_result_is_not_opened(tmp_path):
    (tmp_path / "text.nc").write_text("no")
    xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc")
    for name, complaint in (
        ("missing.nc", "no such file"),
        (".", "is a folder"),
        ("text.nc", "not a NetCDF file"),
        ("other.nc", "not a result of flowsim"),
    ):
        with pytest.raises(flowsim.UsageError, match=complaint):
            flowsim.open(tmp_path / name)


def test_texts_are_of_a_fixed_length_in_the_file_and_come_back_as_they_were(tree, tmp_path):
    tree["/numerics/none"] = xr.Variable("name", ["", ""])
    tree["/numerics/other"] = xr.Variable("name", np.array(["ρ > 0", ""], dtype=object))
    write(tree, tmp_path / "run.nc")
    with netCDF4.Dataset(tmp_path / "run.nc") as file:
        # HDF5 may end the interpreter where a file with texts of any length is open twice
        assert {str(file["numerics"][name].dtype) for name in ("word", "none", "other")} == {"|S1"}
    with flowsim.open(tmp_path / "run.nc") as found:
        words = {name: found[f"numerics/{name}"].values.tolist() for name in ("word", "none", "other")}
    assert words == {"word": ["a", "b"], "none": ["", ""], "other": ["ρ > 0", ""]}
