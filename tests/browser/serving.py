"""A server for a browser, and the API through which a test changes it; needs no Django here."""

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

from tests import databases
from tests.process.collected import bring

ROOT = Path(__file__).resolve().parents[2]
KEY = "browser-tests-key-0123456789"
PASSWORD = "correct horse battery staple"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def fetch(method: str, url: str, body: Any, headers: dict[str, str]) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, headers, method=method)  # noqa: S310
    with urlopen(request, timeout=10) as answer:  # noqa: S310
        text = answer.read()
    return json.loads(text) if text else None


class Site:
    """The served instance, spoken to through its API; ``upstream`` is its simulated provider."""

    def __init__(self, url: str, upstream: str = "") -> None:
        self.url = url
        self.upstream = upstream

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        headers["If-Match"] = "*"
        return fetch(method, f"{self.url}/api/v1/{path}", body, headers)

    def ask(self, text: str = "hello", model: str = "chat") -> Any:
        """One request through the gateway, which is recorded as a turn."""
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        return fetch("POST", f"{self.url}/v1/chat/completions", body, headers)

    def play(self, *steps: dict[str, Any]) -> None:
        """What the next requests meet at the simulated provider; after them it answers again."""
        script = {"steps": list(steps), "repeat": "once"}
        fetch("PUT", f"{self.upstream}/_script", script, {"Content-Type": "application/json"})

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


@contextmanager
def running(environment: dict[str, str], *command: str) -> Iterator[str]:
    """A command of manage.py for as long as the context lasts; yields the address it prints."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ROUTERADMIN_") and not name.endswith("_URL")
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", *command, "--port", "0"],
        cwd=ROOT,
        env=clean | {"DJANGO_SETTINGS_MODULE": "routeradmin.settings"} | environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, f"{command[0]} did not say its address"
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@contextmanager
def served(data: Path, *options: str, upstream: str = "") -> Iterator[Site]:
    """A server of its own on a free port."""
    environment = {
        "ROUTERADMIN_DATA_DIR": str(bring(data)),
        "ROUTERADMIN_BOOTSTRAP_ADMIN": f"ada:{PASSWORD}",
        "ROUTERADMIN_BOOTSTRAP_KEY": KEY,
        **databases.behind(data),
    }
    with running(environment, "serve", *options) as url:
        yield Site(url, upstream)


@contextmanager
def simulated_provider() -> Iterator[str]:
    with running({}, "simulate_provider", "--models", "acme-large") as url:
        yield url
