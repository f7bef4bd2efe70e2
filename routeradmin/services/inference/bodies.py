"""A request body as the client wrote it, with only what must change changed.

Everything else keeps its bytes: unknown fields, the order of keys, the spelling of numbers. Where a
key stands is found in the raw text, because a document that was parsed and written again is another
text.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import orjson

from routeradmin.adapters import json_text

_MODEL = b'"model"'
_COLON = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*")
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_STRING_TOKEN = re.compile(_STRING, re.DOTALL)
_TOKEN = re.compile(_STRING + rb"|[{}\[\],]", re.DOTALL)
_SPACE = b" \t\r\n"


class BadBody(Exception):
    """The body is not one JSON object in UTF-8."""


class Span(NamedTuple):
    """Where the value of a top-level key stands in the raw body."""

    start: int
    end: int


def parse(raw: bytes) -> dict[str, Any]:
    """The body as an object. Raises BadBody."""
    try:
        document = json_text.loads(raw)
    except orjson.JSONDecodeError as problem:
        raise BadBody("The body is not valid JSON; send one JSON object in UTF-8.") from problem
    if not isinstance(document, dict):
        raise BadBody("The body is JSON but not an object; send one JSON object.")
    return document


class Template:
    """A parsed body that can be written out with another model name, as often as needed."""

    __slots__ = ("_head", "_tails")

    def __init__(self, raw: bytes, document: dict[str, Any], *, with_usage: bool = False) -> None:
        """``with_usage`` asks for the usage chunk at the end of a stream too."""
        if with_usage:
            raw = asking_for_usage(raw, document)
        spans = model_spans(raw)
        self._head = raw[: spans[0].start]
        if len(spans) == 1:  # nearly always
            self._tails = [raw[spans[0].end :]]
        else:
            ends = [*(span.start for span in spans[1:]), len(raw)]
            self._tails = [raw[span.end : end] for span, end in zip(spans, ends, strict=True)]

    def write(self, model: str) -> bytes:
        name = orjson.dumps(model)
        if len(self._tails) == 1:
            return self._head + name + self._tails[0]
        return self._head + b"".join([name + tail for tail in self._tails])


def model_spans(raw: bytes) -> list[Span]:
    """Every top-level ``model`` value, where it is written twice both."""
    found = raw.find(_MODEL)
    # Without escapes in the letters' range the key cannot be spelled otherwise, so that the only
    # place where it stands must be the top-level key that parsing found.
    if found >= 0 and raw.find(_MODEL, found + 1) < 0 and b"\\u006" not in raw:
        colon = _COLON.match(raw, found + len(_MODEL))
        value = _STRING_TOKEN.match(raw, colon.end()) if colon is not None else None
        if value is not None:
            return [Span(*value.span())]
    return spans_of(raw, "model")


def spans_of(raw: bytes, name: str) -> list[Span]:
    """Where the values of this top-level key stand; the raw text must be a valid object."""
    spans: list[Span] = []
    depth, key, start = 0, None, -1
    for token in _TOKEN.finditer(raw):
        kind = raw[token.start()]
        if kind in b"{[":
            depth += 1
        elif kind in b"}]":
            depth -= 1
            if depth == 0 and start >= 0:
                spans.append(_trimmed(raw, start, token.start()))
                start = -1
        elif depth != 1:
            continue
        elif kind in b",":
            if start >= 0:
                spans.append(_trimmed(raw, start, token.start()))
            key, start = None, -1
        elif key is None:
            key = json_text.loads(token.group())
            if key == name:
                start = raw.index(b":", token.end()) + 1
    return spans


def _trimmed(raw: bytes, start: int, end: int) -> Span:
    while raw[start] in _SPACE:
        start += 1
    while raw[end - 1] in _SPACE:
        end -= 1
    return Span(start, end)


def asking_for_usage(raw: bytes, document: dict[str, Any]) -> bytes:
    """The body with ``stream_options.include_usage`` true, if it was not already."""
    options = document.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage") is True:
        return raw
    if "stream_options" not in document:
        return with_member(raw, "stream_options", {"include_usage": True})
    for span in reversed(spans_of(raw, "stream_options")):
        text = _with_usage(raw[span.start : span.end])
        raw = raw[: span.start] + text + raw[span.end :]
    return raw


def _with_usage(options: bytes) -> bytes:
    """The text of ``stream_options`` with ``include_usage`` true and all else as it was."""
    if not options.startswith(b"{"):
        return b'{"include_usage":true}'
    spans = spans_of(options, "include_usage")
    if not spans:
        return with_member(options, "include_usage", True)
    for span in reversed(spans):
        options = options[: span.start] + b"true" + options[span.end :]
    return options


def without_member(raw: bytes, name: str) -> bytes:
    """An object's text without this top-level member; all other bytes stay as they are."""
    for span in reversed(spans_of(raw, name)):
        start = raw.rindex(b'"', 0, raw.rindex(b'"', 0, raw.rindex(b":", 0, span.start)))
        end = span.end
        while raw[end] in _SPACE:
            end += 1
        before = raw[:start].rstrip(_SPACE)
        if raw[end : end + 1] == b",":
            raw = raw[:start] + raw[end + 1 :].lstrip(_SPACE)
        elif before.endswith(b","):
            raw = before[:-1] + raw[end:]
        else:
            raw = raw[:start] + raw[end:]
    return raw


def with_member(raw: bytes, name: str, value: Any) -> bytes:
    """An object's text with one more member at its end; the text must hold an object."""
    end = raw.rindex(b"}")
    inside = raw[:end].rstrip(_SPACE)
    comma = b"" if inside.endswith(b"{") else b","
    return inside + comma + orjson.dumps(name) + b":" + orjson.dumps(value) + raw[end:]
