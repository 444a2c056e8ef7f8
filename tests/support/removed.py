"""Copies of flowsim from which a kind's file is gone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import flowsim

PACKAGE = Path(flowsim.__file__).parent


def copy_without(folder: Path, *gone: str) -> Path:
    """Copy the package and its scenarios into a folder, without these files or folders: "flowsim/…" or "scenarios/…"."""
    for name in ("flowsim", "scenarios"):
        shutil.copytree(PACKAGE.parent / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in gone:
        there = folder / path
        shutil.rmtree(there) if there.is_dir() else there.unlink()
    return folder


def python(root: Path, code: str) -> str:
    """What Python prints that takes flowsim from such a copy. Raises AssertionError with what it says where it fails."""
    lines = f"import sys\nsys.path.insert(0, {str(root)!r})\n{code}"
    ran = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False, cwd=root)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


#: Imports every module and reads every scenario that is left.
ALL_OF_IT = """
import pkgutil, importlib
import flowsim
from pathlib import Path
assert Path(flowsim.__file__).is_relative_to(sys.path[0])
for module in pkgutil.walk_packages(flowsim.__path__, "flowsim."):
    if module.name != "flowsim.__main__":
        importlib.import_module(module.name)
from flowsim.cli import main
from flowsim.scenario.shipped import shipped
for file in shipped().values():
    flowsim.load(file)
assert main(["list"]) == 0
assert main(["schema"]) == 0
"""

#: Checks and runs a small scenario, and shows what came of it.
A_RUN = """
Path("s.toml").write_text('''
[data]
samples = 8
dimension = 6
[model]
width = 4
[loss]
kind = "logistic"
[flow]
engine = "diffrax"
until = { time = 2.0 }
[observe]
times = 3
''')
assert main(["check", "s.toml"]) == 0
assert main(["run", "s.toml"]) == 0
assert main(["show", "s.nc"]) == 0
assert main(["report", "s.nc"]) == 0
"""
