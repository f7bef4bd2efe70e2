"""The judge in force: made anew when the catalog's intents change, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from routeradmin.engine.intents import Decision
from routeradmin.engine.snapshot import Snapshot

if TYPE_CHECKING:
    from routeradmin.services.intent.judging import Judge
    from routeradmin.services.intent.words import Words
    from routeradmin.services.runtime import Runtime


class Intents:
    """Held by the process; nothing is loaded before the first request for ``auto``."""

    def __init__(self) -> None:
        self._judge: Judge | None = None

    async def decide(
        self,
        runtime: Runtime,
        snapshot: Snapshot,
        words: Words,
        now: float,
        *,
        may_call: bool = True,
    ) -> Decision:
        """What ``auto`` means for these words, on this snapshot; see ``Judge.decide``."""
        judge = self._judge_of(runtime, snapshot)
        return await judge.decide(snapshot, words, now, may_call=may_call)

    def standing(self) -> dict[str, Any]:
        """Figures of the semantic cache; the evidence of a judge that was never asked is empty."""
        if self._judge is None:
            return {"entries": 0, "hits": 0, "misses": 0, "evictions": 0, "hit_rate": None}
        cache = self._judge.cache
        asked = cache.hits + cache.misses
        return {
            "entries": len(cache),
            "hits": cache.hits,
            "misses": cache.misses,
            "evictions": cache.evictions,
            "hit_rate": round(cache.hits / asked, 4) if asked else None,
        }

    def _judge_of(self, runtime: Runtime, snapshot: Snapshot) -> Judge:
        from routeradmin.services.intent.embedding import embedder_of
        from routeradmin.services.intent.judging import Judge

        judge, matrix = self._judge, snapshot.matrix
        if judge is None or (judge.matrix is not matrix and judge.matrix != matrix):
            judge = self._judge = Judge(runtime, matrix, embedder_of(runtime, matrix))
        return judge
