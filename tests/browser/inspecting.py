"""What can be wrong with any page as it stands: for axe, on a narrow screen, in its
forms, for Tab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.browser.hands import STOP

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 380, "height": 800}
MOST_STOPS = 70

# What a person can press or fill in the content, as far as it can be seen.
FORGET = """() => {
  const kinds = "a[href], button, input, select, textarea, summary";
  const offered = (one) => !one.disabled && one.type !== "hidden" && one.tabIndex >= 0
    && !one.closest("[inert]") && !(one.type === "radio" && !one.checked)
    && one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length;
  window.controls = [...document.querySelectorAll(`main :is(${kinds})`)].filter(offered);
  window.passed = new Set();
  document.querySelector("main").setAttribute("tabindex", "-1");
  document.querySelector("main").focus();
}"""
STEP = f"(found) => {{ window.passed.add(document.activeElement); return ({STOP})(found); }}"
LEFT_OUT = """() => window.controls.filter((one) => one.isConnected && !window.passed.has(one))
  .map((one) => {
  const name = (one.ariaLabel || one.textContent || one.name).trim().slice(0, 40);
  return `${one.tagName.toLowerCase()} “${name}”`;
})"""


def serious(page: Page, *rules: str) -> list[str]:
    """What axe calls serious or critical; ``rules`` alone if any are named."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate(AXE)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = page.evaluate(
        "(options) => axe.run(document, options).then((result) => result.violations)", options
    )
    return [
        f"{one['id']}: " + " | ".join(node["html"][:160] for node in one["nodes"][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def contrast_in_the_dark(page: Page) -> list[str]:
    page.emulate_media(color_scheme="dark")
    found = serious(page, "color-contrast")
    page.emulate_media(color_scheme="light")
    return [f"dark {one}" for one in found]


def sideways(page: Page) -> list[str]:
    """A narrow screen has nothing to scroll to the side."""
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    return [f"{width} pixels wide on a screen of 380"] if width > NARROW["width"] else []


# Controls of fields that stand beside each other, at different heights.
UNEVEN = """() => {
  const top = (part) => Math.round(part.getBoundingClientRect().top);
  const control = (field) => top(field.querySelector("input, select, textarea"));
  const beside = "fieldset.pair > .field:not(.check, :has(.bare, .tiers))";
  const rows = Map.groupBy(document.querySelectorAll(beside), (field) =>
    `${field.parentElement.querySelector("legend").textContent} at ${top(field)}`);
  return [...rows].filter(([, fields]) => new Set(fields.map(control)).size > 1)
    .map(([name]) => name);
}"""


def out_of_line(page: Page) -> list[str]:
    return [f"controls out of line: {one}" for one in page.evaluate(UNEVEN)]


def by_tab(page: Page) -> list[str]:
    """Tab comes to every control of the content, each shows the focus and lies under nothing."""
    page.evaluate(FORGET)
    nothing = page.locator("#there-is-no-such-thing")
    wrong: list[str] = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = nothing.evaluate_all(STEP)
        if stop["outside"]:
            return wrong + [f"Tab passes over {one}" for one in page.evaluate(LEFT_OUT)]
        if stop["wrong"]:
            wrong.append(f"{stop['called']} {stop['wrong']}")
    return wrong


def wrongs(page: Page) -> list[str]:
    return [
        *serious(page),
        *contrast_in_the_dark(page),
        *sideways(page),
        *out_of_line(page),
        *by_tab(page),
    ]
