"""One judge for one state of the catalog's intents: reflexes, cache, similarity, classifier."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from routeradmin.adapters.embeddings import Embedder, EmbedderUnavailable, Vectors
from routeradmin.engine import reflexes
from routeradmin.engine.intents import Decision, Intent, Matrix
from routeradmin.engine.snapshot import Snapshot
from routeradmin.services.intent.batching import Batcher, Once
from routeradmin.services.intent.cache import Kept, SemanticCache
from routeradmin.services.intent.classifying import classify
from routeradmin.services.intent.matching import SHOWN, Examples
from routeradmin.services.intent.single_call import Unanswered
from routeradmin.services.intent.words import Words
from routeradmin.services.runtime import Runtime

NOT_ASKED = "not asked: this decision makes no calls"
LONG_CHARS = 20_000  # text above this is looked through on a thread


@dataclass(slots=True)
class _Seen:
    """What the words showed on the way to a decision."""

    words: Words
    now: float
    basis: Decision
    may_call: bool = True
    digest: bytes = b""
    vector: Any = None


class Judge:
    """Decides for one matrix; its cache and its examples' vectors live and die with it."""

    cache: SemanticCache
    _vectors: Vectors

    def __init__(self, runtime: Runtime, matrix: Matrix, embedder: Embedder | None) -> None:
        self.matrix = matrix
        self._runtime = runtime
        self._embedder = embedder
        self._batcher = None if embedder is None else Batcher(embedder.embed)
        self._keywords = reflexes.Keywords(matrix.intents.values())
        self._examples = Examples(matrix.intents.values())
        self._embedding = Once(self._embed_examples)
        self._forget()

    async def _embed_examples(self) -> Vectors:
        assert self._embedder is not None  # noqa: S101
        return await self._embedder.embed(self._examples.texts)

    async def decide(
        self, snapshot: Snapshot, words: Words, now: float, *, may_call: bool = True
    ) -> Decision:
        """What the words are about. Never raises for what an embedder or a model does.

        ``may_call`` False: no upstream is asked; what would have been is noted.
        """
        if len(words.everything) > LONG_CHARS:
            found = await asyncio.to_thread(self._by_reflex, words)
        else:
            found = self._by_reflex(words)
        if found.intent_id is not None:
            return found
        seen = _Seen(words, now, found, may_call)
        if words.latest:
            decision = await self._by_meaning(snapshot, seen)
            if decision is not None:
                return decision
        return self._by_default(seen.basis)

    def _by_reflex(self, words: Words) -> Decision:
        """Signs and keywords. Sensitive text beside an image goes where images go, but stays on
        local deployments."""
        matrix = self.matrix
        signs = reflexes.signs(
            words.everything, has_image=words.has_image, wanted=matrix.settings.reflexes
        )
        named = self._keywords.find(words.latest, words.everything)
        secure = matrix.secure() if reflexes.SENSITIVE.intersection(signs) else None
        by_name = matrix.intents[named[0]] if named is not None else None
        held = any(one is not None and one.local_only for one in (secure, by_name))
        blank = Decision("none", signs=signs, keyword=named[1] if named else None)
        vision = matrix.vision() if reflexes.IMAGE in signs else None
        for intent, tier in ((vision, "reflex"), (secure, "reflex"), (by_name, "keyword")):
            if intent is not None:
                return _taken(blank, intent, tier, 1.0, held)
        return blank

    async def _by_meaning(self, snapshot: Snapshot, seen: _Seen) -> Decision | None:
        """Cache, examples, classifier, in this order; None where none of them says anything."""
        cache = self.cache
        if cache.is_on:
            seen.digest = cache.digest(seen.words.latest)
            kept = cache.exact(seen.digest, seen.now)
            if kept is not None:
                return self._from_cache(replace(seen.basis, cache="exact"), kept)
            seen.basis = replace(seen.basis, cache="miss")
        decision = await self._by_similarity(seen) or await self._by_model(snapshot, seen)
        if decision is None or decision.tier != "cache":
            cache.misses += 1
        return decision

    async def _by_similarity(self, seen: _Seen) -> Decision | None:
        embedder, batcher = self._embedder, self._batcher
        if embedder is None or batcher is None:
            return None
        seen.basis = replace(seen.basis, embedder=embedder.name)
        if embedder.is_remote and not seen.may_call:
            seen.basis = replace(seen.basis, problem=NOT_ASKED)
            return None
        try:
            seen.vector = await batcher.vector(seen.words.latest)
            if self._vectors is None and self._examples.texts:
                self._vectors = await self._embedding()
            return self._nearest(embedder, seen)
        except EmbedderUnavailable as problem:
            seen.basis = replace(seen.basis, problem=str(problem))
        except ValueError:
            self._forget()
            seen.basis = replace(seen.basis, problem="vectors changed their length: starting over")
        return None

    def _forget(self) -> None:
        """An endpoint behind the same name may serve another model from one day to the next."""
        settings = self.matrix.settings
        self._vectors = None
        self.cache = SemanticCache(
            settings.cache_entries, settings.cache_similarity, settings.cache_ttl_s
        )

    def _nearest(self, embedder: Embedder, seen: _Seen) -> Decision | None:
        found = self.cache.similar(seen.vector, seen.now)
        if found is not None:
            kept, similarity = found
            basis = replace(seen.basis, cache="similar", cache_similarity=similarity)
            return self._from_cache(basis, kept)
        if self._vectors is None:
            return None
        nearest = self._examples.nearest(self._vectors, seen.vector)
        threshold = self.matrix.settings.threshold
        threshold = embedder.threshold if threshold is None else threshold
        seen.basis = replace(seen.basis, threshold=threshold, similar=tuple(nearest[:SHOWN]))
        best = nearest[0]
        if best.similarity < threshold:
            return None
        self._keep(seen, best.intent_id, best.similarity)
        intent = self.matrix.intents[best.intent_id]
        return _taken(seen.basis, intent, "semantic", best.similarity)

    async def _by_model(self, snapshot: Snapshot, seen: _Seen) -> Decision | None:
        settings = self.matrix.settings
        if settings.classifier is None:
            return None
        if not seen.may_call:
            seen.basis = replace(seen.basis, classifier=NOT_ASKED)
            return None
        try:
            intent_id, confidence = await classify(
                self._runtime, snapshot, self.matrix, seen.words.latest
            )
        except Unanswered as why:
            seen.basis = replace(seen.basis, classifier=str(why))
            return None
        seen.basis = replace(seen.basis, classifier="answered")
        intent = self.matrix.intents[intent_id]
        if confidence < settings.min_confidence:
            # One that is in doubt whether a prompt may leave is believed: that costs least.
            doubtful = self.matrix.intents.get(settings.doubtful_id)
            if doubtful is None:
                return None
            return _taken(seen.basis, doubtful, "classifier", confidence, intent.local_only)
        self._keep(seen, intent_id, confidence, with_vector=True)
        return _taken(seen.basis, intent, "classifier", confidence)

    def _by_default(self, basis: Decision) -> Decision:
        intent = self.matrix.intents.get(self.matrix.settings.default_id)
        return basis if intent is None else _taken(basis, intent, "default", None)

    def _from_cache(self, basis: Decision, kept: Kept) -> Decision:
        return _taken(basis, self.matrix.intents[kept.intent_id], "cache", kept.confidence)

    def _keep(
        self, seen: _Seen, intent_id: str, confidence: float, *, with_vector: bool = False
    ) -> None:
        vector = seen.vector if with_vector else None
        self.cache.keep(seen.digest, intent_id, confidence, seen.now, vector)


def _taken(
    basis: Decision, intent: Intent, tier: str, confidence: float | None, held: bool = False
) -> Decision:
    return replace(
        basis,
        tier=tier,
        intent_id=intent.id,
        route_id=intent.route_id,
        confidence=confidence,
        local_only=intent.local_only or held,
    )
