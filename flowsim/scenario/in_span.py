"""What asks for features where samples are coordinates in a basis of their span, which has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..kinds.inits import INITS
from ..kinds.networks import NETWORKS
from ..kinds.section import Broken
from .flow import ADAM, Stage

if TYPE_CHECKING:
    from .scenario import Scenario

READS = ("data.coordinates",)
#: What is said of keys that need features.
NONE = 'data.coordinates = "span" knows no features'


def broken_in_span(scenario: Scenario) -> Iterator[Broken]:
    if not scenario.data.spanned:
        return
    yield from _broken_start(scenario)
    for key, flow in scenario.flows():
        if flow.method in ADAM:
            others = '"gradient_flow", "gradient_descent" or "sgd"'
            yield Broken(f"{key}.method", f'"{flow.method}" goes by single features, and {NONE}; use {others}', READS)
        if flow.fresh:
            wrong = 'data.coordinates = "span" is the span of samples drawn once, which fresh ones would leave'
            yield Broken(f"{key}.fresh", f"{wrong}; leave it out", READS)
        if isinstance(flow, Stage) and flow.attack is not None and flow.attack.norm == "linf":
            yield Broken(f"{key}.attack.norm", _by_features("linf"), READS)
    if scenario.evaluate.robustness is not None and scenario.evaluate.robustness.norm == "linf":
        yield Broken("evaluate.robustness.norm", _by_features("linf"), READS)
    for name in ("probes", "grid"):
        if getattr(scenario.observe, name) is not None:
            yield Broken(f"observe.{name}", f"points are given by features, and {NONE}", READS)
    if scenario.data.test is not None and scenario.data.test.path is not None:
        wrong = f"a file has features, and {NONE}; give samples, how many to draw anew"
        yield Broken("data.test.path", wrong, READS)


def _by_features(norm: str) -> str:
    return f'"{norm}" goes by features, and {NONE}; use "l2"'


def _broken_start(scenario: Scenario) -> Iterator[Broken]:
    if not scenario.model.two_layers:
        others = " or ".join(f'"{name}"' for name, kind in NETWORKS.items() if kind.two_layers)
        wrong = (
            f'not with data.coordinates = "span", for which a network of kind "{scenario.model.kind}" draws no weights'
        )
        yield Broken("model.kind", f"{wrong}; use {others}", READS)
    if not scenario.init.isotropic:
        others = " or ".join(f'"{name}"' for name, kind in INITS.items() if kind.isotropic)
        wrong = f'"{scenario.init.shape}" does not look alike in any basis, as data.coordinates = "span" asks for'
        yield Broken("init.shape", f"{wrong}; use {others}", READS)
