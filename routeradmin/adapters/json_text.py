"""JSON from outside, read as widely as its grammar: half of a surrogate pair may stand alone.

A text that was cut in the middle of a character that takes two escapes ends with one of them
(``"\\ud83d"``): programs in JavaScript and Python write such halves, and servers that stream token
by token do. A half is no character and is read as U+FFFD; whoever passes the bytes on passes on
what was written.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import orjson

_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def loads(text: bytes | str) -> Any:
    """The document. Raises orjson.JSONDecodeError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        if not _HALF.search(raw):
            raise
        try:
            whole = _without_halves(raw)
        except (ValueError, RecursionError):
            whole = None
        if whole is None:
            raise
    return orjson.loads(whole)


def _without_halves(raw: bytes) -> bytes:
    """The same document with other words for what cannot be said in UTF-8. No step of it is slow
    in Python, because requests are long. Raises ValueError, RecursionError."""
    document = json.loads(raw.decode(), parse_constant=_no_number)
    text = json.dumps(document, ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")
