"""The ``defaults.intents`` table: how ``auto`` tells what a prompt is about."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from routeradmin.catalog.fields import Ident, Name, Seconds, refuse
from routeradmin.catalog.table import Table
from routeradmin.engine.resolve import AUTO

EMBEDDERS = ("none", "wordllama")
MOST_WAIT_S = 60
MOST_ENTRIES = 1_000_000


def _not_auto(text: str) -> str:
    if text == AUTO:
        raise refuse("recursion", "must not be auto: what decides for auto cannot be auto itself")
    return text


Reflex = Literal["image", "email", "card", "key"]
Share = Annotated[float, Field(ge=0, le=1)]
Wait = Annotated[float, Field(gt=0, le=MOST_WAIT_S)]
OtherName = Annotated[Name, AfterValidator(_not_auto)]


class IntentSettings(Table):
    """``embedder`` is none, wordllama, or a name that requests for embeddings may use.

    No ``threshold``: the embedder's own. ``cache_ttl_s`` 0: entries do not age.
    """

    enabled: bool = False
    default_id: Ident = "fast"
    doubtful_id: Ident = "reasoning"
    reflexes: Annotated[tuple[Reflex, ...], Field(strict=False)] = ("image", "email", "card", "key")
    embedder: OtherName = "none"
    embedder_timeout_s: Wait = 2
    threshold: Share | None = None
    cache_entries: Annotated[int, Field(ge=0, le=MOST_ENTRIES)] = 10_000
    cache_similarity: Share = 0.95
    cache_ttl_s: Seconds = 0
    classifier: OtherName | None = None
    classifier_timeout_s: Wait = 2
    min_confidence: Share = 0.6
