"""Every key that the help lists does what it says; none works while somebody types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from routeradmin.console.shortcuts import SHORTCUTS
from tests.browser.conftest import Complaints
from tests.browser.serving import Site

pytestmark = pytest.mark.browser

LISTED = tuple(one for _, keys in SHORTCUTS for one in keys)
DRAINING = '[data-row][data-name^="beta/"] .s-draining'


@pytest.fixture(autouse=True)
def rested(site: Site) -> Iterator[None]:
    yield
    site.call("POST", "deployments/beta/enable", {})
    site.clear("beta")


def heading(text: str) -> Callable[[Page, Site], None]:
    return lambda page, site: expect(page.get_by_role("heading", level=1)).to_have_text(text)


def focused(selector: str) -> Callable[[Page, Site], None]:
    return lambda page, site: expect(page.locator(selector)).to_be_focused()


def cleared(page: Page, site: Site) -> None:
    expect(page.locator(".toast")).to_contain_text("beta/acme-key")


def tier_of_alpha(page: Page) -> str:
    rows = page.locator("[data-tiers] li")
    return next(
        row.locator('input[type="number"]').input_value()
        for row in rows.all()
        if row.locator("[data-deployment]").input_value() == "alpha"
    )


def tier(wanted: str) -> Callable[[Page, Site], None]:
    def check(page: Page, site: Site) -> None:
        assert tier_of_alpha(page) == wanted

    return check


TIERS = "[data-tiers] input[type=number]"


class Try(NamedTuple):
    """Where a key is pressed, after which others, and what is then so."""

    address: str
    before: tuple[str, ...]
    then: Callable[[Page, Site], None]
    focus: str = ""


TRIES = {
    "/": Try("/deployments", (), focused("#q")),
    "j": Try("/deployments", ("j",), focused('table a[href="/deployments/beta"]')),
    "k": Try("/deployments", ("j", "j"), focused('table a[href="/deployments/alpha"]')),
    "Enter": Try("/deployments", ("j", "j"), heading("beta")),
    "e": Try("/routes/other", (), heading("Explain")),
    "g l": Try("/routes", (), heading("Live")),
    "g r": Try("/turns", (), heading("Routes")),
    "g d": Try("/turns", (), heading("Deployments")),
    "?": Try("/audit", (), lambda page, site: expect(page.locator("#keys")).to_be_visible()),
    "Escape": Try(
        "/audit", ("?",), lambda page, site: expect(page.locator("#keys")).to_be_hidden()
    ),
    "d": Try(
        "/?route=other", ("j",), lambda page, site: expect(page.locator(DRAINING)).to_be_visible()
    ),
    "c": Try("/?route=other", ("j",), cleared),
    "t": Try("/?route=other", ("j",), focused('details[open] button[value="probe"]')),
    "u": Try(
        "/?route=other",
        ("j", "d", DRAINING, "[data-undo]"),
        lambda page, site: expect(page.locator(DRAINING)).to_have_count(0),
    ),
    "p": Try("/", (), lambda page, site: expect(page.locator("#pause")).to_have_text("Resume")),
    "x": Try(
        "/deployments",
        ("j",),
        lambda page, site: expect(page.locator("input.tick:checked")).to_have_count(1),
    ),
    "X": Try(
        "/deployments",
        ("j", "x", "j", "j"),
        lambda page, site: expect(page.locator("input.tick:checked")).to_have_count(3),
    ),
    "Alt+ArrowUp": Try("/edit/routes/chat", ("Alt+ArrowDown",), tier("1"), TIERS),
    "Alt+ArrowDown": Try("/edit/routes/chat", (), tier("2"), TIERS),
}


def test_every_listed_key_is_tried_and_no_other() -> None:
    assert set(TRIES) == {one.keys for one in LISTED}


@pytest.mark.parametrize("keys", TRIES)
def test_a_listed_key_does_what_it_says(
    page: Page, site: Site, complaints: Complaints, keys: str
) -> None:
    tried = TRIES[keys]
    page.goto(tried.address)
    if tried.focus:
        page.locator(tried.focus).first.focus()
    for key in tried.before:
        if key.startswith("["):
            page.locator(key).wait_for()
        else:
            page.keyboard.press(key)
    for key in keys.split():
        page.keyboard.press(f"Shift+{key}" if key.isupper() else key)
    tried.then(page, site)
    assert complaints == []


def test_the_help_lists_the_table(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("?")
    shown = page.locator("#keys dl").evaluate_all(
        "(lists) => lists.flatMap((one) => [...one.querySelectorAll('dt')].map((term) =>"
        " [term.innerText.trim(), term.nextElementSibling.innerText]))"
    )
    assert shown == [[" ".join(one.printed), one.meaning] for one in LISTED]


def test_no_key_acts_while_somebody_types(page: Page, site: Site) -> None:
    page.goto("/?route=other")
    page.keyboard.press("j")
    page.keyboard.press("/")
    every = "".join(one.keys.replace(" ", "") for one in LISTED if one.act)
    page.keyboard.type(every)
    assert page.locator("#q").input_value() == every
    assert page.url.endswith("/?route=other")
    assert page.locator(".toast").count() == 0
    expect(page.locator("#pause")).to_have_text("Pause")
    assert site.call("GET", "deployments/beta")["admin_state"] == "enabled"
    page.goto("/playground")
    page.locator("#message").fill("")
    page.locator("#message").press_sequentially(every)
    assert page.locator("#message").input_value() == every


def test_a_key_is_for_the_row_that_has_the_focus_not_for_the_one_before(
    page: Page, site: Site
) -> None:
    page.goto("/?route=chat")
    page.keyboard.press("j")
    page.locator('[data-row][data-name^="beta/"] a').first.focus()
    page.keyboard.press("d")
    expect(page.locator(DRAINING)).to_be_visible()
    assert site.call("GET", "deployments/alpha")["admin_state"] == "enabled"
    expect(page.locator('[data-name^="beta/"] a').first).to_be_focused()


def test_focus_returns_to_where_the_help_and_a_menu_were_opened(page: Page) -> None:
    page.goto("/?route=other")
    opener = page.get_by_role("button", name="Keyboard shortcuts")
    opener.focus()
    page.keyboard.press("Enter")
    inside = "document.querySelector('#keys').contains(document.activeElement)"
    for _ in range(8):
        page.keyboard.press("Tab")
        here = page.evaluate("document.activeElement === document.body")
        assert here or page.evaluate(inside)
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    menu = page.locator("[data-row] summary").first
    menu.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.locator("details[data-menu][open]")).to_have_count(0)
    expect(menu).to_be_focused()


def test_a_toast_that_was_entered_gives_the_focus_back(page: Page) -> None:
    page.goto("/?route=other")
    page.keyboard.press("j")
    link = page.locator("[data-row] a").first
    page.keyboard.press("d")
    page.locator("[data-undo]").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("is enabled")
    expect(page.locator(".toast button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".toast")).to_have_count(0)
    expect(link).to_be_focused()
