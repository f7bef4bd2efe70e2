"""The main task of the pages that give access or tell somebody: by keyboard alone, and by mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Complaints
from tests.browser.hands import Hands
from tests.browser.serving import Site
from tests.browser.test_tasks_catalog import title
from tests.receiver import receiver

pytestmark = pytest.mark.browser


def test_a_key_is_made_copied_limited_revoked_and_deleted(
    hands: Hands, site: Site, complaints: Complaints
) -> None:
    page = hands.page
    page.goto("/keys")
    hands.press("Add API key")
    hands.fill("Name", "robot")
    hands.tick("inference: send requests through routeradmin")
    hands.tick("all routes, also those added later")
    hands.press("Add API key")
    title(page, "robot")
    hands.press("Copy")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    hands.press("Done")
    hands.press("robot")
    hands.fill("Requests per minute", "60")
    hands.press("Save")
    row = page.locator("tr", has_text="robot")
    expect(row).to_contain_text("60 rpm")
    hands.press("Revoke robot", row)
    hands.press("Revoke", page.get_by_role("dialog"))
    expect(row).to_contain_text("revoked")
    hands.press("Delete robot", row)
    hands.press("Delete", page.get_by_role("dialog"))
    expect(row).to_have_count(0)
    assert complaints == []


def test_a_user_is_added_changed_and_deleted(hands: Hands, complaints: Complaints) -> None:
    page = hands.page
    page.goto("/users")
    hands.press("Add user")
    hands.fill("Username", "nina")
    hands.choose("Role", "operator")
    hands.fill("Password", "a long enough passphrase")
    hands.press("Add user")
    hands.press("nina")
    hands.choose("Role", "viewer")
    hands.press("Save")
    row = page.locator("tr", has_text="nina")
    expect(row).to_contain_text("Viewer")
    hands.press("Delete nina", row)
    hands.press("Delete", page.get_by_role("dialog"))
    expect(row).to_have_count(0)
    assert complaints == []


def test_a_webhook_is_added_tried_and_deleted(hands: Hands, complaints: Complaints) -> None:
    page = hands.page
    with receiver() as pager:
        page.goto("/alerts")
        hands.press("Add webhook")
        hands.fill("Name", "pager")
        hands.fill("Address", pager.url)
        hands.press("Add webhook")
        hands.press("Done")
        row = page.locator("tr", has_text="pager")
        hands.press("Send a test to pager", row)
        expect(row).to_contain_text("taken")
        assert len(pager.got) == 1
        hands.press("Delete pager", row)
        hands.press("Delete", page.get_by_role("dialog"))
        expect(row).to_have_count(0)
    assert complaints == []


def test_who_did_what_is_found_in_the_audit_log(
    hands: Hands, site: Site, complaints: Complaints
) -> None:
    for deployment in ("alpha", "beta"):
        site.cool(deployment, 60)
        site.clear(deployment)
    page = hands.page
    page.goto("/audit")
    hands.fill("Search", "alpha")
    hands.press("Filter")
    expect(page.locator("tbody tr").first).to_contain_text("alpha")  # beta came after it
    assert complaints == []
