"""Editing in a real browser: drafts are checked as they are typed, targets dragged."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints
from tests.browser.serving import Site

pytestmark = pytest.mark.browser


def tiers(page: Page) -> dict[str, str]:
    """Deployment -> tier, as the editor shows it."""
    return page.evaluate(
        """Object.fromEntries([...document.querySelectorAll("[data-tiers] li")]
          .map((row) => ["[data-deployment]", 'input[type="number"]']
            .map((part) => row.querySelector(part).value))
          .filter(([deployment]) => deployment))"""
    )


def test_a_target_is_dragged_to_a_tier_of_its_own_and_back(
    page: Page, complaints: Complaints
) -> None:
    page.goto("/edit/routes/chat")
    assert tiers(page) == {"alpha": "1", "beta": "1"}
    rows = page.locator("[data-tiers] li")
    rows.nth(0).locator("[data-grip]").drag_to(rows.nth(1), target_position={"x": 200, "y": 34})
    assert tiers(page) == {"beta": "1", "alpha": "2"}
    expect(page.locator("#tiers-spoken")).to_have_text("alpha is now in tier 2 of 2.")
    rows.nth(1).locator("[data-grip]").drag_to(rows.nth(0), target_position={"x": 200, "y": 17})
    assert tiers(page) == {"beta": "1", "alpha": "1"}
    assert complaints == []


def test_a_draft_shows_its_distribution_and_its_difference_before_it_is_published(
    page: Page, site: Site, restored: int
) -> None:
    page.goto("/edit/routes/chat")
    expect(page.locator("#preview")).to_contain_text("like this already")
    page.locator('[data-tiers] input[type="number"]').nth(1).focus()
    page.keyboard.press("Alt+ArrowDown")
    expect(page.locator("#preview")).to_contain_text("No problem found")
    expect(page.locator("#preview .patch")).to_contain_text("position")
    expect(page.locator("#preview .shares")).to_contain_text("100.0 %")
    assert site.call("GET", "state")["revision"] == restored
    page.get_by_label("Reason for this change").fill("beta is the spare")
    page.get_by_role("button", name="Save and publish").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("chat")
    expect(page.locator(".flow")).to_contain_text("Tier 2")
    assert site.call("GET", "state")["revision"] == restored + 1


def test_a_wrong_value_is_told_beside_its_field_as_soon_as_it_is_left(page: Page) -> None:
    page.goto("/edit/deployments/alpha")
    page.fill('[name="weight"]', "-3")
    page.fill('[name="name"]', "typed meanwhile")
    expect(page.locator("#weight-field .errorlist")).to_be_visible()
    expect(page.locator("#id_weight")).to_have_attribute("aria-invalid", "true")
    assert page.locator('[name="name"]').input_value() == "typed meanwhile"
    page.fill('[name="weight"]', "3")
    page.locator('[name="weight"]').blur()
    expect(page.locator("#weight-field .errorlist")).to_have_count(0)
    expect(page.locator("#preview .patch")).to_contain_text("weight")


def test_two_revisions_are_compared_and_the_older_one_brought_back(
    page: Page, site: Site, restored: int, complaints: Complaints
) -> None:
    site.call("PATCH", "deployments/alpha", {"weight": 17})
    page.goto("/revisions")
    page.get_by_label("Revision", exact=True).select_option(str(restored + 1))
    page.get_by_label("Revision to compare with").select_option(str(restored))
    page.get_by_role("button", name="Show the difference").click()
    expect(page.locator(".patch")).to_contain_text("weight")
    page.goto(f"/revisions/{restored}")
    opener = page.get_by_role("link", name="Roll back")
    opener.press("Enter")
    dialog = page.get_by_role("dialog", name=f"Roll back to r{restored}?")
    expect(dialog).to_contain_text("alpha: weight 17")
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    opener.click()
    # Somebody else publishes while the dialog is open: nothing is overwritten unseen.
    site.call("PATCH", "deployments/beta", {"weight": 3})
    dialog.get_by_label("Reason").fill("17 was too much")
    dialog.get_by_role("button", name="Roll back").click()
    expect(dialog.get_by_role("alert")).to_be_focused()
    expect(dialog).to_contain_text("beta: weight 3")
    expect(dialog.get_by_label("Reason")).to_have_value("17 was too much")
    dialog.get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"r{restored + 3}")
    expect(page.get_by_text("17 was too much")).to_be_visible()
    assert site.call("GET", "deployments/alpha")["weight"] != 17
    assert [told for told in complaints if "409" not in told] == []


def test_fallback_routes_are_chosen_in_order(page: Page, site: Site, restored: int) -> None:
    page.goto("/edit/policies/calm")
    lists = page.locator('select[name="fallback__general"]')
    lists.nth(0).select_option("other")
    lists.nth(1).select_option("chat")
    page.get_by_role("button", name="Save and publish").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("calm")
    assert site.call("GET", "policies/calm")["fallback"]["general"] == ["other", "chat"]
