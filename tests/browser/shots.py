"""``python -m tests.browser.shots [MINUTES]``: renew docs/screenshots from a demo of its own.

The demo runs for MINUTES (6 without it) first, so that histories have something to show.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests import needs
from tests.browser.serving import ARGUMENTS, KEY, PASSWORD, ROOT, Site, served

SCREENSHOTS = ROOT / "docs" / "screenshots"
FOREIGN = ROOT / "fixtures" / "foreign" / "litellm.yaml"
COMPONENTS = (ROOT / "docs" / "components.html").as_uri()
WIDE = {"width": 1440, "height": 900}
NARROW = {"width": 380, "height": 800}


def route_draft(page: Page) -> None:
    page.goto("/edit/routes/chat")
    page.locator('[data-tiers] input[type="number"]').nth(1).focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#preview .patch")).to_be_visible()


def conflict(page: Page) -> None:
    page.goto("/edit/deployments/claridge-etude")
    page.fill('[name="priority"]', "5")
    Site(re.sub(r"(//[^/]+).*", r"\1", page.url)).call(
        "PATCH", "deployments/claridge-etude", {"weight": 2}
    )
    page.get_by_role("button", name="Save and publish").click()
    expect(page.get_by_role("alert")).to_be_visible()


def import_preview(page: Page) -> None:
    page.goto("/transfer")
    page.get_by_label("Catalog file").set_input_files(FOREIGN)
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_text("Read as")).to_be_visible()


def refused(page: Page) -> None:
    page.goto("/new/providers")
    page.fill('[name="name"]', "Fresh")
    page.get_by_role("button", name="Add provider").click()
    expect(page.locator("#id_id")).to_be_focused()


def forced(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    troubled("/?panel=openwave-large%2Fopenwave-a")(page)


def menu(page: Page) -> None:
    troubled("/")(page)
    page.locator("[data-row] details[data-menu] summary").first.click()


def panel(page: Page) -> None:
    troubled("/")(page)
    page.locator("[data-row]:has(.s-cooling) a[data-open]").first.click()
    expect(page.locator("#panel")).to_be_visible()


def question(page: Page) -> None:
    page.goto("/deployments/openwave-large")
    page.locator("a[data-ask]").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def keys(page: Page) -> None:
    page.goto("/routes")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def tested(page: Page) -> None:
    page.goto("/deployments/homelab-qwen")
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator(".toast")).to_contain_text("first token", timeout=30_000)


def played(page: Page) -> None:
    page.goto("/playground?model=chat")
    page.fill("#key", KEY)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#attempts")).to_contain_text("halt: ", timeout=30_000)


def turn(page: Page) -> None:
    """One that needed more than one attempt."""
    page.goto("/turns?class=rate-limited")
    page.locator("tbody th a").first.click()
    expect(page.get_by_role("heading", name="Attempts")).to_be_visible()


def alerted(page: Page) -> None:
    """A webhook of which nobody takes the messages, as a new operator meets it."""
    site = Site(re.sub(r"(//[^/]+).*", r"\1", page.url))
    if not site.call("GET", "webhooks")["items"]:
        site.call("POST", "webhooks", {"name": "pager", "url": "http://127.0.0.1:9/hook"})
    page.goto("/alerts")
    page.get_by_role("button", name="Send a test").first.click()
    expect(page.get_by_role("status").first).to_be_visible()


def tried_key(page: Page) -> None:
    page.goto("/new/keys")
    page.fill("#id_name", "nightly batch")
    page.locator("#id_scopes input").first.check()
    page.locator("#id_reach input").first.check()
    page.get_by_role("button", name="Show what would change").click()
    page.locator("#preview summary").click()


def troubled(address: str) -> Callable[[Page], Any]:
    """The live page at a moment when something cools."""

    def go(page: Page) -> None:
        page.goto(address)
        page.locator(".s-cooling").first.wait_for(timeout=60_000)

    return go


def at(address: str) -> Callable[[Page], Any]:
    return lambda page: page.goto(address)


SHOTS: tuple[tuple[str, Callable[[Page], Any], bool, bool], ...] = (
    # name, how to get there, narrow, dark
    ("live-wide-light", troubled("/"), False, False),
    ("live-wide-dark", troubled("/"), False, True),
    ("live-narrow-light", troubled("/"), True, False),
    ("live-narrow-dark", at("/?state=cooling"), True, True),
    ("live-menu", menu, False, False),
    ("live-panel", panel, False, False),
    ("live-panel-narrow-dark", panel, True, True),
    ("live-forced-colours", forced, False, False),
    ("live-nothing-matches", at("/?q=nosuch"), False, False),
    ("deployments", at("/deployments"), False, False),
    ("deployments-narrow", at("/deployments"), True, False),
    ("deployment", at("/deployments/openwave-large"), False, False),
    ("connection-tested", tested, False, False),
    ("question", question, False, False),
    ("keys", keys, False, True),
    ("route", at("/routes/chat"), False, False),
    ("route-draft", route_draft, False, False),
    ("route-draft-narrow-dark", route_draft, True, True),
    ("explain", at("/explain?model=chat&input_tokens=512&draws=1000"), False, False),
    ("playground", played, False, False),
    ("turn", turn, False, False),
    ("events-dark", at("/events"), False, True),
    ("alerts", alerted, False, False),
    ("judge", at("/judge?status=429&retry_after=20&body=rate+limit+reached"), False, False),
    ("form-refused", refused, False, False),
    ("form-tried", tried_key, False, False),
    ("import", import_preview, False, False),
    ("conflict", conflict, False, False),
    ("revision", at("/revisions/2"), False, False),
    ("not-found", at("/nosuch"), False, False),
    ("components", at(COMPONENTS), False, False),
)
EMPTY: tuple[tuple[str, Callable[[Page], Any], bool, bool], ...] = (
    # before anything is in the catalog
    ("empty-live", at("/"), False, False),
    ("empty-deployments-narrow-dark", at("/deployments"), True, True),
)


def take(browser: Browser, site: Site, shots: Any, wanted: list[str]) -> None:
    opened = browser.new_context(base_url=site.url, viewport=WIDE)  # type: ignore[arg-type]
    page = opened.new_page()
    page.goto("/login")
    page.fill("#id_username", "ada")
    page.fill("#id_password", PASSWORD)
    page.click("button.primary")
    page.wait_for_url(f"{site.url}/")
    for name, go, narrow, dark in shots:
        if wanted and name not in wanted:
            continue
        page.set_viewport_size(NARROW if narrow else WIDE)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="dark" if dark else "light", forced_colors="none")
        go(page)
        page.wait_for_timeout(800)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=name == "components")
    opened.close()


def main(minutes: float, wanted: list[str]) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    expect.set_options(timeout=30_000)
    with (
        TemporaryDirectory() as directory,
        TemporaryDirectory() as other,
        served(Path(directory), "--demo") as site,
        served(Path(other)) as empty,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=needs.CHROMIUM, args=ARGUMENTS)
        browser.new_page().wait_for_timeout(60_000 * minutes)
        take(browser, site, SHOTS, wanted)
        take(browser, empty, EMPTY, wanted)
        browser.close()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 6, sys.argv[2:])
