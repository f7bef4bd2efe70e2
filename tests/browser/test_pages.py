"""Every page in a real browser: no complaint, no side scrolling, nothing serious for axe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.serving import Site

pytestmark = pytest.mark.browser

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
PAGES = (
    "/",
    "/explain",
    "/explain?model=chat&draws=200",
    "/playground",
    "/judge?status=429&retry_after=20",
    "/turns",
    "/events",
    "/routes",
    "/routes/chat",
    "/edit/routes/chat",
    "/aliases",
    "/aliases/gpt-4",
    "/deployments",
    "/deployments/alpha",
    "/new/deployments",
    "/edit/deployments/alpha",
    "/delete/deployments/alpha",
    "/models",
    "/endpoints",
    "/edit/endpoints/acme-api",
    "/providers",
    "/providers/acme",
    "/new/providers",
    "/credentials",
    "/credentials/acme-key",
    "/new/credentials",
    "/policies",
    "/policies/calm",
    "/edit/policies/calm",
    "/rules",
    "/rules/night",
    "/new/rules?route_id=chat&position=1",
    "/intents",
    "/intents/talk",
    "/feedback/intents",
    "/try/intents",
    "/settings/intents",
    "/load/intents",
    "/revisions",
    "/revisions/1",
    "/transfer",
    "/audit",
    "/keys",
    "/new/keys",
    "/users",
    "/alerts",
    "/new/alerts",
    "/new/users",
    "/account",
)
WIDEST = "document.documentElement.scrollWidth"


@pytest.mark.parametrize("address", PAGES)
def test_a_page_opens_without_complaint(page: Page, complaints: Complaints, address: str) -> None:
    answer = page.goto(address)
    assert answer is not None
    assert answer.status == 200
    page.wait_for_timeout(150)
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    site: Site, chromium: Browser, sessions: dict[str, Any], scheme: Any
) -> None:
    context = chromium.new_context(
        base_url=site.url, storage_state=sessions["ada"], color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    found = {}
    for address in (*PAGES, "/login"):
        page.goto(address)
        page.evaluate(AXE)
        violations = page.evaluate("axe.run().then((result) => result.violations)")
        serious = [
            (one["id"], [node["html"][:160] for node in one["nodes"][:3]])
            for one in violations
            if one["impact"] in ("serious", "critical")
        ]
        if serious:
            found[address] = serious
    context.close()
    assert found == {}


def test_no_page_scrolls_sideways_on_a_narrow_screen(
    site: Site, chromium: Browser, sessions: dict[str, Any]
) -> None:
    context = chromium.new_context(
        base_url=site.url,
        storage_state=sessions["ada"],
        viewport={"width": 380, "height": 800},
    )
    page = context.new_page()
    wide = {}
    for address in PAGES:
        page.goto(address)
        width = page.evaluate(WIDEST)
        if width > 380:
            wide[address] = width
    assert wide == {}
    page.goto("/")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Deployments").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Deployments")
    context.close()


def test_the_console_works_without_javascript(
    site: Site, chromium: Browser, sessions: dict[str, Any]
) -> None:
    context = chromium.new_context(
        base_url=site.url, storage_state=sessions["ada"], java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/edit/deployments/beta")
    page.fill('[name="weight"]', "4")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("beta")
    page.goto("/")
    menu = page.locator('[data-row][data-name^="beta/"] details[data-menu]').first
    menu.locator("summary").click()
    menu.get_by_role("button", name="Disable").click()
    expect(page.locator(".note")).to_contain_text("beta is disabled")
    menu.locator("summary").click()
    menu.get_by_role("button", name="Enable").click()
    expect(page.locator(".note")).to_contain_text("beta is enabled")
    context.close()


def test_a_refused_form_has_the_focus_on_the_first_wrong_field(page: Page) -> None:
    page.goto("/new/providers")
    page.fill('[name="name"]', "typed")
    page.get_by_role("button", name="Add provider").click()
    expect(page.locator("#id_id")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#id_id")).to_be_focused()
    assert page.locator('[name="name"]').input_value() == "typed"


def test_an_old_tab_sees_what_changed_and_keeps_what_it_typed(
    page: Page, site: Site, complaints: Complaints
) -> None:
    page.goto("/edit/deployments/alpha")
    page.fill('[name="priority"]', "2")
    site.call("PATCH", "deployments/alpha", {"weight": 5})
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("was changed while you were editing")
    assert page.locator('[name="priority"]').input_value() == "2"
    assert page.locator('[name="weight"]').input_value() == "5"
    page.get_by_role("button", name="Save mine on top").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("alpha")
    saved = site.call("GET", "deployments/alpha")
    assert (saved["weight"], saved["priority"]) == (5, 2)
    assert [text for text in complaints if "409" not in text] == []


def test_the_tier_editor_moves_rows_by_button_and_by_key(page: Page) -> None:
    page.goto("/edit/routes/chat")
    first = page.locator("[data-tiers] li").first
    first.get_by_role("button", name="Later").click()
    numbers = page.locator('[data-tiers] input[type="number"]')
    assert [numbers.nth(n).input_value() for n in range(2)] == ["1", "2"]
    numbers.nth(1).focus()
    page.keyboard.press("Alt+ArrowUp")
    assert [numbers.nth(n).input_value() for n in range(2)] == ["1", "1"]


def test_keys_move_between_rows_and_can_be_switched_off(page: Page) -> None:
    page.goto("/deployments")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="alpha", exact=True)).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.goto("/account")
    page.locator("main").get_by_label("Single-key shortcuts").uncheck()
    page.goto("/deployments")
    page.keyboard.press("/")
    expect(page.locator("#q")).not_to_be_focused()


def test_a_route_is_previewed_in_place_and_not_saved(page: Page, site: Site) -> None:
    page.goto("/edit/routes/chat")
    page.locator("[data-tiers] select").nth(1).select_option("")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator("#preview")).to_contain_text("100.0 %")
    assert page.locator("[data-tiers] select").nth(0).input_value() == "alpha"
    assert len(site.call("GET", "routes/chat")["targets"]) == 2
