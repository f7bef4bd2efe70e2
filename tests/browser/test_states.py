"""Pages in states that no address shows: dialogs, menus, messages, refusals, errors; every state
of a candidate."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import RequestFactory
from playwright.sync_api import Browser, Page, expect

from routeradmin import faults
from routeradmin.console.board import STATES
from routeradmin.middleware import POLICY
from tests import factories as make
from tests.browser.conftest import Complaints
from tests.browser.inspecting import contrast_in_the_dark, serious, sideways
from tests.browser.serving import Site

pytestmark = pytest.mark.browser


def keys(page: Page, site: Site) -> None:
    page.goto("/routes")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def question(page: Page, site: Site) -> None:
    page.goto("/deployments/alpha")
    page.locator("a[data-ask]").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def menu(page: Page, site: Site) -> None:
    page.goto("/")
    page.locator("[data-row] summary").first.click()


def message(page: Page, site: Site) -> None:
    page.goto("/deployments/alpha")
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator(".toast .steps")).to_be_visible()


def refused(page: Page, site: Site) -> None:
    page.goto("/new/deployments")
    page.get_by_role("button", name="Add deployment").click()
    expect(page.get_by_role("alert")).to_be_visible()


def conflict(page: Page, site: Site) -> None:
    page.goto("/edit/deployments/gamma")
    site.call("PATCH", "deployments/gamma", {"weight": os.getpid() % 1000 + 2})
    page.fill('[name="priority"]', "2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()


def previewed(page: Page, site: Site) -> None:
    page.goto("/edit/routes/chat")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator("#preview")).to_be_visible()
    expect(page.locator(".htmx-request")).to_have_count(0)  # buttons are pale until then


def failing(fault: Exception) -> Callable[[Page, Site], None]:
    """The page that the server answers with when ``fault`` is raised, under its own policy."""

    def go(page: Page, site: Site) -> None:
        try:
            raise fault
        except type(fault):
            answer = faults.broken(RequestFactory().get("/"))
        page.route(
            "**/turns",
            lambda route: route.fulfill(
                status=answer.status_code,
                body=answer.content.decode(),
                content_type="text/html; charset=utf-8",
                headers={"Content-Security-Policy": POLICY},
            ),
        )
        page.goto("/turns")
        page.unroute("**/turns")

    return go


def too_old(page: Page, site: Site) -> None:
    """A form whose token is not the browser's."""
    page.goto("/account")
    page.evaluate("document.querySelector('[name=csrfmiddlewaretoken]').value = 'x'.repeat(64)")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This page is too old")


REACHED: dict[str, Callable[[Page, Site], Any]] = {
    "keys": keys,
    "question": question,
    "menu": menu,
    "message": message,
    "refused form": refused,
    "conflict": conflict,
    "preview": previewed,
    "not found": lambda page, site: page.goto("/nosuch"),
    "bug": failing(RuntimeError("bug")),
    "database gone": failing(OperationalError("gone")),
    "token": too_old,
}


@pytest.mark.parametrize("name", REACHED)
def test_nothing_is_wrong_with_a_state(visitor: Page, site: Site, restored: int, name: str) -> None:
    REACHED[name](visitor, site)
    assert [*serious(visitor), *contrast_in_the_dark(visitor), *sideways(visitor)] == []


@pytest.mark.parametrize("name", ["not found", "bug", "database gone", "token"])
def test_an_error_page_complains_of_nothing_but_itself(
    page: Page, site: Site, complaints: Complaints, name: str
) -> None:
    REACHED[name](page, site)
    (told,) = complaints
    assert "Failed to load resource" in told


def test_a_viewer_is_told_which_right_is_missing(
    site: Site, chromium: Browser, sessions: dict[str, Any]
) -> None:
    context = chromium.new_context(
        base_url=site.url, storage_state=sessions["vera"], bypass_csp=True
    )
    page = context.new_page()
    page.goto("/users")
    expect(page.get_by_role("heading", level=1)).to_have_text("You may look, not do this")
    assert [*serious(page), *contrast_in_the_dark(page)] == []
    context.close()


MADE = {
    "disabled": {"admin_state": "disabled"},
    "draining": {"admin_state": "draining"},
    "at-limit": {"max_parallel_requests": 1},
    "unhealthy": {"probe": {"mode": "models", "path": "nosuch", "failure_threshold": 1}},
}


def report(site: Site, state: str, status: int) -> None:
    lease = site.call("POST", "select", {"model": f"is-{state}"})["lease_id"]
    site.call("POST", f"leases/{lease}/report", {"outcome": "failure", "status": status})


def bring_about(site: Site) -> None:
    """One deployment in each state, named after it."""
    named = [f"is-{state}" for state in STATES]
    more = {
        "format": make.catalog()["format"],
        "serving_models": [
            make.deployment(f"is-{state}", **MADE.get(state, {})) for state in STATES
        ],
        "routes": [make.route(uid) for uid in named],
        "targets": [make.target(f"{uid}-t", route_id=uid, serving_model_id=uid) for uid in named],
    }
    site.call("PUT", "catalog?mode=merge", more)
    site.cool("is-cooling")
    site.cool("is-recovering", 1)
    report(site, "needs-attention", 401)
    report(site, "degraded", 503)
    site.call("POST", "select", {"model": "is-at-limit", "lease_ttl_s": 60})
    site.call("POST", "deployments/is-unhealthy/probe", {})


def test_every_state_is_shown_by_shape_and_word(page: Page, site: Site, restored: int) -> None:
    bring_about(site)
    page.goto("/?q=is-")
    for state in STATES:
        badge = page.locator(f'[data-row][data-name^="is-{state}/"] .state.s-{state}')
        expect(badge).to_be_visible()
        expect(badge).to_have_text(state.replace("-", " "))
        assert badge.locator("use").get_attribute("href") == f"#s-{state}"
