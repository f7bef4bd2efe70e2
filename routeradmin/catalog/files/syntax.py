"""Bytes of a TOML or JSON file become plain values; syntax errors carry line and column only."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Literal

from routeradmin.catalog.problems import Invalid, Problem, pointer

FileFormat = Literal["auto", "toml", "json"]

_TOML_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)")


def parse(data: bytes, format: FileFormat = "auto") -> Any:
    """The file's value. Raises Invalid; no part of the file is ever quoted."""
    text = _decode(data)
    if format == "auto":
        format = "json" if text.lstrip()[:1] in ("{", "[") and not _is_toml_header(text) else "toml"
    try:
        return _json(text) if format == "json" else _toml(text)
    except RecursionError:
        raise _refused(f"is nested too deeply for a {format.upper()} catalog") from None


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        raise _refused(f"is not UTF-8 text: see byte {why.start}") from None


def _is_toml_header(text: str) -> bool:
    """Whether a leading ``[`` opens a TOML table rather than a JSON array."""
    return re.match(r"\s*\[\[?\s*[A-Za-z_][\w.-]*\s*\]", text) is not None


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except ValueError as why:
        place = _TOML_PLACE.search(str(why))
        raise _refused(
            f"is not valid TOML: see {place[1] if place else 'its numbers and dates'}"
        ) from None


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as why:
        place = f"line {why.lineno}, column {why.colno}"
        raise _refused(f"is not valid JSON: see {place}") from None
    except Invalid:
        raise
    except ValueError:
        raise _refused("holds a number that is too long") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise Invalid([Problem(pointer(name[:256]), "stands twice in one JSON object")])
            seen.add(name)
    return table


def _no_constant(_: str) -> Any:
    raise _refused("holds NaN or Infinity, which JSON does not have")


def _refused(detail: str) -> Invalid:
    return Invalid([Problem("", detail)])
