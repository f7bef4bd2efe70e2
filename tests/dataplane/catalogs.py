"""Catalogs for the gateway: tiers of deployments whose upstream names are their own ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from routeradmin.catalog.document import FORMAT, Document
from routeradmin.catalog.files.reading import from_values

# Waits of a millisecond instead of seconds, where a test is not about their length.
BRIEF = {"backoff_base_ms": 1}

Tier = Sequence[str] | str


def document(
    upstream: str,
    *tiers: Tier,
    policy: dict[str, Any] | None = None,
    deployments: dict[str, dict[str, Any]] | None = None,
    endpoint: dict[str, Any] | None = None,
    routes: Sequence[dict[str, Any]] = (),
    more_targets: Sequence[tuple[str, str, int]] = (),
    aliases: Sequence[dict[str, Any]] = (),
    policies: Sequence[dict[str, Any]] = (),
    rules: Sequence[dict[str, Any]] = (),
    defaults: dict[str, Any] | None = None,
    **route: Any,
) -> Document:
    """A route ``chat`` over ``tiers``; ``deployments`` gives fields by id, where ``keys`` are the
    ids of its credentials (one of its own name otherwise), ``base_url`` and ``endpoint`` its
    endpoint's."""
    more = dict(deployments or {})
    listed = [(name, place) for place, tier in enumerate(tiers) for name in _names(tier)]
    ids = list(dict.fromkeys([name for name, _ in listed] + list(more)))
    keys = {name: more.get(name, {}).pop("keys", [name]) for name in ids}
    ends = {name: more.get(name, {}).pop("endpoint", {}) for name in ids}
    bases = {name: more.get(name, {}).pop("base_url", f"{upstream}/v1/") for name in ids}
    accounts = list(dict.fromkeys(key for name in ids for key in keys[name]))
    values: dict[str, Any] = {
        "format": FORMAT,
        "providers": [{"id": "acme", "category": "cloud"}],
        "accounts": [
            {
                "id": key,
                "provider_id": "acme",
                "auth_kind": "bearer",
                "billing_kind": "metered",
                "secret_reference_id": f"{key}-secret",
            }
            for key in accounts
        ],
        "endpoints": [
            {
                "id": name,
                "account_id": keys[name][0],
                "base_url": bases[name],
                **(endpoint or {}),
                **ends[name],
            }
            for name in ids
        ],
        "models": [{"id": name, "upstream_name": name} for name in ids],
        "serving_models": [
            {
                "id": name,
                "endpoint_id": name,
                "model_id": name,
                "protocol": "chat-completions",
                "account_ids": keys[name],
                **more.get(name, {}),
            }
            for name in ids
        ],
        "routes": [
            {"id": "chat", "alias": "chat", "fallback_enabled": len(tiers) > 1, **route},
            *routes,
        ],
        "targets": [
            {
                "id": f"{place}-{n}-{name}",
                "route_id": "chat",
                "serving_model_id": name,
                "position": place,
            }
            for n, (name, place) in enumerate(listed)
        ]
        + [
            {
                "id": f"{route_id}-{name}",
                "route_id": route_id,
                "serving_model_id": name,
                "position": place,
            }
            for route_id, name, place in more_targets
        ],
        "aliases": list(aliases),
        "policies": list(policies),
        "rules": list(rules),
    }
    if policy is not None:
        values["policies"].append({"id": "p", "retry": BRIEF, **policy})
        values["routes"][0]["policy_id"] = "p"
    if defaults is not None:
        values["defaults"] = defaults
    return from_values(values)


def _names(tier: Tier) -> Sequence[str]:
    return [tier] if isinstance(tier, str) else tier
