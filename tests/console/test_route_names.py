"""A route is called by its alias everywhere, with its id where that differs."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from routeradmin.journal.models import Turn
from routeradmin.services import changes
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.console.conftest import BY, install

CALLED = re.compile(r'<a href="/routes/r-7">Grüße</a>\s*<span class="sub">r-7</span>')


@pytest.fixture
def renamed(catalog: Runtime) -> Runtime:
    install(
        make.catalog(
            routes=[make.route("r-7", alias="Grüße"), make.route("other", policy_id="calm")],
            targets=[make.target(route_id="r-7"), make.target("o-1", route_id="other")],
            aliases=[{"name": "hi", "target": "Grüße"}],
            policies=[{"id": "calm", "fallback": {"general": ["r-7"]}}],
            rules=[{"id": "night", "route_id": "r-7", "when": {}, "only": ["acme-large"]}],
            intents=[{"id": "talk", "route_id": "r-7"}],
        )
    )
    changes.create_key({"name": "ci", "scopes": ["select"], "routes": ["r-7"]}, BY)
    Turn.objects.create(
        uid="turn-1", route="r-7", model="hi", halt="succeeded", started_at=moment(catalog)
    )
    return catalog


@pytest.mark.parametrize(
    "address",
    [
        "/routes",
        "/routes/other",
        "/deployments",
        "/deployments/acme-large",
        "/rules",
        "/intents",
        "/keys",
        "/turns",
        "/turns/turn-1",
        "/explain?model=hi",
    ],
)
def test_on_every_page_that_names_it(renamed: Runtime, as_admin: Client, address: str) -> None:
    page = as_admin.get(address).content.decode()
    assert CALLED.search(page), address
    assert ">r-7</a>" not in page


def test_as_the_heading_of_its_own_page_and_in_forms(renamed: Runtime, as_admin: Client) -> None:
    assert "<h1>Grüße</h1>" in as_admin.get("/routes/r-7").content.decode()
    assert "<h1>Edit Grüße</h1>" in as_admin.get("/edit/routes/r-7").content.decode()
    assert "Delete route Grüße?" in as_admin.get("/delete/routes/r-7").content.decode()
    assert '<option value="r-7">Grüße – r-7</option>' in as_admin.get("/new/rules").content.decode()


def test_in_the_words_of_a_policy(renamed: Runtime, as_admin: Client) -> None:
    assert "Any other failure: Grüße." in as_admin.get("/policies/calm").content.decode()


def test_filters_offer_it_and_find_it_by_its_alias(renamed: Runtime, as_admin: Client) -> None:
    page = as_admin.get("/deployments?route=r-7").content.decode()
    assert '<option value="r-7" selected>Grüße</option>' in page
    for text in ("Grüße", "r-7"):
        assert "turn-1" in as_admin.get("/turns", {"route": text}).content.decode()


def test_a_turn_by_a_route_that_is_in_no_catalog_is_told_without_a_link(
    renamed: Runtime, as_admin: Client
) -> None:
    Turn.objects.create(
        uid="turn-2", route="acme:m", model="acme:m", halt="succeeded", started_at=moment(renamed)
    )
    page = as_admin.get("/turns/turn-2").content.decode()
    assert "acme:m" in page
    assert "/routes/acme:m" not in page
