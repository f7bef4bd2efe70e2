"""What ``auto`` may mean: intents as the engine sees them, and how a decision was come by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

VISION = "vision"
SECURE = "secure"
NO_EMBEDDER = "none"


@dataclass(frozen=True, slots=True)
class Intent:
    """What a prompt may be about, and the route that serves it (its cell of the matrix).

    ``local_only``: its prompts may only reach deployments tagged ``local``.
    """

    id: str
    route_id: str
    name: str = ""
    description: str = ""
    examples: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    local_only: bool = False


@dataclass(frozen=True, slots=True)
class IntentSettings:
    """How ``auto`` finds an intent. Times are in seconds, similarities and confidences 0 to 1.

    ``embedder`` is ``none``, ``wordllama`` or the name of a route that serves embeddings;
    ``threshold`` None is the embedder's own; ``cache_ttl_s`` 0 keeps entries until they are
    crowded out; ``classifier`` names the route that is asked where similarity says nothing.
    """

    enabled: bool = False
    default_id: str = "fast"
    doubtful_id: str = "reasoning"
    reflexes: tuple[str, ...] = ("image", "email", "card", "key")
    embedder: str = NO_EMBEDDER
    embedder_timeout_s: float = 2.0
    threshold: float | None = None
    cache_entries: int = 10_000
    cache_similarity: float = 0.95
    cache_ttl_s: float = 0.0
    classifier: str | None = None
    classifier_timeout_s: float = 2.0
    min_confidence: float = 0.6


@dataclass(frozen=True, slots=True)
class Matrix:
    """The catalog's intents with the rules for telling them apart."""

    settings: IntentSettings = field(default_factory=IntentSettings)
    intents: Mapping[str, Intent] = field(default_factory=dict)

    @property
    def is_on(self) -> bool:
        return self.settings.enabled and bool(self.intents)

    @property
    def guards(self) -> bool:
        """Whether some prompts may not leave: then what judges them must be local as well."""
        return any(intent.local_only for intent in self.intents.values())

    def vision(self) -> Intent | None:
        return self.intents.get(VISION)

    def secure(self) -> Intent | None:
        """The intent for sensitive text: ``secure``, else the first that is local only."""
        local = (intent for intent in self.intents.values() if intent.local_only)
        return self.intents.get(SECURE) or next(local, None)


@dataclass(frozen=True, slots=True)
class Similar:
    """How near the prompt is to an intent's nearest example, counted from 0 in the catalog."""

    intent_id: str
    example: int
    similarity: float

    def as_json(self) -> dict[str, Any]:
        return {
            "intent": self.intent_id,
            "example": self.example,
            "similarity": round(self.similarity, 4),
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """What a prompt was taken for and why; never the prompt.

    ``tier``: reflex, keyword, cache, semantic, classifier, default, or none (no intent was found
    and there is no default: ``auto`` goes on with its priority list). ``signs`` are what the
    reflexes saw; ``cache`` is off, miss, exact or similar; ``classifier`` is empty where nobody
    was asked, ``answered``, or what went wrong; ``problem`` what kept the embedder from working.
    """

    tier: str
    intent_id: str | None = None
    route_id: str | None = None
    confidence: float | None = None
    local_only: bool = False
    signs: tuple[str, ...] = ()
    keyword: str | None = None
    embedder: str = NO_EMBEDDER
    threshold: float | None = None
    similar: tuple[Similar, ...] = ()
    cache: str = "off"
    cache_similarity: float | None = None
    classifier: str = ""
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """What explanations and turn records show."""
        return {
            "intent": self.intent_id,
            "tier": self.tier,
            "route_id": self.route_id,
            "confidence": _rounded(self.confidence),
            "local_only": self.local_only,
            "signs": list(self.signs),
            "keyword": self.keyword,
            "embedder": self.embedder,
            "threshold": self.threshold,
            "similar": [one.as_json() for one in self.similar],
            "cache": self.cache,
            "cache_similarity": _rounded(self.cache_similarity),
            "classifier": self.classifier or None,
            "problem": self.problem or None,
        }


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 4)
