"""The main task of every page of the catalog: by keyboard alone, and by mouse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints
from tests.browser.hands import Hands
from tests.browser.serving import Site

pytestmark = pytest.mark.browser

FOREIGN = Path(__file__).resolve().parents[2] / "fixtures" / "foreign" / "litellm.yaml"


def title(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


class Added(NamedTuple):
    """What is typed and chosen to add one object, and what is then edited on it."""

    one: str
    typed: dict[str, str]
    chosen: dict[str, str]
    edited: tuple[str, str]
    found: tuple[str, object]


ADDED = {
    "providers": Added(
        "provider", {"Id": "new", "Category": "lab"}, {}, ("Name", "Fresh"), ("name", "Fresh")
    ),
    "credentials": Added(
        "credential",
        {"Id": "new", "Secret": "sk-typed-0123456789"},
        {"Provider": "acme", "Authentication": "bearer", "Billing": "metered"},
        ("Tags", "eu, cheap"),
        ("tags", ["eu", "cheap"]),
    ),
    "endpoints": Added(
        "endpoint",
        {"Id": "new", "Base URL": "https://fresh.example/v1/"},
        {"Credential": "acme-key"},
        ("Connect timeout, seconds", "7"),
        ("connect_timeout_s", 7),
    ),
    "deployments": Added(
        "deployment",
        {"Id": "new", "Weight": "3"},
        {"Endpoint": "acme-api", "Model": "large", "Protocol": "chat-completions"},
        ("Requests per minute", "60"),
        ("rpm_limit", 60),
    ),
    "policies": Added(
        "policy",
        {"Id": "new"},
        {},
        ("Failures in a row", "4"),
        ("cooldown", None),
    ),
}


@pytest.mark.parametrize("noun", ADDED)
def test_an_object_is_added_edited_and_deleted(
    hands: Hands, site: Site, restored: int, complaints: Complaints, noun: str
) -> None:
    page, added = hands.page, ADDED[noun]
    page.goto(f"/{noun}")
    hands.press(f"Add {added.one}")
    for label, text in added.typed.items():
        hands.fill(label, text)
        for field, option in added.chosen.items():
            if label == "Id":
                hands.choose(field, option)
    hands.press(f"Add {added.one}")
    title(page, "new")
    hands.press("Edit")
    hands.fill(*added.edited)
    hands.press("Save and publish")
    title(page, "new")
    name, value = added.found
    saved = site.call("GET", f"{noun}/new")[name]
    assert saved == value if value is not None else saved
    hands.press("Delete")
    dialog = page.get_by_role("dialog")
    hands.fill("Reason", "no longer used", dialog)
    hands.press("Delete", dialog)
    title(page, re.compile(noun, re.I))
    assert complaints == []


def test_a_route_is_made_previewed_reordered_cloned_disabled_and_deleted(
    hands: Hands, site: Site, restored: int, complaints: Complaints
) -> None:
    page = hands.page
    page.goto("/routes")
    hands.press("Add route")
    hands.fill("Id", "fresh")
    hands.fill("Alias", "fresh")
    hands.choose("Deployment of target 1", "alpha")
    hands.choose("Deployment of target 2", "beta")
    hands.press("Show what would change")
    expect(page.locator("#preview")).to_contain_text("No problem found")
    hands.press("Later", page.locator("[data-tiers] li").first)
    hands.fill("Reason for this change", "a first try")
    hands.press("Add route")
    title(page, "fresh")
    expect(page.locator(".flow")).to_contain_text("Tier 2")
    hands.press("Clone")
    hands.fill("Id", "twin")
    hands.fill("Alias", "twin")
    hands.press("Add route")
    title(page, "twin")
    hands.press("Edit")
    hands.choose("Wanted state", "disabled")
    hands.press("Save and publish")
    title(page, "twin")
    assert site.call("GET", "routes/twin")["admin_state"] == "disabled"
    hands.press("Delete")
    hands.press("Delete", page.get_by_role("dialog"))
    title(page, "Routes")
    assert site.call("GET", "revisions")["items"][0]["number"] > restored
    assert complaints == []


def test_a_connection_is_tested_and_a_secret_replaced(
    hands: Hands, site: Site, restored: int, complaints: Complaints
) -> None:
    body = {
        "id": "closed",
        "provider_id": "acme",
        "auth_kind": "bearer",
        "billing_kind": "metered",
        "secret": "sk-first-0123456789",
    }
    site.call("POST", "credentials", body)
    page = hands.page
    page.goto("/deployments/alpha")
    hands.press("Test connection")
    toast = page.locator(".toast").first
    expect(toast).to_contain_text("alpha works", timeout=15_000)
    expect(toast).to_contain_text("first token")
    hands.press("The same by API", toast)
    expect(toast.locator("pre")).to_contain_text("/test")
    page.goto("/credentials/closed")
    before = page.locator("dd.mono").first.inner_text()
    hands.press("Replace secret")
    hands.fill("Secret", "sk-second-0123456789")
    hands.press("Replace secret")
    title(page, "closed")
    assert page.locator("dd.mono").first.inner_text() != before
    assert complaints == []


def test_several_deployments_are_tagged_together(hands: Hands, site: Site, restored: int) -> None:
    page = hands.page
    page.goto("/deployments")
    hands.tick("Tick beta")
    hands.tick("Tick gamma")
    bulk = page.locator("#bulk")
    if page.evaluate("document.activeElement.matches('.tick')"):
        page.keyboard.press("Home")
    hands.fill("Tags", "eu", bulk)
    hands.press("Add tags", bulk)
    title(page, "2 of 2 deployments tagged")
    assert site.call("GET", "deployments/gamma")["tags"] == ["eu"]


def test_a_file_is_imported(
    hands: Hands, site: Site, restored: int, complaints: Complaints
) -> None:
    page = hands.page
    page.goto("/transfer")
    hands.upload("Catalog file", FOREIGN)
    hands.press("Show what would change")
    expect(page.get_by_text("Read as")).to_contain_text("LiteLLM")
    expect(page.get_by_role("heading", name="What cannot be mapped")).to_be_visible()
    hands.press("Apply this import")
    title(page, re.compile(r"^r\d+$"))
    assert site.call("GET", "state")["revision"] == restored + 1
    assert complaints == []


def test_the_catalog_is_exported(hands: Hands) -> None:
    page = hands.page
    page.goto("/transfer")
    with page.expect_download() as download:
        hands.press("Download TOML")
    assert "[[serving_models]]" in download.value.path().read_text(encoding="utf-8")


def test_two_revisions_are_compared_and_the_older_brought_back(
    hands: Hands, site: Site, restored: int, complaints: Complaints
) -> None:
    site.call("PATCH", "deployments/alpha", {"weight": 17})
    page = hands.page
    page.goto("/revisions")
    hands.choose("Revision", f"r{restored + 1}")
    hands.choose("Revision to compare with", f"r{restored}")
    hands.press("Show the difference")
    expect(page.locator(".patch")).to_contain_text("weight")
    page.goto(f"/revisions/{restored}")
    hands.press(f"Roll back to r{restored}")
    dialog = page.get_by_role("dialog")
    hands.fill("Reason", "too heavy", dialog)
    hands.press(f"Roll back to r{restored}", dialog)
    title(page, f"r{restored + 2}")
    assert site.call("GET", "deployments/alpha")["weight"] != 17
    assert complaints == []


def test_the_defaults_of_the_catalog_are_changed(
    hands: Hands, site: Site, restored: int, complaints: Complaints
) -> None:
    page = hands.page
    page.goto("/defaults")
    hands.choose("Strategy", "least_busy")
    hands.press("Save and publish")
    title(page, "Routes")
    assert site.call("GET", "state")["revision"] == restored + 1
    page.goto("/defaults")
    expect(page.locator('[name="strategy"]')).to_have_value("least_busy")
    assert complaints == []
