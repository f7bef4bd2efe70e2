"""Every page, for every role, with names that would run as script if they were not text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from routeradmin.access.models import Role, User
from routeradmin.console.urls import urlpatterns
from routeradmin.journal.models import Attempt, Turn
from routeradmin.services import changes
from routeradmin.services.publishing import moment
from routeradmin.services.runtime import Runtime
from tests import factories as make
from tests.browser.pages import NO_PAGE, url_patterns
from tests.console.conftest import BY, QUOTE, SCRIPT

IDS = {
    "routes": "chat",
    "aliases": "gpt é/ä",
    "deployments": "near/by",
    "models": "large",
    "endpoints": "acme-api",
    "providers": "acme",
    "credentials": "acme-key",
    "policies": "calm",
    "rules": "night",
    "intents": "talk",
}
# Beside those that add, edit, delete, revoke or replace something.
FOR_ADMINS = {
    *("rollback", "users", "defaults", "alerts-deliveries"),
    *("intents-settings", "intents-load"),
}
CHANGES = ("-new", "-edit", "-delete", "-revoke", "-secret")
PATTERNS = [pattern for pattern in url_patterns() if pattern.name != "login"]
PLAIN = [str(one.name) for one in PATTERNS if not one.pattern.converters]


@pytest.fixture
def addresses(catalog: Runtime) -> dict[str, str]:
    """Name -> path of every page that is read with GET."""
    key, _ = changes.create_key({"name": SCRIPT, "scopes": ["read"]}, BY)
    hook, _ = changes.create_webhook({"name": SCRIPT, "url": "https://bell.example/"}, BY)
    turn = Turn.objects.create(uid="turn-1", route="chat", started_at=moment(catalog))
    known: dict[str, Any] = {
        **IDS,
        "revision": 1,
        "rollback": 1,
        "keys": key.uid,
        "alerts": hook.uid,
        "turn": turn.uid,
        "users": make.person("nia", Role.VIEWER).username,
    }
    found = {name: reverse(name) for name in PLAIN}
    for name in (str(one.name) for one in PATTERNS if one.pattern.converters):
        found[name] = reverse(name, args=[known[name.partition("-")[0]]])
    found["export"] = reverse("export", args=["toml"])
    found["explained"] = reverse("explain") + "?model=chat&draws=100"
    return found


def needs_admin(name: str) -> bool:
    return name in FOR_ADMINS or name.endswith(CHANGES)


@pytest.mark.parametrize("name", PLAIN)
def test_a_stranger_is_sent_to_the_sign_in_page(
    catalog: Runtime, client: Client, name: str
) -> None:
    answer = client.get(reverse(name))
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login?next=")


def test_every_page_opens_for_those_who_may_and_names_the_right_for_the_rest(
    addresses: dict[str, str], anyone: User, sign_in: Callable[[User], Client]
) -> None:
    browser = sign_in(anyone)
    for name, address in addresses.items():
        answer = browser.get(address)
        if needs_admin(name) and not anyone.may_configure:
            assert answer.status_code == 403, name
            assert b"you need the role <b>Admin</b>" in answer.content, name
        else:
            assert answer.status_code == 200, (name, answer.content[:400])


def test_no_page_runs_a_name_as_script(
    addresses: dict[str, str], admin: User, sign_in: Callable[[User], Client]
) -> None:
    browser = sign_in(admin)
    for name, address in addresses.items():
        page = browser.get(address).content.decode()
        assert SCRIPT not in page or name == "export", name
        assert f"'{QUOTE}" not in page, name


def test_a_viewer_sees_no_control_that_writes(addresses: dict[str, str], as_viewer: Client) -> None:
    for name, address in addresses.items():
        if needs_admin(name):
            continue
        page = as_viewer.get(address).content.decode()
        posts = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', page)
        assert posts in (["/logout"], ["/logout", "/views/save"], []), name
        assert not re.search(r'href="/(new|edit|delete|secret)/', page), name


def test_an_operator_may_act_and_not_configure(catalog: Runtime, as_operator: Client) -> None:
    page = as_operator.get("/deployments/near/by").content.decode()
    assert 'value="drain"' in page
    assert "/edit/deployments" not in page
    assert as_operator.post("/new/providers", {"id": "x", "category": "y"}).status_code == 403


@pytest.mark.parametrize("slug", list(IDS))
def test_an_object_that_is_not_there_is_not_found(
    catalog: Runtime, as_admin: Client, slug: str
) -> None:
    for verb in ("one", "edit", "delete"):
        address = reverse(f"{slug}-{verb}", args=["no/such"])
        assert as_admin.get(address).status_code == 404


def test_a_turn_is_shown_as_its_attempts(catalog: Runtime, as_viewer: Client) -> None:
    turn = Turn.objects.create(
        uid="turn/1", route="chat", model="chat", halt="succeeded", started_at=moment(catalog)
    )
    Attempt.objects.create(
        turn=turn,
        n=1,
        deployment="near/by",
        failure_class="rate-limited",
        status=429,
        message=SCRIPT,
        duration_ms=80,
    )
    Attempt.objects.create(turn=turn, n=2, deployment="acme-large", waited_ms=1000, duration_ms=900)
    listed = as_viewer.get("/turns?deployment=near/by").content.decode()
    assert "turn/1" in listed
    page = as_viewer.get("/turns/turn/1").content.decode()
    assert "rate-limited" in page
    assert "unknown in, unknown out" in page
    assert SCRIPT not in page
    assert as_viewer.get("/turns?halt=exhausted").content.decode().count("turn/1") == 0


def test_an_unknown_page_number_or_text_in_a_filter_breaks_nothing(
    catalog: Runtime, as_admin: Client
) -> None:
    for query in ("before=x", "before=99999999999999999999", "q=%00", "after=%F0", "sort=nope"):
        for name in ("events", "audit", "turns", "revisions", "deployments", "live", "users"):
            assert as_admin.get(f"{reverse(name)}?{query}").status_code == 200, (name, query)


def test_a_revision_shows_what_it_changed(catalog: Runtime, as_admin: Client) -> None:
    changes.update("deployments", "near/by", {"weight": 9}, BY, if_match="*")
    assert "weight" in as_admin.get("/revisions/2").content.decode()


def test_a_missing_revision_to_compare_with_is_not_found(
    catalog: Runtime, as_viewer: Client
) -> None:
    assert as_viewer.get("/revisions/1?against=77").status_code == 404


def test_an_address_that_leads_nowhere_says_so_in_the_console_s_own_words(
    catalog: Runtime, as_admin: Client, client: Client
) -> None:
    answer = as_admin.get("/deployments/no-such")
    assert answer.status_code == 404
    assert b"To the live page" in answer.content
    assert client.get("/no/such/page").status_code == 404


def test_a_form_without_its_token_is_refused_and_explained(catalog: Runtime, admin: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin)
    answer = strict.post("/new/providers", {"id": "x"})
    assert answer.status_code == 403
    assert b"This page is too old" in answer.content


def test_the_navigation_marks_where_one_is(catalog: Runtime, as_admin: Client) -> None:
    for address, title in (
        ("/", "Live"),
        ("/edit/routes/chat", "Routes"),
        ("/deployments/near/by", "Deployments"),
        ("/new/models", "Models"),
        ("/revisions/1", "Revisions"),
    ):
        page = as_admin.get(address).content.decode()
        assert re.findall(r'aria-current="page">([^<]+)<', page) == [title], address


def test_what_is_said_to_show_no_page_shows_none(catalog: Runtime, as_admin: Client) -> None:
    """So that no page escapes the browser tests by being called one that is none."""
    paths = {one.name: one for one in urlpatterns if isinstance(one, URLPattern)}
    for name in NO_PAGE:
        arguments = dict.fromkeys(paths[name].pattern.converters, 1)
        if name == "export":
            assert "attachment" in as_admin.get(reverse(name, args=["toml"]))["Content-Disposition"]
        elif name == "panel":
            part = as_admin.get(reverse(name), {"panel": "spare/acme-key"})
            assert b"<html" not in part.content
        else:
            assert as_admin.get(reverse(name, kwargs=arguments)).status_code == 405, name
