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
