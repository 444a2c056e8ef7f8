"""How the house is built: who may import whom, and what is loaded when."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import flowsim

PACKAGE = Path(flowsim.__file__).parent

#: A part of the house imports those before it, never those after it.
ORDER = [
    "errors",
    "arrays",
    "durable",
    "signals",
    "machine",
    "gate",
    "threads",
    "processes",
    "markup",
    "kinds",
    "scenario",
    "problem",
    "solve",
    "observe",
    "results",
    "evaluate",
    "papers",
    "run",
    "sweep",
    "present",
    "cli",
]
#: The doors: they open onto everything, and what lies behind is loaded on the first step through.
DOORS = {"__init__", "__main__", "_accessor", "register"}
#: JAX and what is built on it.
JAX = {"jax", "jaxlib", "diffrax", "equinox", "optimistix", "lineax", "optax"}


def part_of(module: str) -> str:
    """``flowsim.solve.numba.field`` -> ``solve``; the package itself is ``__init__``."""
    return [*module.split("."), "__init__"][1]


def module_name(file: Path, package: Path) -> str:
    path = file.relative_to(package.parent).with_suffix("")
    return ".".join(path.parts[:-1] if path.name == "__init__" else path.parts)


def imports(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute name) of everything that a file imports, at any depth of its code."""
    here = module_name(file, package)
    folder = here if file.name == "__init__.py" else here.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = folder.split(".")[: len(folder.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            # `from .. import drive` names a module, `from ..drive import drive` a thing inside one
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def violations(package: Path, order: list[str]) -> list[str]:
    """Every import that goes up the order."""
    found = []
    for file in sorted(package.rglob("*.py")):
        importer = part_of(module_name(file, package))
        if importer in DOORS:
            continue
        for line, name in imports(file, package):
            imported = part_of(name)
            if name.split(".")[0] != package.name or imported not in order:
                continue
            if order.index(imported) > order.index(importer):
                found.append(f"{file.relative_to(package)}:{line} imports {name}")
    return found


def test_every_part_of_the_house_has_its_place():
    parts = {file.stem for file in PACKAGE.iterdir() if file.suffix == ".py" or (file / "__init__.py").exists()}
    assert parts - DOORS == set(ORDER)


def test_imports_never_go_up():
    assert violations(PACKAGE, ORDER) == []


def test_an_import_that_goes_up_is_seen_however_it_is_written(tmp_path):
    package = tmp_path / "house"
    (package / "low" / "deep").mkdir(parents=True)
    (package / "high.py").write_text("from .low import x\nimport house.low.deep\n")
    (package / "low" / "__init__.py").write_text("from ..high import x\nfrom . import deep\n")
    (package / "low" / "one.py").write_text("import house.high\nfrom house import high\nfrom .. import high\n")
    (package / "low" / "deep" / "two.py").write_text("def f():\n    from ...high import x\n    from ..one import y\n")
    assert violations(package, ["low", "high"]) == [
        "low/__init__.py:1 imports house.high.x",
        "low/deep/two.py:2 imports house.high.x",
        "low/one.py:1 imports house.high",
        "low/one.py:2 imports house.high",
        "low/one.py:3 imports house.high",
    ]


#: Where JAX may be imported: where it brings processes together, the engines, networks and formulas of kinds for these, and
#: derivatives of networks, for the observables that need them.
MAY_IMPORT_JAX = (
    PACKAGE / "processes.py",
    PACKAGE / "solve" / "diffrax",
    PACKAGE / "solve" / "optax",
    PACKAGE / "solve" / "function.py",
    PACKAGE / "kinds" / "in_jax.py",
    PACKAGE / "kinds" / "trees.py",
    PACKAGE / "kinds" / "image_layers.py",
    PACKAGE / "observe" / "derivatives.py",
)


def test_jax_is_imported_by_its_engine_for_trees_for_derivatives_and_for_processes_only():
    for file in PACKAGE.rglob("*.py"):
        if not any(file.is_relative_to(place) for place in MAY_IMPORT_JAX):
            used = {name.split(".")[0] for _, name in imports(file, PACKAGE)}
            assert not used & JAX, file


#: The packages of kinds, each file of which may be deleted.
SORTS = ("data", "networks", "activations", "losses", "inits")


def test_nobody_imports_the_file_of_a_kind():
    kinds = {
        f"flowsim.kinds.{sort}.{file.stem}"
        for sort in SORTS
        for file in (PACKAGE / "kinds" / sort).glob("*.py")
        if file.stem != "__init__"
    }
    assert "flowsim.kinds.networks.two_layer" in kinds
    found = [
        f"{file.relative_to(PACKAGE)}:{line} imports {name}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, name in imports(file, PACKAGE)
        if any(name == kind or name.startswith(f"{kind}.") for kind in kinds)
    ]
    assert found == []


def loaded_after(code: str, *arguments: str) -> set[str]:
    """The modules that a fresh Python with these arguments has loaded after this code."""
    report = "import sys, json; print(json.dumps([name for name, module in sys.modules.items() if module is not None]))"
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\n{report}", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(child.stdout.splitlines()[-1]))


HEAVY = {
    "dask",
    "distributed",
    "matplotlib",
    "xarray",
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "netCDF4",
    "pydantic",
    "tqdm",
    "numba",
    "llvmlite",
    *JAX,
}


def test_importing_flowsim_and_questions_about_the_command_line_load_nothing_heavy():
    loaded = loaded_after("import flowsim\n" + commands(["--help"], ["--version"], []))
    assert "flowsim" in loaded
    assert not loaded & HEAVY


def test_commands_that_do_not_integrate_load_no_engine():
    words = (["list"], ["schema"], ["run", "--help"], ["run", "missing.toml"], ["plot", "missing.nc", "loss"])
    assert not loaded_after(commands(*words)) & {"numba", "matplotlib", *JAX}


def commands(*words: list[str]) -> str:
    """Code that gives these commands one after the other."""
    each = "\n".join(f"with suppress(SystemExit):\n    main({one!r})" for one in words)
    return f"from contextlib import suppress\nfrom flowsim.cli import main\n{each}"


def test_loading_and_building_a_scenario_needs_no_engine():
    assert not loaded_after("import flowsim\nflowsim.build(flowsim.loads(''))") & {
        "numba",
        "matplotlib",
        "sklearn",
        *JAX,
    }


#: What a run of the quickstart has no use for: it takes no attacks, no claims, no sparse data and no optimiser.
NEEDLESS = {
    *JAX,
    "dask",
    "distributed",
    "matplotlib",
    "plotly",
    "rich",
    "sklearn",
    "flowsim.evaluate.case",
    "flowsim.evaluate.kkt",
    "flowsim.evaluate.robustness",
    "flowsim.solve.descent",
    "flowsim.solve.diffrax",
    "flowsim.evaluate.requested",
    "flowsim.sweep",
    "flowsim.papers",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.sparse",
    "scipy.spatial",
    "scipy.stats",
}


@pytest.fixture(scope="module")
def loaded_by_the_quickstart(tmp_path_factory) -> set[str]:
    output = tmp_path_factory.mktemp("quickstart") / "run.nc"
    quickstart = PACKAGE.parent / "scenarios" / "quickstart.toml"
    return loaded_after("from flowsim.cli import main\nassert main() == 0", "run", str(quickstart), "-o", str(output))


def test_the_quickstart_loads_what_it_needs_only(loaded_by_the_quickstart):
    assert {"numba", "netCDF4", "flowsim.solve.numba"} <= loaded_by_the_quickstart
    assert not loaded_by_the_quickstart & NEEDLESS


def test_what_the_quickstart_does_without_is_not_misspelt():
    assert all(find_spec(name) for name in NEEDLESS if name.startswith(("flowsim.", "scipy.")))


def test_in_the_process_of_another_program_a_command_leaves_dask_alone():
    pytest.importorskip("dask")
    loaded = loaded_after(commands(["run", "missing.toml"]) + "\nimport dask")
    assert "dask" in loaded


@pytest.mark.parametrize(
    "code", ["import flowsim, xarray", "import xarray, flowsim", "import flowsim\nimport xarray.core"]
)
def test_datasets_have_flow_in_whichever_order_one_imports(code):
    loaded_after(f"{code}\nimport xarray\nassert 'phase' in xarray.Dataset(coords={{'time': [0.0]}}).flow.phases.dims")


def test_a_run_by_diffrax_leaves_the_user_s_jax_as_it_was_and_loads_no_other_engine():
    code = """
import jax, flowsim
before = dict(jax.config.values)
flowsim.run(flowsim.loads('[data]\\nsamples = 4\\n[flow]\\nengine = "diffrax"\\nuntil = { steps = 2 }'))
assert dict(jax.config.values) == before
assert jax.numpy.zeros(1).dtype == 'float32'
"""
    loaded = loaded_after(code)
    assert "diffrax" in loaded
    assert not loaded & {"numba", "llvmlite"}
