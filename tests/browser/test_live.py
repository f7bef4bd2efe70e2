"""The live page in a real browser: what it shows while things change around it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.serving import PASSWORD, Site

pytestmark = pytest.mark.browser


@pytest.fixture(autouse=True)
def rested(site: Site) -> Iterator[None]:
    """Every test starts and ends with nothing cooling."""
    yield
    for deployment in ("alpha", "beta"):
        site.clear(deployment)


def live(page: Page, address: str = "/") -> Page:
    page.goto(address)
    expect(page.locator("#link-state")).to_have_text("live")
    return page


def state(page: Page, deployment: str) -> str:
    row = page.locator(f'[data-row][data-name^="{deployment}/"]').first
    return row.locator(".state-cell .state").inner_text()


def row(page: Page, deployment: str) -> str:
    return f'[data-row][data-name^="{deployment}/"]'


def test_the_socket_opens_on_every_load(page: Page, complaints: Complaints) -> None:
    for _ in range(20):
        live(page)
    assert complaints == []


def test_a_state_change_is_visible_within_half_a_second(page: Page, site: Site) -> None:
    live(page)
    site.cool("alpha")
    done = time.monotonic()
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling")).to_be_visible(timeout=500)
    assert time.monotonic() - done < 0.5
    expect(page.locator(f"{row(page, 'alpha')} time[data-until]")).to_have_text(
        re.compile(r"^(10:00|9:5\d)$")
    )
    expect(page.locator('[data-cell="sum-cooling"]')).to_have_text("1")


def test_typed_text_focus_and_open_menus_survive_updates(
    page: Page, site: Site, complaints: Complaints
) -> None:
    live(page)
    page.locator("#q").focus()
    page.keyboard.type("abc")
    leases = [site.lease() for _ in range(20)]
    expect(page.locator('[data-cell="sum-active"]')).to_have_text("20")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("d")
    assert page.locator("#q").input_value() == "abcd"
    menu = page.locator(f"{row(page, 'alpha')} details[data-menu]").first
    menu.locator("summary").click()
    menu.locator('input[name="seconds"]').fill("77")
    site.cool("beta")
    expect(page.locator(f"{row(page, 'beta')} .s-cooling").first).to_be_visible()
    assert menu.get_attribute("open") is not None
    assert menu.locator('input[name="seconds"]').input_value() == "77"
    for lease in leases:
        site.give_back(lease)
    expect(page.locator('[data-cell="sum-active"]')).to_have_text("0")
    assert complaints == []


def test_rows_do_not_move_under_the_pointer(page: Page, site: Site) -> None:
    live(page, "/?route=chat")
    names = "[...document.querySelectorAll('[data-row]')].map((r) => r.dataset.name.split('/')[0])"
    assert page.evaluate(names) == ["alpha", "beta"]
    page.locator(row(page, "alpha")).hover()
    site.cool("beta")
    expect(page.locator(f"{row(page, 'beta')} .s-cooling")).to_be_visible()
    assert page.evaluate(names) == ["alpha", "beta"]
    button = page.get_by_role("button", name="Order changed")
    expect(button).to_be_visible()
    button.click()
    assert page.evaluate(names) == ["beta", "alpha"]
    expect(button).to_be_hidden()


def test_a_paused_page_stands_still_and_catches_up(page: Page, site: Site) -> None:
    live(page)
    page.get_by_role("button", name="Pause").click()
    site.cool("alpha")
    expect(page.locator("#link-state")).to_have_text(re.compile("paused · [1-9]"))
    assert state(page, "alpha") == "healthy"
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling").first).to_be_visible()


def test_a_broken_link_is_shown_and_the_page_catches_up(
    page: Page, context: BrowserContext, site: Site
) -> None:
    sockets = []
    page.route_web_socket(
        "/ws/console", lambda route: sockets.append((route, route.connect_to_server()))
    )
    live(page)
    context.set_offline(True)
    sockets[-1][0].close(code=1012)
    expect(page.locator("#link-state")).to_have_text(re.compile("reconnecting"), timeout=5000)
    site.cool("alpha")
    site.call("PATCH", "routes/other", {"alias": "other-renamed"})
    context.set_offline(False)
    expect(page.locator("#link-state")).to_have_text("live", timeout=5000)
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling").first).to_be_visible(timeout=5000)
    expect(page.locator(".group .title", has_text="other-renamed")).to_be_visible(timeout=5000)
    site.call("PATCH", "routes/other", {"alias": "other"})
    expect(page.locator(".group .title", has_text=re.compile("^other$"))).to_be_visible()


def test_a_lost_frame_makes_the_page_fetch_a_snapshot(page: Page, site: Site) -> None:
    dropping = [False]

    def relay(route: object) -> None:
        server = route.connect_to_server()  # type: ignore[attr-defined]
        server.on_message(lambda text: None if dropping[0] else route.send(text))  # type: ignore[attr-defined]

    page.route_web_socket("/ws/console", relay)
    live(page)
    dropping[0] = True
    site.cool("alpha")
    page.wait_for_timeout(700)
    dropping[0] = False
    assert state(page, "alpha") == "healthy"
    lease = site.lease()
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling").first).to_be_visible()
    site.give_back(lease)


def test_without_a_socket_the_page_polls(page: Page, site: Site) -> None:
    page.route_web_socket("/ws/console", lambda route: route.close(code=1011))
    page.goto("/")
    expect(page.locator("#link-state")).to_have_text(re.compile("reconnecting"))
    site.cool("alpha")
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling").first).to_be_visible(timeout=12_000)


def test_an_action_is_done_at_once_and_undone(
    page: Page, site: Site, complaints: Complaints
) -> None:
    live(page)
    menu = page.locator(f"{row(page, 'alpha')} details[data-menu]").first
    menu.locator("summary").click()
    menu.get_by_role("button", name="Drain").click()
    expect(page.locator(".toast")).to_contain_text("alpha drains")
    expect(page.locator(f"{row(page, 'alpha')} .s-draining")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(f"{row(page, 'alpha')} .s-healthy")).to_be_visible()
    assert complaints == []


def test_signing_out_elsewhere_ends_the_page(
    site: Site, context: BrowserContext, page: Page
) -> None:
    context.clear_cookies()
    page.goto("/login")
    page.fill("#id_username", "otto")
    page.fill("#id_password", PASSWORD)
    page.click("button.primary")
    expect(page.locator("#link-state")).to_have_text("live")
    other = context.new_page()
    other.goto("/account")
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/login")
    expect(page.locator("#link-state")).to_contain_text("signed out", timeout=5000)


def test_names_and_messages_never_run(page: Page, site: Site, complaints: Complaints) -> None:
    body = {"deployment": "alpha", "seconds": 60, "reason": "<img src=x onerror=alert(1)>"}
    live(page)
    site.call("POST", "cooldowns", body)
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling")).to_be_visible()
    expect(page.locator("#tail")).to_contain_text("cooldown-set")
    assert page.locator("img").count() == 0
    assert complaints == []


def test_a_cooldown_counts_down_to_due(page: Page, site: Site) -> None:
    live(page)
    site.cool("alpha", 2)
    expect(page.locator(f"{row(page, 'alpha')} time[data-until]").first).to_have_text(
        re.compile(r"^0:0[12]$")
    )
    expect(page.locator(f"{row(page, 'alpha')} .s-recovering").first).to_be_visible(timeout=4000)


def test_an_open_menu_survives_a_snapshot_too(page: Page, site: Site) -> None:
    live(page)
    menu = page.locator(f"{row(page, 'alpha')} details[data-menu]").first
    menu.locator("summary").click()
    menu.locator('input[name="seconds"]').fill("77")
    before = page.locator(".strip [data-revision]").inner_text()
    site.call("PATCH", "deployments/gamma", {"weight": 3})
    expect(page.locator(".strip [data-revision]")).not_to_have_text(before)
    assert menu.get_attribute("open") is not None
    assert menu.locator('input[name="seconds"]').input_value() == "77"
