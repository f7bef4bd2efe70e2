"""The playground tells what had a say beside the route, from the turn that comes with an answer."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import SCRIPT, Complaints
from tests.browser.serving import KEY, Site

pytestmark = pytest.mark.browser

ROUTING = {
    "intent": {
        "intent": "talk",
        "tier": "semantic",
        "route_id": "chat",
        "confidence": 0.42,
        "threshold": 0.3,
        "similar": [{"intent": "talk", "example": 0, "similarity": 0.42}],
        "cache": "miss",
        "signs": [],
        "keyword": SCRIPT,
        "local_only": True,
    },
    "rule": {"id": "night", "only": ["beta"]},
    "preferences": {"asked": {"sort": "price"}, "dropped": []},
    "affinity": {"source": "session_id", "bound_to": "beta/k", "kept": True},
}
TURN = {"id": "t1", "halt": "succeeded", "duration_ms": 5, "attempts": [], "routing": ROUTING}


def test_the_parts_of_a_decision_are_told_in_words(page: Page, complaints: Complaints) -> None:
    turns = [TURN, {**TURN, "routing": None}]

    def answered(route: Route) -> None:
        answer = {"choices": [{"message": {"content": "hello"}}], "routeradmin": turns.pop(0)}
        route.fulfill(content_type="application/json", body=json.dumps(answer))

    page.route("**/v1/chat/completions", answered)
    page.goto("/playground?model=chat")
    expect(page.locator("#routing-card")).to_be_hidden()
    page.fill("#key", "any")
    page.get_by_role("button", name="Send").click()
    said = page.locator("#routing")
    for words in (
        "talk, decided by semantic, confidence 0.42",
        "goes to route chat",
        "held to deployments tagged local",
        "night: left only beta",
        "the best by price",
        "stayed with beta/k",
        SCRIPT,
    ):
        expect(said).to_contain_text(words)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#status")).to_contain_text("ms")
    expect(page.locator("#routing-card")).to_be_hidden()
    assert complaints == []


def test_a_failure_stands_apart_from_what_was_answered(
    page: Page, site: Site, complaints: Complaints
) -> None:
    site.play(
        {"break_after": "text", "break_nth": 2, "text": "two words and more"}, {"status": 400}
    )
    page.goto("/playground?model=other")
    page.fill("#key", KEY)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#attempts")).to_contain_text("halt: visible-output")
    expect(page.locator("#answer")).to_have_text("two words")
    expect(page.locator("#fault")).to_contain_text("broke off in the middle of its answer")
    assert complaints == []
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#attempts")).to_contain_text("halt: ineligible-failure")
    expect(page.locator("#status")).to_contain_text("HTTP 400")
    expect(page.locator("#answer")).to_be_hidden()
    expect(page.locator("#fault")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#attempts")).to_contain_text("halt: succeeded")
    expect(page.locator("#answer")).not_to_be_empty()
    expect(page.locator("#fault")).to_be_hidden()
