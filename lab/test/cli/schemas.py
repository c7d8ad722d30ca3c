"""The JSON Schemas of docs/schema, and whether what a command writes is as they say."""

import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[3]
SCHEMA_COMMAND = ROOT / "setup" / "schemas"


@functools.cache
def _strict(name: str) -> Draft202012Validator:
    """The schema, which allows fields of newer versions, with none allowed."""
    schema = json.loads((ROOT / "docs" / "schema" / f"{name}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    for definition in schema.get("$defs", {}).values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    return Draft202012Validator(schema)


def assert_valid(name: str, data: Any) -> None:
    """Raises ValidationError where it is not as the schema says, or has a field that no record has."""
    _strict(name).validate(data)
