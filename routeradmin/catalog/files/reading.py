"""A catalog file, llm.catalog/1 or routeradmin.catalog/1, TOML or JSON, becomes a document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from routeradmin.catalog.canonical import LLM_MAX_BYTES, LLM_MAX_DECLARATIONS
from routeradmin.catalog.document import FORMAT, KINDS, LLM_FORMAT, Document
from routeradmin.catalog.files.llm_grammar import field_problems, value_problems
from routeradmin.catalog.files.sound import Part, sound_part
from routeradmin.catalog.files.structure import build, in_order
from routeradmin.catalog.files.syntax import FileFormat, parse
from routeradmin.catalog.problems import Invalid, Problem, pointer

MAX_BYTES = 16 * 1024 * 1024
MAX_DECLARATIONS = 65_536


class Malformed(Invalid):
    """Fields are not well formed. ``part`` is what of the file can be judged further."""

    def __init__(self, problems: Iterable[Problem], part: Part | None) -> None:
        super().__init__(problems)
        self.part = part


def read(data: bytes, format: FileFormat = "auto") -> Document:
    """The document of a file whose every field is well formed.

    References between entries are ``validate``'s. Raises Invalid with every problem found at its
    place; ``code`` is ``too-large`` for sizes and counts.
    """
    _check_size(data, MAX_BYTES if FORMAT.encode() in data else LLM_MAX_BYTES)
    return from_values(parse(data, format), size=len(data))


def from_values(values: Any, size: int = 0) -> Document:
    """The same for a file already parsed. ``size`` is its length in bytes."""
    if not isinstance(values, dict):
        raise Invalid([Problem("", "must be a table with a format and its lists")])
    values = dict(values)
    format = values.pop("format", None)
    if format not in (LLM_FORMAT, FORMAT):
        raise Invalid([Problem("/format", f'must be "{LLM_FORMAT}" or "{FORMAT}"')])
    is_llm = format == LLM_FORMAT
    if is_llm and size > LLM_MAX_BYTES:
        raise _too_large("", f"is larger than {LLM_MAX_BYTES} bytes, the limit of {LLM_FORMAT}")
    _check_counts(values, LLM_MAX_DECLARATIONS if is_llm else MAX_DECLARATIONS)
    document, problems = build(values)
    if is_llm:
        problems += field_problems(values)
        problems += value_problems(document) if document else ()
    if problems or document is None:
        raise _malformed(values, problems, is_llm=is_llm, was_built=document is not None)
    return document


def _malformed(
    values: dict[str, Any], problems: list[Problem], *, is_llm: bool, was_built: bool
) -> Malformed:
    part = sound_part(values, problems)
    if part is not None and is_llm and not was_built:
        problems = [*problems, *part.in_file(value_problems(part.document))]
        part = sound_part(values, problems)
    return Malformed(in_order(problems), part)


def _check_size(data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise _too_large("", f"is larger than {limit} bytes: split it or shorten it")


def _check_counts(values: dict[str, Any], limit: int) -> None:
    over = [
        kind for kind in KINDS if isinstance(values.get(kind), list) and len(values[kind]) > limit
    ]
    if over:
        raise Invalid(
            [Problem(pointer(kind), f"holds more than {limit} entries") for kind in over],
            code="too-large",
        )


def _too_large(place: str, detail: str) -> Invalid:
    return Invalid([Problem(place, detail)], code="too-large")
