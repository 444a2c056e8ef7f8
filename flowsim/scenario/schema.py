"""The JSON Schema of a scenario, for editors."""

from __future__ import annotations

from typing import Any

from ..kinds.data import DATA
from ..kinds.inits import INITS
from .scenario import DEFAULT_TAGS, Scenario

FILE_NAME = "flowsim.schema.json"


def schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12."""
    document = Scenario.model_json_schema()
    for section in DEFAULT_TAGS:
        # a scenario may leave the tag out, which OpenAPI's discriminator does not allow
        for choice in (spec := document["properties"][section], *spec["oneOf"]):
            choice.pop("discriminator", None)
    taking = [data.__name__ for data in DATA.values() if data.takes_arrays]
    taking += [init.__name__ for init in INITS.values() if init.takes_arrays]
    for section in taking:  # only from Python may a path be left out
        spec = document["$defs"][section]
        spec["required"].append("path")
        path = spec["properties"]["path"]
        path |= next(choice for choice in path.pop("anyOf") if choice["type"] == "string")
        del path["default"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document, "title": "flowsim scenario"}
