"""An upper bound of the input tokens: UTF-8 bytes of all text, and 16 for each message.

No byte-level tokenizer makes more tokens than there are bytes. Parts that are not text (images,
audio, files, things the provider keeps) have no such bound and make the whole unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

PER_MESSAGE = 16
MOST = 2**53  # of any count: what every JSON reader and every database holds exactly
VISION, AUDIO = "vision", "audio"


class Text:
    """Adds up; ``needs`` are the capabilities that the parts ask for."""

    __slots__ = ("bounded", "needs", "total")

    def __init__(self) -> None:
        self.total = 0
        self.bounded = True
        self.needs: set[str] = set()

    @property
    def bound(self) -> int | None:
        return self.total if self.bounded else None

    def add(self, text: Any) -> None:
        """A string; null and absent are nothing, and what is no string has its JSON counted."""
        if text is None:
            return
        if not isinstance(text, str):
            self.total += len(orjson.dumps(text))
        elif text.isascii():
            self.total += len(text)
        else:
            self.total += len(text.encode("utf-8", "surrogatepass"))

    def messages(self, count: int) -> None:
        self.total += PER_MESSAGE * count

    def opaque(self, need: str | None = None) -> None:
        """Something without a bound; ``need`` is the capability that it takes."""
        self.bounded = False
        if need is not None:
            self.needs.add(need)


def prompt(text: Text, value: Any) -> None:
    """A prompt or embedding input: a text, a list of texts, token numbers, or a list of those."""
    if isinstance(value, list) and not _is_tokens(value):
        for one in value:
            prompt(text, one)
        return
    text.messages(1)
    if isinstance(value, list):
        text.total += len(value)  # tokens already
    else:
        text.add(value)


def _is_tokens(value: list[Any]) -> bool:
    return all(isinstance(one, int) for one in value)


def chat(text: Text, messages: Iterable[Any]) -> None:
    """The messages of a chat-completions request."""
    for message in messages:
        text.messages(1)
        if not isinstance(message, dict):
            text.opaque()
            continue
        for name, value in message.items():
            if name == "content" and isinstance(value, list):
                _parts(text, value)
            elif name == "audio" and value is not None:
                text.opaque(AUDIO)  # an earlier answer that the provider keeps
            elif name != "role":
                text.add(value)


def _parts(text: Text, parts: list[Any]) -> None:
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("text", "refusal"):
            text.add(part.get(kind))
        elif kind == "image_url":
            text.opaque(VISION)
        elif kind == "input_audio":
            text.opaque(AUDIO)
        else:
            text.opaque()


def anthropic(text: Text, system: Any, messages: Iterable[Any]) -> None:
    """The system prompt and messages of a messages request."""
    _blocks(text, system)
    for message in messages:
        text.messages(1)
        if isinstance(message, dict):
            _blocks(text, message.get("content"))
        else:
            text.opaque()


def _blocks(text: Text, content: Any) -> None:
    if not isinstance(content, list):
        text.add(content)
        return
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("text", "thinking", "redacted_thinking", "tool_use"):
            text.add({name: value for name, value in block.items() if name != "type"})
        elif kind == "tool_result":
            text.add(block.get("tool_use_id"))
            _blocks(text, block.get("content"))
        else:
            text.opaque(VISION if kind == "image" else None)


_ITEM_TEXTS = frozenset(
    {
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "reasoning",
    }
)


def responses(text: Text, value: Any) -> None:
    """The input of a responses request: a text, or a list of items."""
    if not isinstance(value, list):
        text.messages(1)
        text.add(value)
        return
    for item in value:
        text.messages(1)
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind in _ITEM_TEXTS:
            text.add(item)
        elif kind == "message":
            _inputs(text, item.get("content"))
        else:
            text.opaque()


def _inputs(text: Text, content: Any) -> None:
    if not isinstance(content, list):
        text.add(content)
        return
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in ("input_text", "output_text", "refusal"):
            text.add(part.get("text") or part.get("refusal"))
        else:
            text.opaque({"input_image": VISION, "input_audio": AUDIO}.get(kind or ""))
