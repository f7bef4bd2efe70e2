"""Two ways to do the same thing on a page: with the keyboard alone, and with the mouse.

What is done is said once, by the names that a person sees or hears; how, by ``Keyboard`` or
``Mouse``. The keyboard reaches a control by Tab only, and every stop on the way must show that it
has the focus.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from playwright.sync_api import Locator, Page

MOST_TABS = 140

# Where the focus is: is it among those wanted, what is it called, and can it be seen?
STOP = """(found) => {
  const here = document.activeElement;
  const style = getComputedStyle(here);
  const box = [...here.getClientRects()].find((one) => one.width && one.height);
  const name = here.getAttribute("aria-label") || here.labels?.[0]?.textContent || here.textContent;
  const words = (name.trim().replace(/\\s+/g, " ") || here.name || here.id).slice(0, 50);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  const at = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  const covered = at && !here.contains(at) && !at.contains(here) && !at.closest("label")
    && `under ${at.tagName.toLowerCase()}.${at.className}`;
  const wrong = here === document.body ? "" : !box ? "has no size" : !at ? "is off the screen"
    : covered || (ring ? "" : "shows no focus");
  return {
    there: found.includes(here),
    outside: here === document.body,
    called: `${here.tagName.toLowerCase()} “${words}”`,
    wrong,
  };
}"""

FRESH = "document.activeElement === document.body && Boolean(document.querySelector('.skip'))"


class Unreachable(AssertionError):
    """A control that Tab does not come to, with what it came to instead."""


class Hands(Protocol):
    """``press`` a button or link, ``fill`` a field, ``choose`` an option, ``tick`` a box."""

    page: Page

    def press(self, name: str, within: Locator | None = None) -> None: ...
    def fill(self, label: str, text: str, within: Locator | None = None) -> None: ...
    def choose(self, label: str, option: str, within: Locator | None = None) -> None: ...
    def tick(self, label: str, within: Locator | None = None) -> None: ...
    def upload(self, label: str, file: Path) -> None: ...


def pressable(place: Page | Locator, name: str) -> Locator:
    """What can be pressed and has this name: a button, a link, the summary of a menu."""
    button = place.get_by_role("button", name=name, exact=True)
    link = place.get_by_role("link", name=name, exact=True)
    menu = place.locator("summary").filter(has_text=name)
    return button.or_(link).or_(menu)


def labelled(place: Page | Locator, label: str) -> Locator:
    """A field by its label, whatever stands behind it (“optional”)."""
    words = re.compile(rf"^\s*{re.escape(label)}\s*(optional)?\s*$")
    return place.get_by_label(words).and_(place.locator("input, select, textarea"))


class Keyboard:
    """Tab, Enter, Space and typing; a page is left only by what is on it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def reach(self, wanted: Locator) -> None:
        """Tab until it has the focus, from where the focus is now."""
        passed: list[str] = []
        hidden: list[str] = []
        wanted.first.wait_for(state="visible")
        if self.page.evaluate(FRESH) and wanted.and_(self.page.locator("main *")).count():
            for key in ("Tab", "Enter"):  # over the navigation, by the link that is there for it
                self.page.keyboard.press(key)
        for _ in range(MOST_TABS):
            stop = wanted.evaluate_all(STOP)
            if passed and stop["wrong"]:
                hidden.append(f"{stop['called']} {stop['wrong']}")
            if stop["there"]:
                break
            passed.append(stop["called"])
            self.page.keyboard.press("Tab")
        else:
            raise Unreachable(f"{wanted} has no focus after: " + ", ".join(passed))
        assert not hidden, f"on the way to {wanted}: " + "; ".join(hidden)

    def press(self, name: str, within: Locator | None = None) -> None:
        self.reach(pressable(within or self.page.locator("main"), name))
        self.page.keyboard.press("Enter")

    def fill(self, label: str, text: str, within: Locator | None = None) -> None:
        self.reach(labelled(within or self.page, label))
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, label: str, option: str, within: Locator | None = None) -> None:
        self.reach(labelled(within or self.page, label))
        self.page.keyboard.type(option)
        shown = self.page.evaluate("document.activeElement.selectedOptions[0].text")
        assert shown.casefold().startswith(option.casefold()), shown

    def tick(self, label: str, within: Locator | None = None) -> None:
        self.reach(labelled(within or self.page, label))
        self.page.keyboard.press("Space")

    def upload(self, label: str, file: Path) -> None:
        # Asked for before the way there: a key may overtake what was only just asked of the page,
        # and a chooser that opens unasked is seen by nobody.
        with self.page.expect_file_chooser() as opened:
            self.reach(labelled(self.page, label))
            self.page.keyboard.press("Space")
        opened.value.set_files(file)


class Mouse:
    """Clicks where the control is, and types into what was clicked."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, name: str, within: Locator | None = None) -> None:
        pressable(within or self.page.locator("main"), name).first.click()

    def fill(self, label: str, text: str, within: Locator | None = None) -> None:
        labelled(within or self.page, label).click(click_count=3)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def choose(self, label: str, option: str, within: Locator | None = None) -> None:
        field = labelled(within or self.page, label)
        field.click()
        self.page.keyboard.press("Escape")
        field.select_option(option)

    def tick(self, label: str, within: Locator | None = None) -> None:
        labelled(within or self.page, label).click()

    def upload(self, label: str, file: Path) -> None:
        with self.page.expect_file_chooser() as opened:
            labelled(self.page, label).click()
        opened.value.set_files(file)
