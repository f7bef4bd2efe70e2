"""What the simulated models say: the same request always gets the same words and counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zlib import crc32

PROSE = (
    "A simulated model answers with words that mean nothing in particular, yet always come out "
    "the same for the same question. It counts tokens by length, streams one word at a time, and "
    "stops after a sentence or two. Nothing here was learned; all of it follows from the request."
)
WORDS = PROSE.split()
ANSWER_WORDS = 24
BYTES_PER_TOKEN = 4


def tokens_in(text: str) -> int:
    """Tokens of a text: one for every four UTF-8 bytes begun, and at least one."""
    return max(1, -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN))


def answer_pieces(prompt: str, words: int = ANSWER_WORDS) -> list[str]:
    """The answer to a prompt, one piece a token; where it starts in the text follows the prompt."""
    start = crc32(prompt.encode("utf-8", "surrogatepass"))
    picked = [WORDS[(start + n) % len(WORDS)] for n in range(words)]
    return [picked[0], *(f" {word}" for word in picked[1:])] if picked else []


def pieces_of(text: str) -> list[str]:
    """A given text cut before each space, so that the pieces joined are the text."""
    first, *rest = text.split(" ")
    return [piece for piece in (first, *(f" {word}" for word in rest)) if piece]


def all_text(value: Any) -> str:
    """Every text inside a message list, a content part list or a plain prompt, joined."""
    return "\n".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("content", "text", "input", "output"):
            yield from _texts(value.get(key))
