"""A small catalog in force, and signed-in browsers of three people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from routeradmin.access.models import User
from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests import factories as make

BY = changes.Actor("user:ada")
SCRIPT = "<img src=x onerror=alert(1)>"
QUOTE = "x'); alert(1);//"


def install(values: dict[str, Any]) -> None:
    changes.replace_document(make.document(values), BY, mode="replace")


@pytest.fixture
def catalog(runtime: Runtime) -> Runtime:
    """Two tiers, two credentials, an alias, a policy, and names that would run as script."""
    install(
        make.catalog(
            providers=[make.provider(name=SCRIPT), make.provider("local", category="own")],
            accounts=[
                make.account(secret_reference_id="env:ROUTERADMIN_NO_SUCH_SECRET"),
                make.account("acme-two", secret_reference_id="file:/no/such/secret"),
                make.account(
                    "open",
                    provider_id="local",
                    auth_kind="anonymous",
                    billing_kind="self-hosted",
                ),
            ],
            endpoints=[make.endpoint(), make.endpoint("local-api", account_id="open")],
            serving_models=[
                make.deployment(
                    name=QUOTE, account_ids=["acme-key", "acme-two"], max_parallel_requests=8
                ),
                make.deployment("near/by", name=SCRIPT, endpoint_id="local-api", weight=5),
                make.deployment("spare", admin_state="disabled"),
            ],
            routes=[make.route(fallback_enabled=True, name=SCRIPT, policy_id="calm")],
            targets=[
                make.target(),
                make.target("chat-2", serving_model_id="near/by", position=1),
            ],
            aliases=[{"name": "gpt é/ä", "target": "chat"}],
            policies=[{"id": "calm", "name": SCRIPT}],
            rules=[
                {
                    "id": "night",
                    "route_id": "chat",
                    "when": {"tags": ["batch"]},
                    "only": ["near/by"],
                }
            ],
            intents=[{"id": "talk", "route_id": "chat", "description": SCRIPT}],
        )
    )
    return runtime


def signed_in(user: User) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def sign_in() -> Callable[[User], Client]:
    return signed_in


@pytest.fixture
def as_viewer(viewer: User) -> Client:
    return signed_in(viewer)


@pytest.fixture
def as_operator(operator: User) -> Client:
    return signed_in(operator)


@pytest.fixture
def as_admin(admin: User) -> Client:
    return signed_in(admin)
