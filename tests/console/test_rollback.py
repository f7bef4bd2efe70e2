"""Rolling back: looked at before it is done, and done to what was looked at."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from routeradmin.access.models import ApiKey
from routeradmin.services import changes
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import BY
from tests.console.test_forms import answered

ADDRESS = "/revisions/1/rollback"


@pytest.fixture
def later(catalog: Runtime) -> Runtime:
    """One deployment weighs more, and there is a route that r1 lacks."""
    changes.update("deployments", "near/by", {"weight": 9}, BY, if_match="*")
    targets = [{"serving_model_id": "near/by", "position": 0}]
    changes.create("routes", {**make.route("late", alias="Late"), "targets": targets}, BY)
    return catalog


def test_a_look_changes_nothing_and_tells_the_difference(later: Runtime, as_admin: Client) -> None:
    page = as_admin.get(ADDRESS).content.decode()
    assert "~ serving_models near/by: weight 9 -&gt; 5" in page
    assert "Compared with r3" in page
    assert "Late</a> goes: requests for it are refused" in page
    assert later.current.revision == 3


def test_keys_that_lose_a_route_are_named(later: Runtime, as_admin: Client) -> None:
    changes.create_key({"name": "ci", "scopes": ["select"], "routes": ["late"]}, BY)
    page = as_admin.get(ADDRESS).content.decode()
    assert f"/edit/keys/{ApiKey.objects.get().uid}" in page
    assert "loses 1 of its 1 routes" in page


def test_what_was_looked_at_is_brought_back_with_its_reason(
    later: Runtime, as_admin: Client
) -> None:
    answer = as_admin.post(ADDRESS, answered(as_admin, ADDRESS) | {"reason": "it was better"})
    assert answer["Location"] == "/revisions/4"
    weights = {one.id: one.weight for one in later.current.document.serving_models}
    assert weights["near/by"] == 5
    assert "it was better" in as_admin.get("/revisions/4").content.decode()


def test_what_was_published_since_is_not_overwritten_unseen(
    later: Runtime, as_admin: Client
) -> None:
    asked = answered(as_admin, ADDRESS)
    changes.update("deployments", "spare", {"weight": 3}, BY, if_match="*")
    answer = as_admin.post(ADDRESS, asked | {"reason": "typed"})
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "spare: weight 3" in page
    assert 'value="typed"' in page
    assert later.current.revision == 4


def test_a_catalog_that_would_be_refused_today_says_why_and_offers_no_button(
    catalog: Runtime, as_admin: Client, settings: Any
) -> None:
    here = {"base_url": "http://127.0.0.1:9/v1/"}
    changes.update("endpoints", "local-api", here, BY, if_match="*")
    away = {"base_url": "https://a.example/v1/"}
    changes.update("endpoints", "local-api", away, BY, if_match="*")
    settings.PRIVATE_UPSTREAMS = "none"
    page = as_admin.get("/revisions/2/rollback").content.decode()
    assert "would be refused today" in page
    assert "loopback addresses are not allowed here" in page
    assert '<button class="danger"' not in page
    answer = as_admin.post("/revisions/2/rollback", {"version": "3"})
    assert answer.status_code == 422
    assert catalog.current.revision == 3


def test_an_operator_may_not(later: Runtime, as_operator: Client) -> None:
    assert as_operator.get(ADDRESS).status_code == 403
    assert "rollback" not in as_operator.get("/revisions/1").content.decode()
