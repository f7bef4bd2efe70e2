"""A route drawn: the entry, its tiers, the policy's fallback routes, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from routeradmin.console.catalog import Index
from routeradmin.console.nouns import Cell, route_of
from routeradmin.console.standing import rows_of

FALLBACKS = (
    ("general", "after any failure"),
    ("context_window", "when the context is too long"),
    ("content_policy", "when a content policy refused"),
    ("rate_limit", "when rate-limited or out of quota"),
)


@dataclass(frozen=True, slots=True)
class Flow:
    """``fallbacks``: what a list of the policy is for, and its routes in order."""

    alias: str
    aliases: Sequence[str]
    tiers: Sequence[Sequence[Mapping[str, Any]]]
    fallback_enabled: bool
    policy_id: str
    fallbacks: Sequence[tuple[str, Sequence[Cell]]]
    when_exhausted: str
    max_wait_s: float


def of_values(values: Mapping[str, Any], index: Index) -> Flow:
    """The drawing of a route's fields as the API takes them, saved or not."""
    uid = values.get("policy_id") or index.document.defaults.policy_id or ""
    policy = index.policies.get(uid)
    alias = values["alias"]
    return Flow(
        alias=alias,
        aliases=[one.name for one in index.document.aliases if one.target == alias],
        tiers=_tiers(values.get("targets", ())),
        fallback_enabled=bool(values.get("fallback_enabled")),
        policy_id=uid if policy else "",
        fallbacks=_fallbacks(policy, index) if policy else [],
        when_exhausted=values.get("when_exhausted") or "fail",
        max_wait_s=float(values.get("max_wait_s") or 0),
    )


def _tiers(targets: Iterable[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
    ordered = sorted(targets, key=lambda one: int(one["position"]))
    return [
        [
            {"id": one["serving_model_id"], "rows": rows_of(one["serving_model_id"])}
            for one in members
        ]
        for _, members in groupby(ordered, key=lambda one: int(one["position"]))
    ]


def _fallbacks(policy: Any, index: Index) -> list[tuple[str, list[Cell]]]:
    return [
        (meaning, [route_of(index, uid) for uid in listed if uid in index.routes])
        for name, meaning in FALLBACKS
        if (listed := getattr(policy.fallback, name))
    ]
