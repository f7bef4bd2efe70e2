"""Watching for long: a hundred updates, a cut of ten seconds, one deployment's page, the keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.serving import KEY, PASSWORD, Site, served
from tests.browser.test_live import live, row

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def rested(site: Site) -> Iterator[None]:
    yield
    for deployment in ("alpha", "beta"):
        site.clear(deployment)


def test_a_hundred_updates_leave_text_selection_focus_and_menu_alone(
    page: Page, site: Site, complaints: Complaints
) -> None:
    live(page)
    menu = page.locator(f"{row(page, 'alpha')} details[data-menu]").first
    menu.locator("summary").click()
    seconds = menu.locator('input[name="seconds"]')
    seconds.fill("77")
    seconds.select_text()
    leases = []
    for _ in range(100):
        leases.append(site.lease())
    expect(page.locator('[data-cell="sum-active"]')).to_have_text("100")
    for lease in leases:
        site.give_back(lease)
    expect(page.locator('[data-cell="sum-active"]')).to_have_text("0")
    assert menu.get_attribute("open") is not None
    assert seconds.input_value() == "77"
    assert page.evaluate("document.activeElement.name") == "seconds"
    page.keyboard.type("5")  # what was selected is replaced
    assert seconds.input_value() == "5"
    assert complaints == []


def test_after_a_cut_of_ten_seconds_values_are_grey_and_then_what_was_missed_is_shown(
    page: Page, context: BrowserContext, site: Site
) -> None:
    sockets = []
    page.route_web_socket(
        "/ws/console", lambda route: sockets.append((route, route.connect_to_server()))
    )
    live(page)
    context.set_offline(True)
    sockets[-1][0].close(code=1012)
    expect(page.locator("body")).to_have_attribute("data-stale", "true", timeout=14_000)
    expect(page.locator("#link-state")).to_contain_text("stale for 1")
    assert page.evaluate("document.querySelector('.row .act').inert")
    page.keyboard.press("j")
    page.keyboard.press("d")  # out of reach for keys too
    assert page.locator(".toast").count() == 0
    site.cool("alpha")
    context.set_offline(False)
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling").first).to_be_visible(timeout=5000)
    expect(page.locator("#link-state")).to_have_text("live")
    expect(page.locator("body")).to_have_attribute("data-stale", "false")
    assert not page.evaluate("document.querySelector('.row .act').inert")
    assert site.call("GET", "deployments/alpha")["admin_state"] == "enabled"


def test_a_deployments_page_is_live(page: Page, site: Site, complaints: Complaints) -> None:
    page.goto("/deployments/alpha")
    expect(page.locator("#link-state")).to_have_text("live")
    site.cool("alpha", 600)
    expect(page.locator("#now .s-cooling")).to_be_visible(timeout=1000)
    expect(page.locator("#now time[data-until]")).to_have_text(re.compile(r"^(10:00|9:5\d)$"))
    page.locator("#now details[data-menu] summary").click()
    page.locator("#now").get_by_role("button", name="Clear cooldown").click()
    expect(page.locator("#now .s-cooling")).to_have_count(0)
    assert complaints == []


def test_times_are_told_in_the_zone_of_the_viewer_with_utc_beside_it(
    chromium: Browser, site: Site, sessions: dict[str, Any]
) -> None:
    context = chromium.new_context(
        base_url=site.url,
        storage_state=sessions["vera"],
        timezone_id="America/New_York",
        locale="en-US",
    )
    page = live(context.new_page())
    site.cool("alpha", 600)
    until = page.locator(f"{row(page, 'alpha')} time[data-until]").first
    expect(until).to_have_text(re.compile(r"^(10:00|9:[45]\d)$"))
    until.hover()
    zoned, utc = str(until.get_attribute("title")).split(" · ")
    assert re.search(r"E[SD]T$", zoned)
    deadline = datetime.strptime(utc, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    assert 500 < (deadline - datetime.now(UTC)).total_seconds() <= 600
    context.close()


def test_groups_move_when_nobody_points_at_them(page: Page, site: Site) -> None:
    site.call("POST", "deployments/gamma/enable", {})
    live(page)
    page.locator("#q").hover()
    first = page.locator(".group .title").first
    expect(first).to_have_text("chat")
    try:
        site.cool("gamma")
        expect(first).to_have_text("Not in any route")
        site.clear("gamma")
        expect(first).to_have_text("chat")
    finally:
        site.clear("gamma")
        site.call("POST", "deployments/gamma/disable", {})


def test_the_keys_are_listed_explained_and_switched_off_in_their_dialog(page: Page) -> None:
    live(page)
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    dialog.get_by_label("Single-key shortcuts").check()
    page.keyboard.press("Escape")


def test_a_row_is_drained_undone_and_explained_by_single_keys(page: Page, site: Site) -> None:
    live(page, "/?route=other")
    page.keyboard.press("j")
    page.keyboard.press("d")
    expect(page.locator(f"{row(page, 'beta')} .s-draining")).to_be_visible()
    expect(page.locator("[data-undo]")).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator(f"{row(page, 'beta')} .s-healthy")).to_be_visible()
    page.keyboard.press("e")
    page.wait_for_url("**/explain?model=other")
    expect(page.get_by_role("heading", level=2, name="other")).to_be_visible()


def test_the_tab_tells_how_many_need_a_person(page: Page, site: Site) -> None:
    live(page)
    icon = "document.querySelector('link[rel=icon]').href"
    assert not page.title().startswith("(")
    assert "icon-alarm" not in page.evaluate(icon)
    site.call("POST", f"leases/{site.lease()}/report", {"outcome": "failure", "status": 401})
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    assert "icon-alarm" in page.evaluate(icon)


def test_the_playground_streams_an_answer_and_draws_its_turn(
    chromium: Browser, tmp_path: Path, complaints: Complaints
) -> None:
    with served(tmp_path, "--demo") as demo:
        context = chromium.new_context(base_url=demo.url)
        page = context.new_page()
        complaints.watch(page)
        page.goto("/login")
        page.fill("#id_username", "ada")
        page.fill("#id_password", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{demo.url}/")
        expect(page.get_by_text("Demo: three simulated providers")).to_be_visible()
        page.goto("/playground")
        page.fill("#key", KEY)
        page.keyboard.press("Enter")
        expect(page.locator("#answer")).not_to_be_empty(timeout=15_000)
        expect(page.locator("#attempts")).to_contain_text("halt: ", timeout=20_000)
        expect(page.locator("#attempts svg.span").first).to_be_visible()
        expect(page.locator("#as-python")).to_contain_text('"model": "chat"')
        page.locator("#turn-link").click()
        expect(page.get_by_role("heading", level=2, name="Attempts")).to_be_visible()
        context.close()
