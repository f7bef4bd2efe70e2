"""Texts as vectors. What needs numpy or a model is loaded when it is first used, never before."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

Vectors = Any  # numpy.ndarray of float32, one unit vector a row

# The lowest similarity that counts as a match. For wordllama it was read off the precision and
# recall that benchmarks/intents.py prints over the example prompts in four languages; 0.85 is
# what is usual for sentence transformers such as MiniLM.
WORDLLAMA_THRESHOLD = 0.3
SENTENCE_THRESHOLD = 0.85
INSTALL = "install it with: pip install --require-hashes -r requirements/semantic.txt"


class EmbedderUnavailable(Exception):
    """It cannot work now; the text says why, and what to do."""


class Embedder(Protocol):
    """Turns texts into unit vectors. ``threshold`` is its own measure of a match,
    ``is_remote`` whether it calls somebody."""

    name: str
    threshold: float
    is_remote: bool

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text. Raises EmbedderUnavailable."""
        ...


def numpy() -> Any:
    """The module. Raises EmbedderUnavailable where it is not installed."""
    try:
        return importlib.import_module("numpy")
    except ImportError:
        raise EmbedderUnavailable(f"numpy is not installed; {INSTALL}") from None


def unit_rows(rows: Sequence[Sequence[float]]) -> Vectors:
    """Rows of figures as unit vectors. Raises EmbedderUnavailable for anything that is none."""
    np = numpy()
    try:
        found = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError):
        raise EmbedderUnavailable("the embedder answered with no list of vectors") from None
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise EmbedderUnavailable("the embedder answered with no list of vectors")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.where(lengths > 0, lengths, 1)


class WordLlamaModel:
    """The model of the ``wordllama`` package, which needs no network: its 16 MB come with it.

    Loading takes some tenths of a second and embedding some tens of microseconds a text, so that
    both belong on a thread.
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._loading = Lock()

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Raises EmbedderUnavailable."""
        with self._loading:
            if self._model is None:
                self._model = self._loaded()
        # An empty text has no tokens and no direction.
        return unit_rows(self._model.embed([text or " " for text in texts], norm=True))

    def _loaded(self) -> Any:
        try:
            package = importlib.import_module("wordllama")
        except ImportError:
            raise EmbedderUnavailable(f"wordllama is not installed; {INSTALL}") from None
        inside = Path(str(package.__file__)).parent
        try:
            return package.WordLlama.load(cache_dir=inside, disable_download=True)
        except (OSError, ValueError, KeyError) as problem:
            reason = f"wordllama's model could not be loaded ({type(problem).__name__})"
            raise EmbedderUnavailable(f"{reason}; install the package anew") from problem
