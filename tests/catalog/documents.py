"""Small catalogs for the tests, and a way to change one value of them by its pointer."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from routeradmin.catalog.document import Document
from routeradmin.catalog.files import read
from routeradmin.catalog.files.reading import from_values

FIXTURES = Path(__file__).parents[2] / "fixtures"
GONE = object()
SUPERSET = "routeradmin.catalog/1"

CAPABLE = {
    "tools": True,
    "tool_choice": True,
    "temperature": True,
    "top_p": True,
    "reasoning_efforts": ["low"],
    "context_window": 4096,
    "max_output_tokens": 1024,
}


def example_bytes() -> bytes:
    return (FIXTURES / "llm-catalog-example.toml").read_bytes()


def example() -> Document:
    return read(example_bytes())


def small() -> dict[str, Any]:
    """Two providers; a metered, a keyed, an anonymous and a subscription account; two routes."""
    return {
        "format": SUPERSET,
        "providers": [{"id": "p", "category": "lab"}, {"id": "q", "category": "lab"}],
        "accounts": [
            _account("metered", "bearer", "metered", secret_reference_id="s1"),
            _account("free", "anonymous", "self-hosted"),
            _account("sub", "subscription-oauth", "subscription", secret_reference_id="s2"),
            _account("keyed", "api-key", "metered", secret_reference_id="s3", api_key_header="k"),
            _account("foreign", "bearer", "metered", "q", secret_reference_id="s4"),
        ],
        "endpoints": [
            {"id": "e-metered", "account_id": "metered", "base_url": "https://a.example/v1"},
            {"id": "e-free", "account_id": "free", "base_url": "https://b.example/v1"},
            {"id": "e-sub", "account_id": "sub", "base_url": "https://c.example/v1"},
            {"id": "e-keyed", "account_id": "keyed", "base_url": "https://d.example/v1"},
            {"id": "e-foreign", "account_id": "foreign", "base_url": "https://e.example/v1"},
        ],
        "models": [{"id": "m", "upstream_name": "lab/m"}, {"id": "star", "upstream_name": "x-*"}],
        "serving_models": [
            _serving("d-metered", "e-metered"),
            _serving("d-free", "e-free"),
            _serving("d-sub", "e-sub", protocol="messages"),
            _serving("d-keyed", "e-keyed"),
            _serving("d-foreign", "e-foreign"),
            _serving("d-star", "e-metered", model_id="star"),
        ],
        "routes": [
            {"id": "r", "alias": "chat"},
            {"id": "s", "alias": "paid"},
            {"id": "w", "alias": "w-*"},
        ],
        "targets": [
            _target("r0", "r", "d-metered", 0),
            _target("r1", "r", "d-free", 1),
            _target("s0", "s", "d-sub", 0),
            _target("w0", "w", "d-star", 0),
            _target("w1", "w", "d-keyed", 1),
            _target("w2", "w", "d-foreign", 2),
        ],
        "aliases": [{"name": "a", "target": "b"}, {"name": "b", "target": "chat"}],
        "policies": [{"id": "pol"}],
        "rules": [{"id": "ru", "route_id": "r", "only": ["d-free"]}],
        "intents": [{"id": "in", "route_id": "r"}],
        "defaults": {"auto_priority": ["chat", "p:m", "w-1"]},
    }


def _account(
    id: str, auth_kind: str, billing_kind: str, provider_id: str = "p", **more: str
) -> dict[str, Any]:
    fixed = {"id": id, "provider_id": provider_id, "auth_kind": auth_kind}
    return {**fixed, "billing_kind": billing_kind, **more}


def _serving(id: str, endpoint_id: str, **more: Any) -> dict[str, Any]:
    fixed = {"id": id, "endpoint_id": endpoint_id, "model_id": "m", "protocol": "chat-completions"}
    return {**fixed, "capabilities": dict(CAPABLE), **more}


def _target(id: str, route_id: str, serving_model_id: str, position: int) -> dict[str, Any]:
    return {
        "id": id,
        "route_id": route_id,
        "serving_model_id": serving_model_id,
        "position": position,
    }


def changed(values: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy with other values: ``changed(v, routes__0__alias="x")``; ``GONE`` removes, an index
    one past the end appends."""
    values = copy.deepcopy(values)
    for path, value in changes.items():
        *parents, last = (int(part) if part.isdecimal() else part for part in path.split("__"))
        place: Any = values
        for part in parents:
            place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
        if value is GONE:
            del place[last]
        elif isinstance(place, list) and last == len(place):
            place.append(value)
        else:
            place[last] = value
    return values


def document(values: dict[str, Any]) -> Document:
    return from_values(values)
