"""A plugin's file, a scenario that names its kinds, and the plugins that the documentation shows."""

from __future__ import annotations

import re
from pathlib import Path

LAB = '''"""What my lab adds to flowsim."""

import flowsim

__version__ = "1.2"


@flowsim.register.observable("participation", dims=("neuron",), long_name="participation ratio of the weights")
def participation(instant):
    square = instant.direction**2
    return square.sum(axis=-1) ** 2 / (square**2).sum(axis=-1)


@flowsim.register.claim(
    "my_lab.participates",
    where="Section 1",
    statement="mean participation ratio at the end",
    bound=3.0,
    at_least=True,
    observables=("participation",),
)
def participates(evidence):
    return evidence.over_time("participation")[1][-1].mean()


@flowsim.register.stop("norm", description="the norm of all hidden weights grows to this value")
def norm(instant):
    return (instant.hidden**2).sum() ** 0.5
'''

SCENARIO = """[data]
samples = 8
dimension = 10
[model]
activation = "relu"
width = 5
[flow]
engine = "numba"
until = { time = 2.0 }
[observe]
times = 4
variables = ["loss", "participation"]
[evaluate]
claims = ["my_lab.participates"]
"""


#: A file that a page of the documentation shows with its name.
FILE = re.compile(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_files(page: Path) -> dict[str, str]:
    """Name -> content of the files that a page shows."""
    return dict(FILE.findall(page.read_text(encoding="utf-8")))
