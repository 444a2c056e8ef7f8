"""The JSON Schema of a scenario, for editors."""

from __future__ import annotations

from typing import Any

from .scenario import DEFAULT_TAGS, Scenario

FILE_NAME = "flowsim.schema.json"


def schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12."""
    document = Scenario.model_json_schema()
    for section, (tag, default) in DEFAULT_TAGS.items():
        # a scenario may leave the tag out, which a discriminator does not allow
        union = document["properties"][section]
        union.pop("discriminator", None)
        for variant in union.get("oneOf", []):
            definition = document["$defs"][variant["$ref"].rpartition("/")[2]]
            constant = definition["properties"][tag].get("const")
            if constant != default and tag not in definition.get("required", []):
                definition.setdefault("required", []).append(tag)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **document, "title": "flowsim scenario"}
