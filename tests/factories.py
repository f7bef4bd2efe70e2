"""Values with good defaults: catalogs as documents, people, keys. Nothing touches the database
until it says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from routeradmin.access.models import Role, User
from routeradmin.catalog.document import FORMAT, Document
from routeradmin.catalog.files.reading import from_values

PASSWORD = "correct horse battery staple"


def provider(id: str = "acme", **fields: Any) -> dict[str, Any]:
    return {"id": id, "category": "cloud", **fields}


def account(id: str = "acme-key", **fields: Any) -> dict[str, Any]:
    """Bearer by default; ``auth_kind="anonymous"`` needs no secret."""
    values = {"id": id, "provider_id": "acme", "auth_kind": "bearer", "billing_kind": "metered"}
    values |= fields
    if values["auth_kind"] != "anonymous":
        values.setdefault("secret_reference_id", f"{id}-secret")
    return values


def endpoint(id: str = "acme-api", **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "account_id": "acme-key",
        "base_url": "https://api.acme.example/v1/",
        **fields,
    }


def model(id: str = "large", **fields: Any) -> dict[str, Any]:
    return {"id": id, "upstream_name": f"acme-{id}", **fields}


def deployment(id: str = "acme-large", **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "endpoint_id": "acme-api",
        "model_id": "large",
        "protocol": "chat-completions",
        **fields,
    }


def route(id: str = "chat", **fields: Any) -> dict[str, Any]:
    return {"id": id, "alias": id, **fields}


def target(id: str = "chat-1", **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "route_id": "chat",
        "serving_model_id": "acme-large",
        "position": 0,
        **fields,
    }


def catalog(**kinds: Any) -> dict[str, Any]:
    """A whole small catalog as a file's values: one of each needed kind, others as given."""
    return {
        "format": FORMAT,
        "providers": [provider()],
        "accounts": [account()],
        "endpoints": [endpoint()],
        "models": [model()],
        "serving_models": [deployment()],
        "routes": [route()],
        "targets": [target()],
        **kinds,
    }


def wide_catalog(deployments: int, routes: int, targets_per_route: int = 3) -> dict[str, Any]:
    """Many deployments shared by many routes."""
    return catalog(
        serving_models=[deployment(f"d{n}") for n in range(deployments)],
        routes=[route(f"r{n}") for n in range(routes)],
        targets=[
            target(
                f"r{n}-t{place}",
                route_id=f"r{n}",
                serving_model_id=f"d{(n * targets_per_route + place) % deployments}",
                position=place,
            )
            for n in range(routes)
            for place in range(targets_per_route)
        ],
    )


def document(values: dict[str, Any] | None = None, **kinds: Any) -> Document:
    return from_values(catalog(**kinds) if values is None else values)


def full_catalog() -> dict[str, Any]:
    """Every kind, every extension field away from its default."""
    return catalog(
        providers=[
            provider(name="Acme", kind="anthropic", admin_state="disabled", tags=["a", "b"])
        ],
        accounts=[
            account(name="Key", tags=["eu"], admin_state="draining"),
            account("acme-header", auth_kind="api-key", api_key_header="x-key", name="Header"),
            account("acme-open", auth_kind="anonymous", billing_kind="self-hosted"),
        ],
        endpoints=[
            endpoint(
                name="API",
                headers={"x-one": "1", "a-two": "2"},
                proxy="http://proxy.example:3128/",
                ca_file="/etc/ca.pem",
                connect_timeout_s=1.5,
                header_timeout_s=2,
                idle_timeout_s=3,
                total_timeout_s=4,
                probe={"mode": "models", "interval_s": 10, "path": "models"},
            )
        ],
        models=[model(name="Large"), model("star", upstream_name="acme-*")],
        serving_models=[
            deployment(
                name="Large at Acme",
                capabilities={
                    "tools": True,
                    "reasoning_efforts": ["low"],
                    "context_window": 1000,
                    "max_output_tokens": 100,
                    "vision": False,
                },
                protocols=["embeddings"],
                account_ids=["acme-header", "acme-key"],
                weight=0,
                priority=7,
                rpm_limit=60,
                tpm_limit=0,
                max_parallel_requests=8,
                admin_state="draining",
                drain_until="2026-01-01T00:00:00.000Z",
                tags=["fast"],
                probe={"mode": "chat", "timeout_s": 2.5, "failure_threshold": 2},
                input_price=0.25,
                output_price=1,
            ),
            deployment("acme-second"),
            deployment("acme-star", model_id="star"),
        ],
        routes=[
            route(
                name="Chat",
                strategy="round_robin",
                policy_id="careful",
                fallback_enabled=True,
                when_exhausted="wait",
                max_wait_s=5,
                affinity_ttl_s=60,
                preview=["acme-second"],
                tags=["x"],
            ),
            route("any", alias="acme/*", strategy="custom:mine"),
        ],
        targets=[
            target(),
            target("chat-2", serving_model_id="acme-second", position=1),
            target("any-1", route_id="any", serving_model_id="acme-star"),
        ],
        aliases=[
            {"name": "talk", "target": "chat"},
            {"name": "parler été", "target": "talk"},
        ],
        policies=[
            {
                "id": "careful",
                "name": "Careful",
                "retry": {"max_attempts": 2, "stream_max_attempts": 1, "jitter": 0.5},
                "turn": {"deadline_s": 30, "rotate": False},
                "cooldown": {"enabled": False, "transient_base_s": 0.5},
                "fallback": {"general": ["any"], "context_window": []},
                "classify": [{"status": 529, "contains": "overloaded", "class": "transient"}],
            },
            {"id": "plain"},
        ],
        rules=[
            {
                "id": "night",
                "route_id": "chat",
                "position": 1,
                "when": {
                    "tags": ["eu"],
                    "header": {"x-b": "2", "x-a": "1"},
                    "hours": ["22:00-06:00"],
                    "min_input_tokens": 5,
                    "tools": False,
                },
                "only": ["acme-second", "acme-large"],
            }
        ],
        intents=[
            {
                "id": "code",
                "name": "Code",
                "description": "Programs",
                "examples": ["write a loop"],
                "keywords": ["python"],
                "route_id": "chat",
                "local_only": True,
            }
        ],
        defaults={"strategy": "least_busy", "policy_id": "plain", "auto_priority": ["chat"]},
    )


def person(name: str = "ada", role: Role = Role.VIEWER, **fields: Any) -> User:
    """Stored."""
    return User.objects.create_user(name, password=PASSWORD, role=role, **fields)


def without(values: Iterable[dict[str, Any]], id: str) -> list[dict[str, Any]]:
    return [entry for entry in values if entry["id"] != id]
