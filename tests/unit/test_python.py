"""flowsim as Python sees it: what may be given, what is shown, what `help` says."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import xarray as xr
from support.sweeps import BASE, GRID

import flowsim
from flowsim.present.kinds import KINDS

ASKED = {"robustness": {"radii": [0.0, 0.2], "samples": 10, "steps": 5}, "distance": {"to": "ideal"}}


@pytest.fixture
def roads(tmp_path):
    """The same scenario in all the forms that it may be given in."""
    (tmp_path / "s.toml").write_text(BASE)
    scenario = flowsim.load(tmp_path / "s.toml")
    return [scenario, tmp_path / "s.toml", str(tmp_path / "s.toml"), scenario.to_dict()]


def test_a_run_takes_a_scenario_a_path_and_a_mapping(roads):
    wanted, *others = (flowsim.run(road) for road in roads)
    for other in others:
        assert other.attrs["scenario_sha256"] == wanted.attrs["scenario_sha256"]
        xr.testing.assert_identical(other.to_dataset().drop_attrs(), wanted.to_dataset().drop_attrs())


def test_an_ensemble_takes_them_too(roads):
    wanted, *others = (flowsim.run_ensemble(road, [0, 3]) for road in roads)
    for other in others:
        xr.testing.assert_identical(other.to_dataset().drop_attrs(), wanted.to_dataset().drop_attrs())


@pytest.mark.parametrize("wrong", [3, None, [("seed", 1)]])
def test_what_is_no_scenario_is_told(wrong):
    with pytest.raises(flowsim.FlowsimError, match="a scenario is"):
        flowsim.run(wrong)


def test_a_mistyped_mapping_is_told_by_its_keys():
    with pytest.raises(flowsim.ScenarioError, match=r"model\.widht.*width"):
        flowsim.run({"model": {"widht": 3}})


class ZMQInteractiveShell:
    """What a kernel of Jupyter has."""


@pytest.fixture
def notebook(monkeypatch):
    ipython = ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    monkeypatch.setitem(sys.modules, "IPython", ipython)


@pytest.mark.parametrize("seeds", [None, [0, 1]])
def test_a_notebook_shows_progress_by_itself(small, notebook, capsys, seeds):
    flowsim.run(small() if seeds is None else small(seed=seeds))
    assert "%|" in capsys.readouterr().err


@pytest.mark.parametrize("progress", [None, True, False])
def test_a_pipe_shows_none(small, capsys, progress):
    flowsim.run(small(), progress=progress)
    assert capsys.readouterr().err == ""


def test_false_is_silent_in_a_notebook_too(small, notebook, capsys):
    flowsim.run(small(), progress=False)
    assert capsys.readouterr().err == ""


def test_a_tree_is_asked_what_its_dataset_is(result):
    with flowsim.open(result) as tree:
        xr.testing.assert_identical(tree.flow.phases, tree.to_dataset().flow.phases)
        xr.testing.assert_identical(tree.flow.best_cosine, tree.to_dataset().flow.best_cosine)
        assert dir(tree.flow.plot) == dir(tree.to_dataset().flow.plot)


@pytest.mark.parametrize("kind", KINDS)
def test_help_says_what_a_plot_takes(result, kind):
    with flowsim.open(result) as tree:
        drawn = getattr(tree.flow.plot, kind)
    text = inspect.getdoc(drawn)
    assert text.lower().startswith(KINDS[kind].lower())
    assert (drawn.__name__, "options" in inspect.signature(drawn).parameters) == (kind, False)
    assert next(iter(inspect.signature(drawn).parameters)) == "ax"
    assert "partial" not in repr(drawn)


def test_a_plot_takes_what_its_signature_says(result):
    with flowsim.open(result) as tree:
        axes = tree.flow.plot.cosines(at=10.0, interactive=False)
        assert axes.get_figure() is not None
        with pytest.raises(flowsim.UsageError, match="takes no by_clusters"):
            tree.flow.plot.alignment(by_clusters=True)


def test_evaluate_gives_what_the_run_itself_does(small, tmp_path):
    tree = flowsim.run(small(evaluate=ASKED), tmp_path / "a.nc")
    plain = flowsim.run(small(), tmp_path / "b.nc")
    again = flowsim.evaluate(tmp_path / "a.nc")
    asked = flowsim.evaluate(plain, ASKED)
    assert set(again.children) == set(asked.children) == set(ASKED)
    for name in ASKED:
        wanted = tree[name].to_dataset(inherit=False).drop_attrs()
        xr.testing.assert_identical(again[name].to_dataset().drop_attrs(), wanted)
        xr.testing.assert_identical(asked[name].to_dataset().drop_attrs(), wanted)


def test_evaluate_says_what_is_wrong(result):
    with pytest.raises(flowsim.UsageError, match="nothing is asked for"):
        flowsim.evaluate(result)
    with pytest.raises(flowsim.ScenarioError, match=r"evaluate\.robustnes"):
        flowsim.evaluate(result, {"robustnes": {}})


def test_a_sweep_runs_from_a_mapping(tmp_path, monkeypatch):
    """Whatever of its package was imported first."""
    script = f"""
import flowsim.sweep.plan
if __name__ == "__main__":
    flowsim.sweep({flowsim.loads(BASE + GRID).to_dict()!r}, "out", workers=1)
"""
    (tmp_path / "script.py").write_text(script)
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    with flowsim.open_sweep(tmp_path / "out") as found:
        assert found.sizes["seed"] == 3
        assert np.isfinite(found["final_loss"]).all()


def test_every_public_function_has_its_contract_and_names_its_parameters():
    for name in flowsim.__all__:
        public = getattr(flowsim, name)
        assert inspect.getdoc(public), name
        if inspect.isfunction(public):
            parameters = inspect.signature(public).parameters.values()
            variadic = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
            # those of flow are keys of a scenario, and held to the same rules
            assert variadic == (["keys"] if name == "flow" else []), name
