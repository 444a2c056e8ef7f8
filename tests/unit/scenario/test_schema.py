"""The JSON Schema says to an editor what flowsim says when it loads a scenario."""

from __future__ import annotations

import json
import tomllib

import pytest
from jsonschema import Draft202012Validator

import flowsim
from flowsim.scenario.schema import schema
from flowsim.scenario.shipped import shipped


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    # what an editor reads is the JSON
    document = json.loads(json.dumps(schema(), allow_nan=False))
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_scenario_is_valid(validator, name):
    assert validator.is_valid(tomllib.loads(shipped()[name].read_text()))


GOOD = [
    "",
    "[init]\nscale = 1\n",
    '[init]\nshape = "nudged"\nnudge = 0.1\n',
    '[model]\nactivation = "tanh"\nbias = true\n',
    "[model]\ndegree = 2.5\n",
    '[model]\nkind = "two_layer"\nactivation = "relu"\n',
    '[model]\nkind = "mlp"\nwidths = [3, 4]\n',
    '[model]\nkind = "mlp"\ndepth = 4\nwidth = 10\nactivation = "tanh"\n',
    '[model]\nkind = "linear"\nbias = true\n',
    '[data]\nkind = "gaussian_mixture"\ncenters = "random_sphere"\nradius = "sqrt_dimension"\n',
    '[observe]\nvariables = ["loss", "margin"]\nsnapshots = 5\n',
    "[flow]\nuntil = { log10_loss = -5, steps = 1000 }\n",
]
BAD = [
    "sed = 1\n",
    '[data]\nkind = "tabel"\n',
    '[data]\nkind = "table"\n',
    "[data]\nsampels = 3\n",
    "[data]\nsamples = 2.5\n",
    "[data.noise]\ntotl = 1\n",
    '[model]\nactivation = "tanh"\ndegree = 3\n',
    "[model]\ndegree = 0.5\n",
    '[model]\nkind = "linear"\nwidth = 3\n',
    '[model]\nkind = "mlp"\nactivation = "prelu"\n',
    '[model]\nkind = "mlp"\nwidths = []\n',
    "[init]\nnudge = 0.1\n",
    "[init]\nscale = -1\n",
    '[loss]\nkind = "hinge"\n',
    "[flow]\nuntil = { tme = 3 }\n",
    "[observe]\nsnapshots = 1\n",
    '[observe]\nvariables = ["los"]\n',
]


@pytest.mark.parametrize("text", GOOD)
def test_the_schema_accepts_what_flowsim_loads(validator, text):
    flowsim.loads(text)
    assert validator.is_valid(tomllib.loads(text))


@pytest.mark.parametrize("text", BAD)
def test_the_schema_refuses_what_flowsim_refuses(validator, text):
    with pytest.raises(flowsim.ScenarioError):
        flowsim.loads(text)
    assert not validator.is_valid(tomllib.loads(text))


def test_every_key_is_described(validator):
    for name, definition in validator.schema["$defs"].items():
        for key, entry in definition["properties"].items():
            # a constant says all there is to say
            assert "description" in entry or "const" in entry, f"{name}.{key}"
