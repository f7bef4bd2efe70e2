"""A draft before it is saved: drawn, warned of, and shown as the call that would save it."""

from __future__ import annotations

import html

from django.test import Client

from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY
from tests.console.test_forms import filled

TWO_TIERS = {
    "id": "new",
    "alias": "New",
    "policy_id": "calm",
    "when_exhausted": "fail",
    "admin_state": "enabled",
    "targets-id": ["", ""],
    "targets-tier": ["1", "2"],
    "targets-deployment": ["near/by", "spare"],
    "do": "preview",
}


def test_a_new_route_is_drawn_from_its_entry_to_its_fallback_routes(
    catalog: Runtime, as_admin: Client
) -> None:
    changes.update("policies", "calm", {"fallback": {"general": ["chat"]}}, BY, if_match="*")
    given = {**TWO_TIERS, "fallback_enabled": "on"}
    page = as_admin.post("/new/routes", given).content.decode()
    drawn = page[page.index('<ol class="flow">') :]
    places = [drawn.index(f"<h3>{name}") for name in ("New", "Tier 1", "Tier 2", "Fallback routes")]
    assert places == sorted(places)
    assert "not used" not in drawn
    assert '<a href="/routes/chat">chat</a>' in drawn
    assert catalog.current.revision == 2


def test_tiers_that_nothing_reaches_are_warned_of_before_anything_is_saved(
    catalog: Runtime, as_admin: Client
) -> None:
    page = as_admin.post("/new/routes", TWO_TIERS).content.decode()
    assert "tier 2 is not used: fallback of new to later tiers is off" in page
    assert "not used: fallback is off" in page
    assert "data-unused-tiers" in page


def test_warnings_about_other_objects_stand_back(catalog: Runtime, as_admin: Client) -> None:
    given = filled(as_admin, "/edit/models/large") | {"name": "L", "do": "preview"}
    answer = as_admin.post("/edit/models/large", given)
    page = answer.content.decode()
    assert answer.context["draft"].warnings
    assert "Worth a look" not in page
    assert "about the rest of the catalog" in page


def test_a_draft_shows_the_call_that_would_save_it(catalog: Runtime, as_admin: Client) -> None:
    given = filled(as_admin, "/edit/deployments/near/by") | {"weight": "9", "do": "preview"}
    page = html.unescape(as_admin.post("/edit/deployments/near/by", given).content.decode())
    assert "curl -X PATCH" in page
    assert '{"weight": 9}' in page
    assert "/api/v1/deployments/near/by" in page


def test_the_call_for_a_new_credential_has_no_secret_in_it(
    catalog: Runtime, as_admin: Client
) -> None:
    given = {"id": "own", "provider_id": "acme", "auth_kind": "bearer", "do": "preview"}
    given |= {"billing_kind": "metered", "admin_state": "enabled", "secret": "sk-typed-0123456789"}
    answer = as_admin.post("/new/credentials", given)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert """"secret": "'"$SECRET"'\"""" in page
    assert "sk-typed" not in page
