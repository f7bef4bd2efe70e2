"""A served routeradmin with a small catalog, and a real Chromium that is signed in to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests import factories as make
from tests import needs
from tests.browser.hands import Hands, Keyboard, Mouse
from tests.browser.inspecting import WIDE
from tests.browser.pages import make_objects
from tests.browser.serving import ARGUMENTS, PASSWORD, Site, served, simulated_provider

PEOPLE = {"ada": "admin", "otto": "operator", "vera": "viewer"}
SCRIPT = "<img src=x onerror=alert(1)>"


def catalog(upstream: str) -> dict[str, Any]:
    open_account = make.account(auth_kind="anonymous", billing_kind="self-hosted")
    return make.catalog(
        providers=[make.provider(name=SCRIPT)],
        accounts=[open_account],
        endpoints=[make.endpoint(base_url=f"{upstream}/v1/")],
        serving_models=[
            make.deployment("alpha", name=SCRIPT, max_parallel_requests=100),
            make.deployment("beta", max_parallel_requests=100),
            make.deployment("gamma", admin_state="disabled"),
        ],
        routes=[make.route(name=SCRIPT), make.route("other")],
        targets=[
            make.target("t1", serving_model_id="alpha"),
            make.target("t2", serving_model_id="beta"),
            make.target("t3", route_id="other", serving_model_id="beta"),
        ],
        aliases=[{"name": "gpt-4", "target": "chat"}],
        policies=[{"id": "calm"}],
        rules=[{"id": "night", "route_id": "chat", "when": {"tags": ["batch"]}, "only": ["beta"]}],
        intents=[{"id": "talk", "route_id": "chat", "description": SCRIPT}],
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with (
        simulated_provider() as upstream,
        served(tmp_path_factory.mktemp("data"), upstream=upstream) as site,
    ):
        site.call("PUT", "catalog?mode=replace", catalog(upstream))
        for name, role in PEOPLE.items():
            if role != "admin":
                site.call("POST", "users", {"username": name, "role": role, "password": PASSWORD})
        make_objects(site)
        yield site


# Not longer than a module: while it runs, no test of this process can run an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def kept() -> dict[str, Any]:
    """Sessions of the modules before."""
    return {}


@pytest.fixture(scope="module")
def sessions(site: Site, chromium: Browser, kept: dict[str, Any]) -> dict[str, Any]:
    """Signed-in cookies of the three people, so that each test need not sign in."""
    for name in PEOPLE:
        if name in kept:
            continue
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{site.url}/login")
        page.fill("#id_username", name)
        page.fill("#id_password", PASSWORD)
        page.click("button.primary")
        page.wait_for_url(f"{site.url}/")
        kept[name] = context.storage_state()
        context.close()
    return kept


@pytest.fixture(scope="module")
def visitor(site: Site, chromium: Browser, sessions: dict[str, Any]) -> Iterator[Page]:
    """One admin's page for all visits."""
    context = chromium.new_context(
        base_url=site.url,
        storage_state=sessions["ada"],
        viewport=WIDE,  # type: ignore[arg-type]
        color_scheme="light",
    )
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


class Complaints(list[str]):
    """Whatever a page reported as wrong: errors, warnings, policy violations, failed requests."""

    def watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.append("a script ran"), dialog.dismiss()))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.append(f"{message.type}: {message.text}")


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def context(site: Site, chromium: Browser, sessions: dict[str, Any]) -> Iterator[BrowserContext]:
    """An admin's browser, 1440 pixels wide."""
    opened = chromium.new_context(
        base_url=site.url,
        storage_state=sessions["ada"],
        viewport=WIDE,  # type: ignore[arg-type]
    )
    opened.set_default_timeout(10_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, complaints: Complaints) -> Page:
    page = context.new_page()
    complaints.watch(page)
    return page


@pytest.fixture(params=[Keyboard, Mouse], ids=lambda kind: kind.__name__.lower())
def hands(request: pytest.FixtureRequest, page: Page) -> Hands:
    """Whatever is asked of a page is asked of it by keyboard and by mouse."""
    kind: type[Keyboard | Mouse] = request.param
    return kind(page)


@pytest.fixture
def restored(site: Site) -> Iterator[int]:
    """The catalog is afterwards what it was before; yields its revision."""
    before: int = site.call("GET", "state")["revision"]
    yield before
    if site.call("GET", "state")["revision"] != before:
        site.call("POST", f"revisions/{before}/rollback", {"reason": "after a test"})
