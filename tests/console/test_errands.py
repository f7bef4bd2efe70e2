"""Forms that need something first say what, and are come back to with it filled in."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from routeradmin.services.runtime import Runtime

PROVIDER = {"id": "lab", "category": "lab", "kind": "ollama", "admin_state": "enabled"}
CREDENTIAL = {
    "id": "open",
    "provider_id": "lab",
    "auth_kind": "anonymous",
    "billing_kind": "self-hosted",
    "admin_state": "enabled",
}


def ways(browser: Client, address: str) -> list[str]:
    """Where the page's errands lead."""
    page = browser.get(address).content.decode()
    note = re.search(r'<div class="note warning errands">(.*?)</div>', page, re.S)
    return [html.unescape(url) for url in re.findall(r'href="([^"]+)"', note[1])] if note else []


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        ("/new/credentials", ["providers"]),
        ("/new/endpoints", ["credentials"]),
        ("/new/deployments", ["endpoints", "models"]),
        ("/new/routes", ["deployments"]),
        ("/new/aliases", ["routes"]),
        ("/new/rules", ["routes"]),
        ("/new/intents", ["routes"]),
        ("/explain", ["routes"]),
        ("/playground", ["routes"]),
        ("/new/providers", []),
        ("/new/models", []),
        ("/new/policies", []),
    ],
)
def test_what_is_needed_first_is_said_with_a_link(
    runtime: Runtime, as_admin: Client, address: str, wanted: list[str]
) -> None:
    assert [way.partition("?")[0] for way in ways(as_admin, address)] == [
        f"/new/{noun}" for noun in wanted
    ]


def test_a_form_whose_needs_are_met_says_nothing(catalog: Runtime, as_admin: Client) -> None:
    for address in ("/new/credentials", "/new/deployments", "/new/routes", "/explain"):
        assert ways(as_admin, address) == []


def test_one_comes_back_through_every_form_with_what_was_made(
    runtime: Runtime, as_admin: Client
) -> None:
    (to_credential,) = ways(as_admin, "/new/endpoints")
    (to_provider,) = ways(as_admin, to_credential)
    back = as_admin.post(to_provider, PROVIDER)["Location"]
    page = as_admin.get(back).content.decode()
    assert 'value="lab" selected' in page
    answer = as_admin.post(back, {**CREDENTIAL, "id": "bad id"})
    assert answer.status_code == 422
    assert html.escape(back) in answer.content.decode()
    back = as_admin.post(back, CREDENTIAL)["Location"]
    assert back == "/new/endpoints?account_id=open"
    assert 'value="open" selected' in as_admin.get(back).content.decode()


def test_a_way_back_to_another_host_is_not_taken(runtime: Runtime, as_admin: Client) -> None:
    for away in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        uid = f"lab-{len(away)}"
        answer = as_admin.post(f"/new/providers?next={away}", {**PROVIDER, "id": uid})
        assert answer["Location"] == f"/providers/{uid}"


def test_who_may_not_add_it_is_told_who_may(runtime: Runtime, as_viewer: Client) -> None:
    page = as_viewer.get("/explain").content.decode()
    assert "An admin can add it." in page
    assert "/new/" not in page
