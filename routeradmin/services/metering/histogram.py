"""A histogram that costs one search and two additions to feed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache


class Histogram:
    """Counts values by upper bound, which is part of its bucket; the last bucket has none."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def bound_texts(self) -> tuple[str, ...]:
        """The bounds as a bucket's label shows them, the last one ``+Inf``."""
        return _texts(self.bounds)


@lru_cache(maxsize=64)
def _texts(bounds: tuple[float, ...]) -> tuple[str, ...]:
    return (*(repr(float(bound)) for bound in bounds), "+Inf")
