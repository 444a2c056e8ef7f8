"""flowsim simulates the gradient flow of neural networks.

>>> import flowsim
>>> scenario = flowsim.load("scenario.toml")
>>> tree = flowsim.run(scenario)

Public names are loaded when they are first used: importing flowsim imports neither JAX nor Matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._accessor import register_with_xarray

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import evaluate, register, run, sweep
    from .errors import FlowsimError, NotWritten, ScenarioError, UsageError
    from .evaluate.case import Case, reopen
    from .evaluate.claim import Constant, Premise, Rate, Window
    from .evaluate.compare import compare
    from .evaluate.density import density
    from .evaluate.distance import distance
    from .evaluate.embedding import embed
    from .evaluate.evidence import NotApplicable, NotCovered
    from .evaluate.kkt import limit
    from .evaluate.kkt.explore import kkt_points
    from .evaluate.robustness import robustness, transfer
    from .evaluate.weights import weights
    from .kinds.plugins import plugin
    from .present.page import write_report
    from .present.side_by_side import side_by_side
    from .problem import Data, Problem, Weights, build
    from .results import open
    from .run import run_ensemble
    from .run.function import flow
    from .scenario import Scenario, load, loads
    from .sweep import open_sweep

_HOME = {
    "Case": "evaluate.case",
    "Constant": "evaluate.claim",
    "Data": "problem",
    "FlowsimError": "errors",
    "NotApplicable": "evaluate.evidence",
    "NotCovered": "evaluate.evidence",
    "Premise": "evaluate.claim",
    "Problem": "problem",
    "Rate": "evaluate.claim",
    "Scenario": "scenario",
    "NotWritten": "errors",
    "ScenarioError": "errors",
    "UsageError": "errors",
    "Weights": "problem",
    "Window": "evaluate.claim",
    "build": "problem",
    "compare": "evaluate.compare",
    "density": "evaluate.density",
    "distance": "evaluate.distance",
    "embed": "evaluate.embedding",
    "evaluate": "",
    "flow": "run.function",
    "kkt_points": "evaluate.kkt.explore",
    "limit": "evaluate.kkt",
    "load": "scenario",
    "loads": "scenario",
    "open": "results",
    "open_sweep": "sweep",
    "plugin": "kinds.plugins",
    "register": "",
    "reopen": "evaluate.case",
    "robustness": "evaluate.robustness",
    "run": "",
    "run_ensemble": "run",
    "side_by_side": "present.side_by_side",
    "sweep": "",
    "transfer": "evaluate.robustness",
    "weights": "evaluate.weights",
    "write_report": "present.page",
}

__all__ = [
    "Case",
    "Constant",
    "Data",
    "FlowsimError",
    "NotApplicable",
    "NotCovered",
    "NotWritten",
    "Premise",
    "Problem",
    "Rate",
    "Scenario",
    "ScenarioError",
    "UsageError",
    "Weights",
    "Window",
    "build",
    "compare",
    "density",
    "distance",
    "embed",
    "evaluate",
    "flow",
    "kkt_points",
    "limit",
    "load",
    "loads",
    "open",
    "open_sweep",
    "plugin",
    "register",
    "reopen",
    "robustness",
    "run",
    "run_ensemble",
    "side_by_side",
    "sweep",
    "transfer",
    "weights",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'flowsim' has no attribute {name!r}")
    home = _HOME[name]
    # packages that are their own functions
    value = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_xarray()
