"""The words that a decision goes by, taken from a request body. They are never kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

# What a request says stands under these; the rest of a body is settings.
_SPOKEN = ("system", "instructions", "messages", "input", "prompt", "suffix")
# Members that hold names, addresses and files, not words.
_MUTE = frozenset(
    {"role", "type", "id", "model", "url", "image_url", "data", "file_data", "detail"}
)
MOST_CHARS = 2000  # of the latest message: its beginning and its end tell what is wanted


@dataclass(frozen=True, slots=True)
class Words:
    """``latest`` is what the user said last, cut to length; ``everything`` all that would be sent
    upstream. Neither shows in a repr."""

    latest: str = field(default="", repr=False)
    everything: str = field(default="", repr=False)
    has_image: bool = False


def of_text(text: str, *, has_image: bool = False) -> Words:
    return Words(_cut(text), text, has_image)


def of_body(document: dict[str, Any], *, has_image: bool) -> Words:
    """From a body of any inference protocol."""
    said = [document[name] for name in _SPOKEN if name in document]
    everything = "\n".join(text for part in said for text in _texts(part))
    return Words(_cut(_latest(document)), everything, has_image)


def _latest(document: dict[str, Any]) -> str:
    turns = document.get("messages", document.get("input", document.get("prompt")))
    if isinstance(turns, str):
        return turns
    if not isinstance(turns, list):
        return ""
    by_user = [turn for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
    for turn in reversed(by_user):
        text = "\n".join(_texts(turn.get("content")))
        if text.strip():
            return text
    return "" if by_user else "\n".join(turn for turn in turns if isinstance(turn, str))


def _texts(value: Any) -> Iterator[str]:
    """Every text in it, however deep, in order."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, dict):
            if one.get("type") == "tool_use":
                # Its members are the tool's, and no names of ours; numbers stand there too.
                one = {**one, "input": _written(one.get("input"))}
            waiting.extend(reversed([part for name, part in one.items() if name not in _MUTE]))


def _written(value: Any) -> str:
    """The input of a tool, which other protocols send as a text."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # deeper than it can be written
        return str(value)


def _cut(text: str) -> str:
    if not text.isascii():  # half a surrogate pair is no text that a model could read
        text = text.encode("utf-8", "replace").decode()
    text = text.strip()
    half = MOST_CHARS // 2
    return text if len(text) <= MOST_CHARS else f"{text[:half]}\n{text[-half:]}"
