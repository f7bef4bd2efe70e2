"""What intent tests share: an event loop, and an embedder made of letters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from routeradmin.adapters.embeddings import EmbedderUnavailable, Vectors, unit_rows
from routeradmin.engine.intents import Intent, IntentSettings, Matrix


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as held:
        yield held


class Letters:
    """A vector counts letters: texts with the same letters are alike. ``asked`` are its batches."""

    name = "letters"
    threshold = 0.9
    is_remote = False

    def __init__(self, *, broken: bool = False) -> None:
        self.asked: list[list[str]] = []
        self.broken = broken

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        await asyncio.sleep(0)
        if self.broken:
            raise EmbedderUnavailable("it is broken")
        return unit_rows(
            [[1e-6 + text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        )


def matrix(*intents: Intent, **settings: Any) -> Matrix:
    listed = intents or (
        Intent("coding", "r-coding", examples=("code, to debug", "debug code")),
        Intent("fast", "r-fast", examples=("hello hello",)),
        Intent("reasoning", "r-reasoning"),
        Intent("secure", "r-secure", examples=("passport numbers",), local_only=True),
        Intent("vision", "r-vision"),
    )
    return Matrix(IntentSettings(enabled=True, **settings), {one.id: one for one in listed})
