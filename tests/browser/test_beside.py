"""Beside the live list: its panel, who comes and goes, and the other pages that are live."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.serving import Site
from tests.browser.test_live import live, row

pytestmark = pytest.mark.browser

FOCUSED = "document.activeElement.textContent.trim()"
COMPONENTS = (Path(__file__).resolve().parents[2] / "docs" / "components.html").as_uri()


@pytest.fixture(autouse=True)
def rested(site: Site) -> Iterator[None]:
    yield
    for deployment in ("alpha", "beta"):
        site.clear(deployment)
        site.call("POST", f"deployments/{deployment}/enable")


def test_a_candidate_opens_beside_the_list_follows_the_row_and_gives_the_focus_back(
    page: Page, site: Site, complaints: Complaints
) -> None:
    live(page, "/?route=chat")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", level=2)).to_have_text("alpha")
    expect(panel.get_by_role("heading", level=2)).to_be_focused()
    assert "panel=alpha%2Facme-key" in page.url
    panel.get_by_label("Cooldown in seconds").fill("77")
    site.cool("alpha")
    expect(panel.locator(".panel-now .s-cooling")).to_be_visible(timeout=1000)
    expect(panel.get_by_text("cooling-down")).to_be_visible()  # why not
    expect(panel.locator("#panel-past")).to_contain_text("cooldown-set")
    expect(panel.get_by_label("Cooldown in seconds")).to_be_focused()
    assert panel.get_by_label("Cooldown in seconds").input_value() == "77"
    panel.get_by_role("button", name="Clear cooldown").click()
    expect(panel.locator(".panel-now .s-healthy")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(panel.locator(".panel-now .s-cooling")).to_be_visible()
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("j")
    expect(panel.get_by_role("heading", level=2)).to_have_text("beta")
    assert page.evaluate(FOCUSED) == "beta"
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    assert page.evaluate(FOCUSED) == "beta"
    assert "panel" not in page.url
    page.locator(f"{row(page, 'alpha')} .why-cell").click()
    expect(panel.get_by_role("heading", level=2)).to_have_text("alpha")
    page.reload()
    expect(panel.get_by_role("heading", level=2)).to_have_text("alpha")
    page.get_by_role("link", name="Close").click()
    expect(panel).to_have_count(0)
    assert complaints == []


def test_on_a_narrow_screen_the_panel_covers_the_page(page: Page) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    live(page, "/?route=chat")
    page.locator(f"{row(page, 'beta')} .who-cell a").click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", level=2)).to_be_focused()
    box = panel.bounding_box()
    assert box is not None
    assert (box["x"], box["y"], box["width"], box["height"]) == (0, 0, 380, 800)
    assert page.evaluate("document.querySelector('.beside-list').inert")
    page.keyboard.press("k")
    expect(panel.get_by_role("heading", level=2)).to_have_text("alpha")
    page.keyboard.press("j")
    expect(panel.get_by_role("heading", level=2)).to_have_text("beta")
    page.keyboard.press("Escape")
    assert not page.evaluate("document.querySelector('.beside-list').inert")
    assert page.evaluate(FOCUSED) == "beta"


def test_who_does_not_fit_the_filter_any_more_goes_and_who_does_comes(
    page: Page, site: Site
) -> None:
    live(page, "/?state=cooling")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    page.locator("#q").hover()
    site.cool("alpha")
    expect(page.locator(row(page, "alpha"))).to_be_visible(timeout=6000)
    page.locator(f"{row(page, 'alpha')} .who-cell").hover()
    site.cool("beta")
    expect(page.get_by_role("button", name="Order changed")).to_be_visible(timeout=6000)
    expect(page.locator(row(page, "beta"))).to_have_count(0)
    site.cool("alpha", 900)
    longer = re.compile(r"^(15:00|14:\d\d)$")
    expect(page.locator(f"{row(page, 'alpha')} time[data-until]")).to_have_text(longer)
    page.get_by_role("button", name="Order changed").click()
    expect(page.locator(f"{row(page, 'beta')}").first).to_be_visible()
    expect(page.locator(f"{row(page, 'alpha')} time[data-until]")).to_have_text(longer)
    page.locator("#q").hover()
    site.clear("alpha")
    expect(page.locator(row(page, "alpha"))).to_have_count(0, timeout=6000)


ON_SCREEN = """(sheet) => {
  const { left, right, top, bottom } = sheet.getBoundingClientRect();
  return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && right > left;
}"""


def test_a_menu_stays_on_the_screen(page: Page) -> None:
    live(page)
    page.set_viewport_size({"width": 700, "height": 500})
    menus = page.locator("details[data-menu]").all()
    assert len(menus) >= 4  # alpha and beta in chat, beta in other, gamma
    for menu in menus:
        summary = menu.locator("summary")
        summary.evaluate("(node) => node.scrollIntoView({ block: 'end' })")
        summary.click()
        page.wait_for_function(ON_SCREEN, arg=menu.locator(".sheet").element_handle())
        page.keyboard.press("Escape")


def test_a_hidden_tab_stops_and_reads_once_when_it_is_looked_at_again(
    page: Page, site: Site, complaints: Complaints
) -> None:
    live(page)
    readings = []
    page.on("request", lambda one: readings.append(one) if one.resource_type == "fetch" else None)
    look = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(look, True)
    site.cool("alpha")
    page.wait_for_timeout(1500)
    assert page.locator(f"{row(page, 'alpha')} .s-cooling").count() == 0
    assert readings == []
    page.evaluate(look, False)
    expect(page.locator(f"{row(page, 'alpha')} .s-cooling").first).to_be_visible(timeout=5000)
    page.wait_for_timeout(1500)
    assert len(readings) == 1
    expect(page.locator("#link-state")).to_have_text("live")
    assert complaints == []


def test_other_pages_show_the_state_of_this_moment(
    page: Page, context: BrowserContext, site: Site, complaints: Complaints
) -> None:
    page.goto("/deployments/alpha")
    expect(page.locator("#link-state")).to_have_text("live")
    page.get_by_label("Reason").fill("maintenance")
    page.locator("#act-states").get_by_role("button", name="Drain").click()
    expect(page.locator(".head .s-draining")).to_be_visible()
    expect(page.locator("#badge")).to_have_text("wanted draining")
    expect(page.locator("#act-states")).to_have_text("EnableDisable")
    expect(page.locator("#history")).to_contain_text("maintenance")
    assert page.get_by_label("Reason").input_value() == "maintenance"
    page.locator("#act-states").get_by_role("button", name="Enable").click()
    expect(page.locator(".head .s-healthy")).to_be_visible()
    others = {
        address: context.new_page()
        for address in ("/deployments", "/routes/chat", "/providers", "/endpoints", "/credentials")
    }
    for address, other in others.items():
        complaints.watch(other)
        other.goto(address)
        expect(other.locator("#link-state")).to_have_text("live")
    site.cool("alpha")
    site.cool("beta")
    told = {
        "/deployments": "cooling",
        "/routes/chat": "cooling",
        "/providers": "1 of 3 healthy",
        "/endpoints": "1 of 3 healthy",
        "/credentials": "1 of 3 healthy",
    }
    for address, words in told.items():
        words = words.replace("1 of", "0 of")
        expect(others[address].locator("main")).to_contain_text(words, timeout=2000)
    site.call("PATCH", "deployments/gamma", {"tags": ["new-tag"]})
    expect(others["/deployments"].locator("#listed")).to_contain_text("new-tag")
    site.call("PATCH", "deployments/gamma", {"tags": []})
    assert complaints == []


def test_a_page_stands_still_while_a_question_is_open_on_it(
    page: Page, site: Site, restored: int, complaints: Complaints
) -> None:
    page.goto("/deployments/alpha")
    expect(page.locator("#link-state")).to_have_text("live")
    page.get_by_role("link", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.evaluate(
        "document.addEventListener('htmx:ws:after:message:incoming', (event) =>"
        " { document.body.dataset.told = JSON.parse(event.detail.message.data).revision; })"
    )
    read = []
    page.on("request", lambda one: read.append(one) if one.url.endswith("/alpha") else None)
    before = site.call("GET", "state")["revision"]
    site.call("PATCH", "deployments/alpha", {"tags": ["new-tag"]})
    expect(page.locator("body")).to_have_attribute("data-told", str(before + 1))
    site.cool("alpha")  # in a frame of its own
    expect(page.locator("#now .s-cooling")).to_be_visible()
    assert read == []
    dialog.get_by_role("link", name="Keep it").click()
    expect(page.locator("#settings")).to_contain_text("new-tag")
    assert complaints == []
    site.call("DELETE", "deployments/alpha?cascade=true")
    expect(page.locator("#gone")).to_be_visible()
    expect(page.locator("#link-state")).to_have_text("deleted")
    beside = page.context.new_page()
    beside.goto("/deployments/beta")
    expect(beside.locator("#link-state")).to_have_text("live")
    read.clear()
    site.call("PATCH", "deployments/beta", {"tags": ["later-tag"]})
    expect(beside.locator("#settings")).to_contain_text("later-tag")
    assert read == []  # the same frame reached both; what is gone is asked for no more


def test_events_come_by_themselves_and_wait_while_the_list_is_pointed_at(
    page: Page, site: Site
) -> None:
    page.goto("/events?deployment=beta")
    expect(page.locator("#link-state")).to_have_text("live")
    site.cool("beta", 601)
    first = page.locator("#listed tbody tr").first
    expect(first).to_contain_text("cooldown-set", timeout=6000)
    first.hover()
    site.clear("beta")
    apply = page.get_by_role("button", name="Newer ones")
    expect(apply).to_be_visible(timeout=6000)
    expect(first).to_contain_text("cooldown-set")
    apply.click()
    expect(first).not_to_contain_text("cooldown-set")


def test_without_a_socket_a_deployments_page_reads_itself_again(page: Page, site: Site) -> None:
    page.route_web_socket("/ws/console", lambda route: route.close(code=1011))
    page.goto("/deployments/alpha")
    site.cool("alpha")
    expect(page.locator("#now .s-cooling")).to_be_visible(timeout=12_000)
    expect(page.locator("#link-state")).to_have_text(re.compile("no socket: reading every 5 s"))


def test_a_browser_whose_clock_is_wrong_counts_by_the_server_s(page: Page, site: Site) -> None:
    page.add_init_script("const own = Date.now; Date.now = () => own() - 400_000;")
    site.cool("alpha", 60)
    live(page)
    expect(page.locator(f"{row(page, 'alpha')} time[data-until]").first).to_have_text(
        re.compile(r"^(1:00|0:[345]\d)$")
    )
    tail = page.locator("#tail time").first
    expect(tail).to_have_text(re.compile(r"^\d+ s ago$"))
    tail.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    shown = "getComputedStyle(document.querySelector('#tail time'), '::after').content"
    assert "UTC" in page.evaluate(shown)


PAINTS = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((n) => {
      const c = n / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const canvas = light(getComputedStyle(document.body).backgroundColor);
  const weak = [];
  for (const use of document.querySelectorAll("main svg use")) {
    const ink = light(getComputedStyle(use.closest("svg")).color);
    const ratio = (Math.max(ink, canvas) + 0.05) / (Math.min(ink, canvas) + 0.05);
    if (ratio < 3) weak.push([use.getAttribute("href"), ratio]);
  }
  for (const part of document.querySelectorAll("main svg :is(path, rect):not(.track, .b-none)")) {
    const ink = light(getComputedStyle(part).fill);
    const ratio = (Math.max(ink, canvas) + 0.05) / (Math.min(ink, canvas) + 0.05);
    if (ratio < 3) weak.push([part.getAttribute("class"), ratio]);
  }
  return weak;
}"""
LINES = """(selector) => {
  const style = getComputedStyle(document.querySelector(selector));
  return ["outline", "borderLeft", "borderTop", "backgroundColor"].map((n) => style[n]).join();
}"""
PAIRS = (
    (".figure[aria-current]", "a.figure:not([aria-current])"),
    (".saved a[aria-current]", ".saved a:not([aria-current])"),
    (".row[data-current]", ".row:not([data-current])"),
    (".tag.bad", ".tag:not(.bad)"),
    (".note.error", ".note.warning"),
    (".note.warning", ".note:not(.warning, .error)"),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_forced_colours_everything_is_seen_and_told_apart_by_lines(
    chromium: Browser, scheme: Any
) -> None:
    context = chromium.new_context(
        forced_colors="active", color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(COMPONENTS)
    assert page.evaluate(PAINTS) == []
    for one, other in PAIRS:
        assert page.evaluate(LINES, one) != page.evaluate(LINES, other), one
    moving = "document.getAnimations().length"
    assert page.evaluate(moving) == 0
    context.close()


def test_in_monochrome_every_state_and_every_tick_has_a_form_of_its_own(chromium: Browser) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(COMPONENTS)
    shapes = page.evaluate(
        """[...document.querySelectorAll('.card:first-of-type .state use')]
          .map((use) => document.querySelector(use.getAttribute('href')).innerHTML)"""
    )
    assert len(shapes) == len(set(shapes)) == 9
    ticks = page.evaluate(
        """[...document.querySelector('.beats').querySelectorAll('path:not(.b-none)')]
          .map((path) => path.getAttribute('d').split('M')[1].replace(/^\\d+ /, ''))"""
    )
    assert len(ticks) == len(set(ticks)) == 4
    context.close()
