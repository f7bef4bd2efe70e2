"""The main task of every page that operates: by keyboard alone, and by mouse."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints
from tests.browser.hands import Hands
from tests.browser.serving import KEY, PASSWORD, Site
from tests.browser.test_tasks_catalog import title

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def rested(site: Site) -> Iterator[None]:
    yield
    for deployment in ("alpha", "beta"):
        site.call("POST", f"deployments/{deployment}/enable", {})
        site.clear(deployment)


def copied(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read"])
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_signing_in_and_out(hands: Hands, complaints: Complaints) -> None:
    page = hands.page
    page.context.clear_cookies()
    page.goto("/turns")
    hands.fill("Username", "vera")
    hands.fill("Password", PASSWORD)
    hands.press("Sign in")
    title(page, "Turns")
    hands.press("Sign out", page.locator("#side"))
    title(page, "Sign in")
    assert complaints == []


def test_a_row_is_found_drained_undone_cooled_and_cleared(
    hands: Hands, site: Site, complaints: Complaints
) -> None:
    page = hands.page
    page.goto("/")
    expect(page.locator("#link-state")).to_have_text("live")
    hands.choose("Route", "other")
    hands.press("Filter")
    row = page.locator("[data-row]")
    expect(row).to_have_count(1)
    for action, state in (("Drain", "draining"), ("Enable", "healthy"), ("Disable", "disabled")):
        hands.press("Actions for beta", row)
        hands.press(action, row)
        expect(row.locator(f".s-{state}")).to_be_visible()
    hands.press("Undo", page.locator(".toast").first)
    expect(row.locator(".s-healthy")).to_be_visible()
    hands.press("Dismiss", page.locator(".toast").first)
    hands.press("Actions for beta", row)
    hands.fill("Cooldown in seconds for beta/acme-key", "90", row)
    hands.press("Set a cooldown", row)
    expect(row.locator(".s-cooling")).to_be_visible()
    hands.press("Actions for beta", row)
    hands.press("Clear cooldown", row)
    expect(row.locator(".s-healthy")).to_be_visible()
    assert complaints == []


def test_the_live_page_is_paused_resumed_and_asked_why(hands: Hands) -> None:
    page = hands.page
    page.goto("/?route=other")
    expect(page.locator("#link-state")).to_have_text("live")
    hands.press("Pause")
    expect(page.locator("#link-state")).to_contain_text("paused")
    hands.press("Resume")
    expect(page.locator("#link-state")).to_have_text("live")
    hands.press("Actions for beta")
    hands.press("Explain other")
    title(page, "Explain")


def test_a_request_is_explained_with_a_what_if_and_copied(
    hands: Hands, complaints: Complaints
) -> None:
    page = hands.page
    page.goto("/explain")
    hands.fill("Model", "chat")
    hands.fill("Assume these are down", "alpha/acme-key")
    hands.fill("Assume this many active requests", "beta/acme-key=99")
    hands.fill("Draws", "200")
    hands.press("Explain")
    expect(page.locator("table")).to_contain_text("disabled")
    expect(page.locator(".shares")).to_contain_text("100.0 %")
    hands.press("Copy as curl")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert '"overlay"' in copied(page)
    assert complaints == []


@pytest.mark.parametrize("streaming", [True, False])
def test_the_playground_sends_a_request(
    hands: Hands, complaints: Complaints, streaming: bool
) -> None:
    page = hands.page
    page.goto("/playground")
    hands.fill("Model", "chat")
    if not streaming:
        hands.tick("Streaming")
    hands.fill("API key", KEY)
    hands.press("Send")
    expect(page.locator("#attempts")).to_contain_text("halt: succeeded", timeout=15_000)
    expect(page.locator("#answer")).not_to_be_empty()
    hands.press("Copy curl")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert ("stream" in copied(page)) is streaming
    assert complaints == []


def test_a_turn_is_found_and_its_attempts_are_read(
    hands: Hands, site: Site, complaints: Complaints
) -> None:
    site.play({"status": 429})
    site.ask("twice")
    site.ask("once")  # comes first where nothing is filtered
    page = hands.page
    page.goto("/turns")
    hands.choose("Class", "rate-limited")
    hands.press("Filter")
    expect(page).to_have_url(re.compile("class=rate-limited"))
    found = page.locator("tbody th a").first
    hands.press(found.inner_text())
    attempts = page.locator(".timeline > li")
    expect(attempts).to_have_count(2)
    expect(attempts.first).to_contain_text("rate-limited 429")
    expect(attempts.last).to_contain_text("succeeded")
    assert complaints == []


def test_an_event_is_found_with_its_evidence(
    hands: Hands, site: Site, complaints: Complaints
) -> None:
    site.cool("alpha", 90)
    site.cool("beta", 90)  # comes first where nothing is filtered
    page = hands.page
    page.goto("/events")
    hands.choose("Kind", "cooldown-set")
    hands.fill("Deployment", "alpha")
    hands.press("Filter")
    expect(page.locator("tbody tr").first).to_contain_text("cooldown-set")
    hands.press("alpha", page.locator("tbody tr").first)
    title(page, "alpha")
    assert complaints == []


def test_an_error_is_pasted_and_judged(hands: Hands, complaints: Complaints) -> None:
    page = hands.page
    page.goto("/policies")
    hands.press("Judge an error")
    hands.fill("Status", "429")
    hands.fill("Body", '{"error": {"code": "insufficient_quota"}}')
    hands.press("Judge")
    expect(page.get_by_role("heading", level=2, name="quota")).to_be_visible()
    assert complaints == []


def test_a_text_is_tried_and_judged(hands: Hands, complaints: Complaints) -> None:
    page = hands.page
    page.goto("/intents")
    hands.press("Try a text")
    hands.fill("Text", "what a nice day")
    hands.press("Try")
    expect(page.get_by_role("heading", name="Taken for")).to_be_visible()
    hands.choose("It was taken for", "none of them")
    hands.choose("It should have been", "talk")
    hands.press("Note it")
    title(page, "Intent feedback")
    expect(page.get_by_text("talk would be right").first).to_be_visible()
    assert complaints == []
