"""Kernels are compiled by one process for all, and what that takes is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.reduced import reduced

import flowsim
from flowsim import machine
from flowsim.run.compile_ahead import RARE, USUAL, tiny
from flowsim.run.estimate import integrators, outlook
from flowsim.run.prepare import Prepared
from flowsim.scenario.shipped import shipped
from flowsim.solve import compiling

#: A kernel as small as can be in a folder of its own, and what is written while it is asked.
ASK = """
import sys, time
from contextlib import contextmanager
import numpy as np
from flowsim.solve import compiling
from flowsim.solve.numba import kernel as kernels
from flowsim.solve.numba.compiled import entry
from flowsim.solve.numba.regime import Regime

@entry
def twice(x: float) -> float:
    return 2.0 * x

kernel = kernels.Kernel(twice, Regime(gates=False))
told, warned = [], []

@contextmanager
def teller(expected, once):
    told.append((expected, once))
    yield

before = kernel.missing((1.0,))
with compiling.telling(teller), compiling.warning(warned.append):
    assert kernel(1.0) == 2.0
    assert kernel(3.0) == 6.0
hits = sum(kernel._entry.stats.cache_hits.values())
print(repr((before, kernel.missing((1.0,)), told, warned, hits, compiling.spent() > 0)))
"""


def ask(cache: Path, file: Path) -> subprocess.Popen[str]:
    if not file.exists():
        file.write_text(ASK)
    environment = {**os.environ, "FLOWSIM_CACHE": str(cache)}
    return subprocess.Popen([sys.executable, file], env=environment, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> tuple:
    text, _ = process.communicate()
    assert process.returncode == 0
    return eval(text)


def test_it_is_compiled_the_first_time_and_its_seconds_are_remembered(tmp_path):
    missing, left, told, warned, hits, spent = answer(ask(tmp_path / "cache", tmp_path / "ask.py"))
    assert (missing, left, told, warned, hits, spent) == (6.0, 0.0, [(6.0, True)], [], 0, True)
    measured = json.loads((tmp_path / "cache" / "seconds.json").read_text())
    assert measured.keys() == {"twice smooth"}
    assert 0 < measured["twice smooth"] < 6
    missing, left, told, warned, hits, spent = answer(ask(tmp_path / "cache", tmp_path / "ask.py"))
    assert (missing, left, told, warned, hits, spent) == (0.0, 0.0, [], [], 1, False)


def test_processes_that_need_it_at_once_compile_it_once(tmp_path):
    asked = [ask(tmp_path / "cache", tmp_path / "ask.py") for _ in range(4)]
    answers = [answer(process) for process in asked]
    assert sorted(hits for *_, hits, _ in answers) == [0, 1, 1, 1]
    assert len(list((tmp_path / "cache" / "numba").glob("*.nbc"))) == 1


def test_where_nothing_can_be_written_it_is_compiled_and_said(tmp_path):
    (tmp_path / "file").touch()
    *_, told, warned, hits, spent = answer(ask(tmp_path / "file" / "cache", tmp_path / "ask.py"))
    assert (told, hits, spent) == ([(6.0, True)], 0, True)
    (message,) = warned
    assert "compiled code cannot be kept" in message
    assert "FLOWSIM_CACHE can name another folder" in message


def test_a_folder_that_can_only_be_read_serves(tmp_path):
    cache = tmp_path / "cache"
    answer(ask(cache, tmp_path / "ask.py"))
    folders = [cache, cache / "numba"]
    for folder in folders:
        folder.chmod(0o555)
    try:
        *_, told, warned, hits, _ = answer(ask(cache, tmp_path / "ask.py"))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert (told, warned, hits) == ([], [], 1)


@pytest.mark.parametrize("name", [*USUAL, *RARE])
def test_the_tiny_scenario_needs_its_kernel(name):
    (integrator,) = integrators(Prepared(tiny(name)))
    assert integrator.program == name


@pytest.fixture(scope="module")
def kinds() -> dict[str, tuple]:
    """name of a kernel -> types of its arguments"""
    return {name: kinds_of(next(integrators(Prepared(tiny(name))))) for name in (*USUAL, *RARE)}


def kinds_of(integrator) -> tuple:
    if integrator.program.startswith("flow"):
        arguments = integrator._arguments(0, integrator._empty())
    else:
        arguments = integrator._arguments(integrator._empty(), 0.0, 0)
    return integrator._kernel._kinds(arguments)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_scenario_runs_on_one_of_these_kernels(name, kinds):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = Prepared(reduced(name))
    for integrator in integrators(prepared):
        if integrator.program not in ("", "diffrax", "optax"):
            assert kinds_of(integrator) == kinds[integrator.program]


def test_what_a_run_takes_is_told_before(small):
    prepared = Prepared(small(flow__engine="numba"))
    (integrator,) = integrators(prepared)
    integrator.begin()
    found = outlook(prepared)
    assert (found.compiling, found.evaluations) == (0.0, 1500)
    assert found.running > 0
    descent = Prepared(small(flow={"method": "gradient_descent", "step": 0.5, "until": {"time": 20.0}}))
    assert outlook(descent).evaluations == 40
    assert outlook(Prepared(small(flow__engine="diffrax"))).compiling > 0


def test_what_several_threads_compile_at_once_is_counted_once(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(compiling.time, "monotonic", lambda: clock[0])
    earlier = compiling.compiling(1.0, once=True)
    with earlier:
        clock[0] += 5.0
        since = compiling.Clock()  # a run begins while another one compiles
        with compiling.compiling(1.0, once=True):
            clock[0] += 3.0
            assert (since.seconds, since.compiling) == (0.0, 3.0)
        clock[0] += 1.0
    clock[0] += 2.0
    assert (since.seconds, since.compiling) == (2.0, 4.0)


def test_compiling_is_an_attribute_of_its_own_and_not_in_the_wall_time(small, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(compiling.time, "monotonic", lambda: clock[0])
    before, began = compiling.spent(), compiling.working()
    with compiling.compiling(1.0, once=True):
        clock[0] += 5.0
    clock[0] += 2.0
    assert compiling.spent() - before == 5.0
    assert compiling.working() - began == 2.0
    monkeypatch.undo()

    from flowsim.solve.numba.kernel import Kernel

    whole = Kernel.__call__

    def slow(kernel, *arguments):
        with compiling.compiling(1.0, once=True):
            compiling.time.sleep(0.2)
        return whole(kernel, *arguments)

    monkeypatch.setattr(Kernel, "__call__", slow)
    attributes = flowsim.run(small(flow__engine="numba", flow__until={"steps": 3})).attrs
    assert attributes["compile_time"] >= 0.2
    calls = round(attributes["compile_time"] / 0.2)
    assert attributes["wall_time"] < 0.2 * calls


def test_who_is_inside_hears_of_it(monkeypatch):
    heard = []

    @contextmanager
    def teller(expected, once):
        heard.append((expected, once))
        yield

    with compiling.telling(teller), compiling.compiling(3.0, once=False):
        pass
    with compiling.compiling(4.0, once=True):
        pass
    assert heard == [(3.0, False)]


def test_the_folder_is_the_user_s_or_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("FLOWSIM_CACHE", str(tmp_path))
    assert machine.folder() == tmp_path
    monkeypatch.delenv("FLOWSIM_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert machine.folder().name == "flowsim"
    assert machine.folder().is_relative_to(Path.home())


@pytest.mark.parametrize("text", ["", "[]", "{", '{"flow smooth": "fast"}'])
def test_what_was_measured_may_be_damaged(text, monkeypatch, tmp_path):
    monkeypatch.setenv("FLOWSIM_CACHE", str(tmp_path))
    (tmp_path / "seconds.json").write_text(text)
    assert machine.measured() == {}
    machine.remember("flow smooth", 3.0)
    assert machine.measured() == {"flow smooth": 3.0}
