"""``manage.py serve`` as a process of its own, on a free port, with a data directory of its own."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests import databases

ROOT = Path(__file__).resolve().parents[2]
KEY = "rk_process_test_key_0123456789"
ADMIN, PASSWORD = "ada", "correct horse battery staple"
START_LIMIT_S = 60

# The static files' middleware leaves its open files to the garbage collector.
WARNINGS = "default,ignore:unclosed file:ResourceWarning"


def environment(directory: Path, **extra: str) -> dict[str, str]:
    """What the test's own process was given is kept out. The database is the one behind the
    directory, unless ``extra`` says which."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ROUTERADMIN_", "DJANGO_")) and not name.endswith("_URL")
    }
    if not extra.keys() & {"DATABASE_URL", "DATABASE_URL_FILE"}:
        kept |= databases.behind(directory)
    return kept | {"ROUTERADMIN_DATA_DIR": str(directory), "PYTHONWARNINGS": WARNINGS} | extra


def manage(directory: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A command, run to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *args],
        cwd=ROOT,
        env=environment(directory, **env),
        capture_output=True,
        text=True,
        timeout=START_LIMIT_S,
        check=False,
    )


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """Started with ``start``; the first line that it prints is its address."""

    directory: Path
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ("manage.py", "serve", "--port", "0")
    printed: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None
    address: tuple[str, int] = ("127.0.0.1", 0)

    @property
    def log(self) -> Path:
        return self.directory.with_suffix(".log")

    def spawn(self) -> subprocess.Popen[str]:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.command, *self.args],
                cwd=ROOT,
                env=environment(self.directory, **self.env),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self.process

    def start(self) -> Server:
        stdout = (self.process or self.spawn()).stdout
        assert stdout is not None
        first = stdout.readline().strip()
        assert first.startswith("routeradmin on http://"), (first, self.log.read_text())
        self.printed.append(first)
        url = urlsplit(first.split()[-1])
        self.address = (url.hostname or "", url.port or 0)
        return self

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = KEY,
        headers: dict[str, str] | None = None,
        timeout: float = 20,
    ) -> Answer:
        """``body``: bytes as they are, anything else as JSON."""
        sent = {"authorization": f"Bearer {key}"} if key is not None else {}
        payload = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if payload is not None:
            sent["content-type"] = "application/json"
        connection = http.client.HTTPConnection(*self.address, timeout=timeout)
        try:
            connection.request(method, path, payload, sent | (headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.call("POST", path, body)
        assert answer.status in (200, 201), (path, answer.status, answer.body)
        return answer.json()

    def candidate(self, id: str) -> dict[str, Any]:
        found = [one for one in self.get("/api/v1/state")["candidates"] if one["id"] == id]
        assert len(found) == 1, id
        return dict(found[0])

    def stop(self, number: int = signal.SIGINT, limit_s: float = 20) -> int:
        """The exit code; what it printed last is kept."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        assert process.stdout is not None
        with process.stdout:
            self.printed += process.stdout.read().splitlines()
        return process.returncode


def until(condition: Callable[[], Any], limit_s: float, pause_s: float = 0.02) -> Any:
    """What ``condition`` gives as soon as that is true; AssertionError when it stays false."""
    deadline = time.monotonic() + limit_s
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {limit_s} s: {condition}"
        time.sleep(pause_s)
