"""A served routeradmin with a small catalog, and a real Chromium that is signed in to it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests import factories as make
from tests import needs

ROOT = Path(__file__).resolve().parents[2]
KEY = "browser-tests-key-0123456789"
PASSWORD = "correct horse battery staple"
PEOPLE = {"ada": "admin", "otto": "operator", "vera": "viewer"}
SCRIPT = "<img src=x onerror=alert(1)>"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Site:
    """The served instance, spoken to through its API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        headers["If-Match"] = "*"
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}/api/v1/{path}", data, headers, method=method)  # noqa: S310
        with urlopen(request, timeout=10) as answer:  # noqa: S310
            text = answer.read()
        return json.loads(text) if text else None

    def cool(self, deployment: str, seconds: float = 600) -> None:
        body = {"deployment": deployment, "seconds": seconds, "reason": "browser test"}
        self.call("POST", "cooldowns", body)

    def clear(self, deployment: str) -> None:
        self.call("DELETE", f"cooldowns?deployment={deployment}")

    def lease(self) -> str:
        """One more active request, given back by ``give_back``."""
        return str(self.call("POST", "select", {"model": "chat", "lease_ttl_s": 60})["lease_id"])

    def give_back(self, lease: str) -> None:
        self.call("POST", f"leases/{lease}/release", {})


def catalog() -> dict[str, Any]:
    open_account = make.account(auth_kind="anonymous", billing_kind="self-hosted")
    return make.catalog(
        providers=[make.provider(name=SCRIPT)],
        accounts=[open_account],
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
    )


@contextmanager
def served(data: Path, *options: str) -> Iterator[Site]:
    """A server of its own on a free port, for as long as the context lasts."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("ROUTERADMIN_")
    }
    environment |= {
        "DJANGO_SETTINGS_MODULE": "routeradmin.settings",
        "ROUTERADMIN_DATA_DIR": str(data),
        "ROUTERADMIN_BOOTSTRAP_ADMIN": f"ada:{PASSWORD}",
        "ROUTERADMIN_BOOTSTRAP_KEY": KEY,
    }
    command = [sys.executable, "manage.py", "serve", "--port", "0", *options]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found, "the server did not say its address"
        yield Site(found[0])
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("data")) as site:
        site.call("PUT", "catalog?mode=replace", catalog())
        for name, role in PEOPLE.items():
            if role != "admin":
                site.call("POST", "users", {"username": name, "role": role, "password": PASSWORD})
        yield site


# Not longer than a module: while it runs, no test of this process can run an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def sessions(site: Site, chromium: Browser) -> dict[str, Any]:
    """Signed-in cookies of the three people, so that each test need not sign in."""
    states = {}
    for name in PEOPLE:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{site.url}/login")
        page.fill("#id_username", name)
        page.fill("#id_password", PASSWORD)
        page.click("button.primary")
        page.wait_for_url(f"{site.url}/")
        states[name] = context.storage_state()
        context.close()
    return states


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
        viewport={"width": 1440, "height": 900},
    )
    opened.set_default_timeout(10_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, complaints: Complaints) -> Page:
    page = context.new_page()
    complaints.watch(page)
    return page
