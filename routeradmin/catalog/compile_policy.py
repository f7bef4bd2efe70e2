"""A policy table becomes the engine's policy."""

from __future__ import annotations

from routeradmin.catalog import policies as doc
from routeradmin.engine.policy import (
    ClassifyRule,
    CooldownPolicy,
    FallbackLists,
    Policy,
    RetryPolicy,
    TurnPolicy,
)


def policy(table: doc.Policy) -> Policy:
    """The numbers as they stand; the field names of both sides are the same."""
    return Policy(
        id=table.id,
        name=table.name or table.id,
        retry=RetryPolicy(**dict(table.retry)),
        turn=TurnPolicy(**dict(table.turn)),
        cooldown=CooldownPolicy(**dict(table.cooldown)),
        fallback=FallbackLists(**dict(table.fallback)),
        classify=tuple(ClassifyRule(**dict(rule)) for rule in table.classify),
    )
