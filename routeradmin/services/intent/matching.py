"""Which intent's examples a prompt is nearest to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from routeradmin.adapters.embeddings import Vectors
from routeradmin.engine.intents import Intent, Similar

SHOWN = 3
VOICES = 2


class Examples:
    """Every example of every intent, in the catalog's order."""

    def __init__(self, intents: Iterable[Intent]) -> None:
        listed = [
            (intent.id, number, text)
            for intent in intents
            for number, text in enumerate(intent.examples)
        ]
        self.texts = [text for _, _, text in listed]
        self._places = [(intent_id, number) for intent_id, number, _ in listed]
        self._starts: list[int] = []
        self._names: list[str] = []
        for place, (intent_id, number) in enumerate(self._places):
            if number == 0:
                self._starts.append(place)
                self._names.append(intent_id)

    def nearest(self, vectors: Vectors, vector: Any) -> Sequence[Similar]:
        """How near each intent is, the nearest first; ``vectors`` are of ``texts``.

        An intent's similarity is the mean of its two best examples', so that one odd example does
        not decide; the example named is the best.
        """
        nearness = vectors @ vector
        ends = [*self._starts[1:], len(self.texts)]
        found = []
        for name, start, end in zip(self._names, self._starts, ends, strict=True):
            own = nearness[start:end]
            order = own.argsort()[-VOICES:]
            best = self._places[start + int(order[-1])][1]
            found.append(Similar(name, best, float(own[order].mean())))
        return sorted(found, key=lambda one: -one.similarity)
