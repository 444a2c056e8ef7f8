"""Where JAX is not installed, what the Numba engine can do still works."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import xarray as xr

WITHOUT_JAX = """
import sys
from importlib.abc import MetaPathFinder

MISSING = {"jax", "jaxlib", "diffrax", "equinox", "optimistix", "lineax"}

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def find_spec(name, package=None):
    return None if name in MISSING else usual(name, package)

import importlib.util
usual, importlib.util.find_spec = importlib.util.find_spec, find_spec
sys.meta_path.insert(0, Missing())
import importlib.metadata
version_of = importlib.metadata.version

def version(name):
    if name in MISSING:
        raise importlib.metadata.PackageNotFoundError(name)
    return version_of(name)

importlib.metadata.version = version
from flowsim.cli import main
sys.exit(main(sys.argv[1:]))
"""

QUICKSTART = """\
[data]
dimension = 20
positive = 3
negative = 3
noise = { total = 0.1 }
samples = 60

[model]
width = 20

[init]
scale = 1e-7

[flow]
until = { time = 250.0 }
"""


@pytest.fixture
def without_jax(folder):
    (folder / "b.toml").write_text(QUICKSTART)

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", WITHOUT_JAX, *arguments], capture_output=True, text=True, check=False
        )

    return call


def test_a_run_goes_from_its_scenario_to_the_file_that_is_written_where_jax_is(without_jax, flowsim):
    answer = without_jax("run", "b.toml", "--json")
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert (facts["status"], facts["time"], facts["output"]) == ("done", 250, "b.nc")
    with xr.open_dataset("b.nc") as run:
        assert (run.attrs["engine"], run.attrs["solver"]) == ("numba", "dopri5")
        assert "jax_version" not in run.attrs
        assert "diffrax_version" not in run.attrs
        assert run["accuracy"][-1] == 1
    shown = without_jax("show", "b.nc", "--json")
    assert {"output": "b.nc", **json.loads(shown.stdout)} == facts
    assert flowsim("run", "b.toml", "-o", "with.nc").code == 0
    with xr.open_datatree("b.nc") as without, xr.open_datatree("with.nc") as usual:
        assert without.equals(usual)


@pytest.mark.parametrize(
    ("command", "key", "value"), [("check", "flow.engine", '"diffrax"'), ("run", "flow.precision", '"mixed"')]
)
def test_what_needs_jax_is_refused_with_one_line(without_jax, files, command, key, value):
    before = files()
    answer = without_jax(command, "b.toml", "--set", f"{key}={value}")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr == f"--set: {key}: needs diffrax, which is not installed; pip install diffrax\n"
    assert files() == before


def test_the_place_of_what_needs_jax_is_its_line(without_jax, folder):
    (folder / "c.toml").write_text('[flow]\nrtol = 1e-6\nengine = "diffrax"\n')
    answer = without_jax("run", "c.toml")
    assert answer.returncode == 2
    assert answer.stderr.startswith("c.toml:3: flow.engine: needs diffrax")
