"""A value that fits a JSON schema, for tool arguments and structured answers."""

from __future__ import annotations

from typing import Any

MAX_DEPTH = 8
PLAIN: dict[str, Any] = {"string": "simulated", "integer": 1, "number": 1.5, "boolean": True}


def sample(schema: Any, depth: int = 0) -> Any:
    """One fitting value; every property of an object is filled, `$ref` is not followed."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return sample(schema[key][0], depth + 1)
    return _of_type(schema, depth)


def _of_type(schema: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        properties = schema.get("properties") or {}
        return {name: sample(inner, depth + 1) for name, inner in properties.items()}
    if kind == "array":
        return [sample(schema.get("items"), depth + 1)] if schema.get("items") else []
    return PLAIN.get(kind)
