"""What prompts were taken for before: found again by their digest, or by similarity.

Prompts themselves are not kept, only a keyed digest. A similar prompt is looked for among those
that the classifier judged: the others are judged by similarity anyway, and as fast.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from routeradmin.adapters.embeddings import numpy

FIRST_ROWS = 256


@dataclass(slots=True)
class Kept:
    """``row`` is its place among the vectors; ``until`` None never ages."""

    intent_id: str
    confidence: float
    until: float | None
    row: int | None = None


class SemanticCache:
    """At most ``most`` entries, the least recently used go first. ``ttl_s`` 0: they do not age."""

    def __init__(self, most: int, similarity: float, ttl_s: float) -> None:
        self._most = most
        self._similarity = similarity
        self._ttl_s = ttl_s
        self._key = secrets.token_bytes(32)
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self._rows: Any = None  # a matrix; rows that nobody owns are zero
        self._owners: list[bytes | None] = []
        self._free: list[int] = []
        self.hits = self.misses = self.evictions = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_on(self) -> bool:
        return self._most > 0

    @property
    def has_vectors(self) -> bool:
        return len(self._owners) > len(self._free)

    def digest(self, text: str) -> bytes:
        return blake2b(
            text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16
        ).digest()

    def exact(self, digest: bytes, now: float) -> Kept | None:
        found = self._kept.get(digest)
        if found is None or not self._fresh(digest, found, now):
            return None
        self._kept.move_to_end(digest)
        self.hits += 1
        return found

    def similar(self, vector: Any, now: float) -> tuple[Kept, float] | None:
        """The nearest entry and its similarity, if it is near enough."""
        while self.has_vectors:
            nearness = self._rows[: len(self._owners)] @ vector
            row = int(nearness.argmax())
            digest, similarity = self._owners[row], float(nearness[row])
            if digest is None or similarity < self._similarity:
                return None
            found = self._kept[digest]
            if self._fresh(digest, found, now):
                self._kept.move_to_end(digest)
                self.hits += 1
                return found, similarity
        return None

    def keep(
        self, digest: bytes, intent_id: str, confidence: float, now: float, vector: Any = None
    ) -> None:
        """``vector`` makes it answer for similar prompts too."""
        if not self.is_on:
            return
        self._drop(digest)
        while len(self._kept) >= self._most:
            self._drop(next(iter(self._kept)))
            self.evictions += 1
        entry = Kept(intent_id, confidence, now + self._ttl_s if self._ttl_s else None)
        if vector is not None:
            entry.row = self._place(digest, vector)
        self._kept[digest] = entry

    def _fresh(self, digest: bytes, entry: Kept, now: float) -> bool:
        if entry.until is None or now < entry.until:
            return True
        self._drop(digest)
        return False

    def _drop(self, digest: bytes) -> None:
        gone = self._kept.pop(digest, None)
        if gone is not None and gone.row is not None:
            self._rows[gone.row] = 0
            self._owners[gone.row] = None
            self._free.append(gone.row)

    def _place(self, digest: bytes, vector: Any) -> int:
        if self._free:
            row = self._free.pop()
            self._owners[row] = digest
        else:
            row = len(self._owners)
            self._owners.append(digest)
        self._grow(row, vector)
        self._rows[row] = vector
        return row

    def _grow(self, row: int, vector: Any) -> None:
        """Room for this row; the matrix doubles, so that a small cache is small."""
        held = 0 if self._rows is None else len(self._rows)
        if row < held:
            return
        np = numpy()
        grown = np.zeros((max(FIRST_ROWS, held * 2), len(vector)), dtype=np.float32)
        if held:
            grown[:held] = self._rows
        self._rows = grown
