"""Plain values become a document: unknown fields, types, enum values, texts and numbers."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from routeradmin.catalog.document import KINDS, Document
from routeradmin.catalog.problems import Problem, pointer

MAX_PROBLEMS = 1000

_MESSAGES = {
    "extra_forbidden": "is not a field of this table: remove it",
    "missing": "is required",
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "tuple_type": "must be a list",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "finite_number": "must be a finite number",
    "datetime_type": "must be a time such as 2026-01-01T00:00:00Z",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be one of {expected}",
}


def build(values: dict[str, Any]) -> tuple[Document | None, list[Problem]]:
    """The document, or None with every problem of its fields."""
    try:
        return Document.model_validate(values), []
    except ValidationError as why:
        return None, [_problem(error) for error in why.errors(include_url=False)]


def _problem(error: Any) -> Problem:
    parts = [str(part)[:256] for part in error["loc"] if part != "[key]"]
    message = _MESSAGES.get(error["type"], "")
    return Problem(pointer(*parts), message.format(**error.get("ctx", {})) or error["msg"])


def in_order(problems: list[Problem]) -> list[Problem]:
    """By place, as a reader of the file meets them; at most MAX_PROBLEMS."""
    ordered = sorted(problems, key=_place)
    if len(ordered) <= MAX_PROBLEMS:
        return ordered
    rest = len(ordered) - MAX_PROBLEMS
    return [*ordered[:MAX_PROBLEMS], Problem("", f"{rest} further problems are not listed")]


def _place(problem: Problem) -> tuple[int, int, str]:
    parts = problem.pointer.split("/")[1:]
    kinds = list(KINDS)
    rank = kinds.index(parts[0]) if parts and parts[0] in kinds else -1
    index = int(parts[1]) if len(parts) > 1 and parts[1].isdecimal() else -1
    return rank, index, problem.pointer
