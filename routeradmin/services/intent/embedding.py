"""The embedders to choose from: wordllama on a thread, or an endpoint behind our own routes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from routeradmin.adapters.embeddings import (
    SENTENCE_THRESHOLD,
    WORDLLAMA_THRESHOLD,
    Embedder,
    EmbedderUnavailable,
    Vectors,
    WordLlamaModel,
    unit_rows,
)
from routeradmin.engine.intents import NO_EMBEDDER, Matrix
from routeradmin.services.inference.facts import EMBEDDINGS
from routeradmin.services.intent.single_call import Question, Unanswered, ask
from routeradmin.services.runtime import Runtime

WORDLLAMA = "wordllama"
_model = WordLlamaModel()  # one a process: loading it takes long and it never changes


class WordLlama:
    """Offline; everything happens on a thread."""

    name = WORDLLAMA
    threshold = WORDLLAMA_THRESHOLD
    is_remote = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await asyncio.to_thread(_model, texts)


class Routed:
    """Any OpenAI-compatible embeddings endpoint that a route leads to; one call a batch."""

    threshold = SENTENCE_THRESHOLD
    is_remote = True

    def __init__(self, runtime: Runtime, matrix: Matrix) -> None:
        self._runtime = runtime
        self._matrix = matrix
        self.name = matrix.settings.embedder

    async def embed(self, texts: Sequence[str]) -> Vectors:
        question = Question(
            self.name,
            EMBEDDINGS,
            {"input": list(texts), "encoding_format": "float"},
            self._matrix.settings.embedder_timeout_s,
            self._matrix.guards,
        )
        try:
            document = await ask(self._runtime, self._runtime.current.snapshot, question)
        except Unanswered as why:
            raise EmbedderUnavailable(str(why)) from None
        rows = document.get("data")
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise EmbedderUnavailable(f"{self.name} did not answer with one vector a text")
        try:
            ordered = sorted(rows, key=lambda row: int(row.get("index", 0)))
            return await asyncio.to_thread(unit_rows, [row["embedding"] for row in ordered])
        except (AttributeError, KeyError, TypeError, ValueError):
            message = f"{self.name} did not answer with one vector a text"
            raise EmbedderUnavailable(message) from None


def embedder_of(runtime: Runtime, matrix: Matrix) -> Embedder | None:
    """The one that the settings name; None for none."""
    match matrix.settings.embedder:
        case name if name == NO_EMBEDDER:
            return None
        case name if name == WORDLLAMA:
            return WordLlama()
    return Routed(runtime, matrix)
