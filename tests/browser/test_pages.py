"""Every page in a real browser: no complaint, no side scrolling, nothing serious for axe."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.inspecting import NARROW, wrongs
from tests.browser.pages import NAMES, addresses
from tests.browser.serving import Site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def known(site: Site) -> dict[str, str]:
    """Name -> address of every page."""
    deadline = time.monotonic() + 20
    while not site.call("GET", "turns")["items"]:  # written a moment after the answer
        assert time.monotonic() < deadline, "no turn was recorded"
        time.sleep(0.1)
    return addresses(site)


@pytest.fixture(scope="module")
def told(visitor: Page) -> Complaints:
    """What the visitor's pages complain of, one after the other."""
    complaints = Complaints()
    complaints.watch(visitor)
    return complaints


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_with_a_page(
    visitor: Page, told: Complaints, known: dict[str, str], name: str
) -> None:
    told.clear()
    visitor.goto(known[name])
    wrong = wrongs(visitor)
    unasked = [one for one in told if "refused" not in name or "422" not in one]
    assert [*wrong, *unasked] == []


def test_the_navigation_opens_from_its_button_on_a_narrow_screen(page: Page) -> None:
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.goto("/")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Deployments").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Deployments")


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
    expect(page.locator("#link-state")).to_be_hidden()
    page.goto("/edit/routes/chat")
    page.get_by_role("button", name="Later").first.click()
    numbers = page.locator('[data-tiers] input[type="number"]')
    assert [numbers.nth(n).input_value() for n in range(2)] == ["1", "2"]
    page.get_by_role("button", name="Remove").nth(1).click()
    expect(page.locator("[data-tiers] li:not(.blank)")).to_have_count(1)
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
