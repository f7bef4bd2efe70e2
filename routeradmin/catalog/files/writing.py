"""A document becomes a file in its canonical order; the same document is always the same bytes."""

from __future__ import annotations

import json
from typing import Any, Literal

import tomli_w

from routeradmin.catalog.canonical import LLM_MAX_BYTES, canonical
from routeradmin.catalog.document import FORMAT, LLM_FORMAT, Document


def write(document: Document, format: Literal["toml", "json"] = "toml") -> bytes:
    """The file's bytes, UTF-8: llm.catalog/1 where the document is valid as such."""
    form = canonical(document)
    data = _encode(form, format)
    if form["format"] == LLM_FORMAT and len(data) > LLM_MAX_BYTES:
        # canonically small enough, but this file would be refused by its own format's limit
        data = _encode({**form, "format": FORMAT}, format)
    return data


def _encode(form: dict[str, Any], format: Literal["toml", "json"]) -> bytes:
    if format == "json":
        return (json.dumps(form, ensure_ascii=False, indent=2) + "\n").encode()
    return "\n".join(_toml((), form)).lstrip("\n").encode() + b"\n"


def _toml(path: tuple[str, ...], table: dict[str, Any]) -> list[str]:
    """A table's own values first, then its tables, each under a header of its own."""
    values = {name: value for name, value in table.items() if not _is_nested(value)}
    lines = [tomli_w.dumps(values).rstrip("\n")] if values else []
    for name, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{_header(path, name)}]", *_toml((*path, name), value)]
        elif _is_nested(value):
            for entry in value:
                lines += ["", f"[[{_header(path, name)}]]", *_toml((*path, name), entry)]
    return lines


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    )


def _header(path: tuple[str, ...], name: str) -> str:
    # every name that heads a table is a field's, hence a bare key
    return ".".join((*path, name))
