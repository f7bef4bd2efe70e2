"""Policies, told in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from routeradmin.console import wording
from routeradmin.console.catalog import Index
from routeradmin.console.forms.policies import PolicyDraft
from routeradmin.console.nouns import Column, Entry, Noun, named


def _waits(entry: Entry, index: Index) -> str:
    waits = wording.waits_s(entry.retry)
    return ", ".join(f"{wait:g}" for wait in waits) + " s" if waits else "none"


def _routes(entry: Entry, index: Index) -> int:
    return sum(route.policy_id == entry.id for route in index.document.routes)


def _cooldowns(entry: Entry, index: Index) -> str:
    return "on" if entry.cooldown.enabled else "off"


def _fallbacks(entry: Entry, index: Index) -> str:
    return " ".join(wording.fallback_words(entry.fallback))


def _more(entry: Entry, index: Index) -> Mapping[str, Any]:
    return {
        "words": [
            ("Retry", [wording.retry_words(entry.retry)]),
            ("Turn", [wording.turn_words(entry.turn)]),
            ("Cooldowns", wording.cooldown_words(entry.cooldown)),
            ("Fallback", wording.fallback_words(entry.fallback)),
        ]
    }


NOUN = Noun(
    slug="policies",
    kind="policies",
    one="policy",
    title="Policies",
    meaning="A policy holds retry, cooldown and fallback numbers that routes share. Routes "
    "without one use the built-in defaults.",
    form=PolicyDraft,
    detail_template="console/policies/detail.html",
    columns=(
        Column("Policy", named("policies"), "id"),
        Column("Rounds", lambda entry, index: entry.retry.max_attempts, "rounds", number=True),
        Column("Waits", _waits),
        Column("Cooldowns", _cooldowns, "cooldowns"),
        Column("Fallback", _fallbacks),
        Column("Routes", _routes, "routes", number=True),
    ),
    more=_more,
)
