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
    from . import sweep
    from .analysis.case import Case, reopen
    from .analysis.compare import compare
    from .analysis.density import density
    from .analysis.distance import distance
    from .analysis.kkt import limit
    from .analysis.robustness import robustness, transfer
    from .analysis.weights import weights
    from .errors import FlowsimError, ScenarioError, UsageError
    from .evaluation import evaluate
    from .problem import Data, Problem, Weights, build
    from .report.page import write_report
    from .results import open
    from .scenario import Scenario, load, loads
    from .simulation import run, run_ensemble
    from .sweep import open_sweep

_HOME = {
    "Case": "analysis.case",
    "Data": "problem",
    "FlowsimError": "errors",
    "Problem": "problem",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "UsageError": "errors",
    "Weights": "problem",
    "build": "problem",
    "compare": "analysis.compare",
    "density": "analysis.density",
    "distance": "analysis.distance",
    "evaluate": "evaluation",
    "limit": "analysis.kkt",
    "load": "scenario",
    "loads": "scenario",
    "open": "results",
    "open_sweep": "sweep",
    "reopen": "analysis.case",
    "robustness": "analysis.robustness",
    "run": "simulation",
    "run_ensemble": "simulation",
    "sweep": "",
    "transfer": "analysis.robustness",
    "weights": "analysis.weights",
    "write_report": "report.page",
}

__all__ = [
    "Case",
    "Data",
    "FlowsimError",
    "Problem",
    "Scenario",
    "ScenarioError",
    "UsageError",
    "Weights",
    "build",
    "compare",
    "density",
    "distance",
    "evaluate",
    "limit",
    "load",
    "loads",
    "open",
    "open_sweep",
    "reopen",
    "robustness",
    "run",
    "run_ensemble",
    "sweep",
    "transfer",
    "weights",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'flowsim' has no attribute {name!r}")
    home = _HOME[name]
    # the package of sweeps is its own function
    value = getattr(import_module(f".{home}", __name__), name) if home else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_xarray()
