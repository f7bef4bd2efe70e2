"""Explain: every reason, what if, and where a turn goes on when nobody is left."""

from __future__ import annotations

import html
from typing import Any

import pytest
from django.test import Client

from routeradmin.engine.state import Cooldown
from routeradmin.services import changes, cooldowns
from routeradmin.services.runtime import Runtime
from tests.console.conftest import BY


@pytest.fixture
def usable(catalog: Runtime) -> Runtime:
    """Whoever asks for chat can be served by near/by alone."""
    changes.disable("acme-large", BY)
    return catalog


def asked(browser: Client, **query: Any) -> str:
    answer = browser.get("/explain", {"model": "chat", **query})
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_a_candidate_marked_down_is_refused_and_the_call_says_so(
    usable: Runtime, as_viewer: Client
) -> None:
    assert "Would use <b>near/by</b> with <b>open</b>" in asked(as_viewer)
    page = asked(as_viewer, down="near/by/open", draws="10")
    assert "Nothing may be used" in page
    assert '"overlay": {"near/by/open": {"disabled": true}}' in page
    assert "/api/v1/simulate" in page


def test_the_policys_fallback_routes_are_told_when_nobody_is_selected(
    usable: Runtime, as_viewer: Client
) -> None:
    targets = [{"serving_model_id": "spare", "position": 0}]
    changes.create("routes", {"id": "r2", "alias": "Second", "targets": targets}, BY)
    changes.update("policies", "calm", {"fallback": {"general": ["r2"]}}, BY, if_match="*")
    cooldowns.set_by_hand("near/by", None, 60, BY, "a test")
    page = asked(as_viewer)
    assert "A turn goes on with the policy's fallback routes" in page
    assert ">Second</a>" in page
    assert "0 of 1 candidates may be used" in page
    cooldowns.clear("near/by", None, BY, "")
    assert "fallback routes" not in asked(as_viewer)


def test_what_no_caller_could_ask_is_told_beside_its_field(
    usable: Runtime, as_viewer: Client
) -> None:
    for name, value in (("tags", ",".join(f"t{n}" for n in range(65))), ("input_tokens", 2**60)):
        answer = as_viewer.get("/explain", {"model": "chat", name: value})
        assert answer.status_code == 422
        assert name in answer.context["form"].errors


@pytest.mark.parametrize("name", ["input_tokens", "max_output_tokens"])
def test_no_tokens_is_not_the_same_as_not_stated(
    usable: Runtime, as_viewer: Client, name: str
) -> None:
    assert f'"{name}": 0' in asked(as_viewer, **{name: 0})
    assert f'"{name}":' not in asked(as_viewer, **{name: ""})


def ask(browser: Client, **more: str) -> str:
    query = {"model": "acme:acme-large", "draws": "50", **more}
    return browser.get("/explain", query).content.decode()


def test_a_candidate_that_is_full_by_assumption_is_refused(
    catalog: Runtime, as_viewer: Client
) -> None:
    key = "acme-large/acme-key"
    assert "parallel" not in ask(as_viewer)
    page = ask(as_viewer, load=f"{key}=8")
    assert '<span class="tag bad">parallel-limit</span>' in page
    assert "/api/v1/simulate" in page
    assert "&quot;active&quot;: 8" in page


def test_a_load_that_is_no_number_is_told_beside_its_field(
    catalog: Runtime, as_viewer: Client
) -> None:
    answer = as_viewer.get("/explain", {"model": "chat", "load": "acme-large/acme-key"})
    assert answer.status_code == 422
    assert "Write acme-large/acme-key as deployment/credential=8." in answer.content.decode()


def test_the_least_bad_is_told_only_after_the_fallback_routes(
    usable: Runtime, as_viewer: Client
) -> None:
    targets = [{"serving_model_id": "spare", "position": 0}]
    changes.create("routes", {"id": "r2", "alias": "Second", "targets": targets}, BY)
    changes.update("policies", "calm", {"fallback": {"general": ["r2"]}}, BY, if_match="*")
    changes.update("routes", "chat", {"when_exhausted": "least_bad"}, BY, if_match="*")
    cooldowns.set_by_hand("near/by", None, 60, BY, "a test")
    now = usable.clock()
    for state in usable.store.states():
        if state.key.deployment == "near/by":
            state.cooldown = Cooldown("transient", now, now + 60, 1, "result")
            state.cooldown_until = now + 60
    page = asked(as_viewer)
    assert page.index(">Second</a>") < page.index("takes the one that recovers first")
    assert "then: <b>near/by</b> with <b>open</b>" in page
    changes.enable("spare", BY)
    page = asked(as_viewer)
    assert "A turn goes on with the policy's fallback routes" in page
    assert "recovers first" not in page
