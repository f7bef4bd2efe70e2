"""The compose file's services as processes of this machine, by its very commands and environment.

What is replaced is what a machine without containers does not have: names and fixed ports become
free ports on loopback, PostgreSQL and Redis are those of the tests, secrets are files elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml

from tests.process.collected import bring_static_files
from tests.process.server import ROOT, environment, until
from tests.scaleout.servers import free_port

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"] == "routeradmin"}
CADDYFILE = (DEPLOY / "Caddyfile").read_text()
MOUNT = "/run/secrets/"
START_LIMIT_S = 240  # five processes that start at once on a busy machine
# What the test's Caddy does without: ports below 1024, the machine's trust store, a control port.
FOR_TESTS = (
    "auto_https disable_redirects\n\tskip_install_trust\n\tadmin off\n\tstorage file_system {}"
)


class Topology:
    """``start`` brings it up; ``url`` is where Caddy answers. ``database`` and ``redis`` are URLs,
    ``more`` is added to the environment of every process."""

    def __init__(self, directory: Path, database: str, redis: str, **more: str) -> None:
        self.directory = directory
        self.more = more
        self.ports = {name: free_port() for name, one in OURS.items() if "serve" in one["command"]}
        self.port = free_port()
        self.url = f"https://localhost:{self.port}"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._make_secrets(database, redis)

    def _make_secrets(self, database: str, redis: str) -> None:
        self.directory.mkdir(parents=True)
        script = self.directory / "make-secrets"
        shutil.copy(DEPLOY / "make-secrets", script)
        subprocess.run([script], check=True)
        self.secrets = self.directory / "secrets"
        for name, value in (("database_url", database), ("redis_url", redis)):
            (self.secrets / name).chmod(0o600)
            (self.secrets / name).write_text(value)

    @property
    def first_admin(self) -> tuple[str, str]:
        name, _, password = (self.secrets / "first_admin").read_text().strip().partition(":")
        return name, password

    def start(self) -> None:
        assert self.run("migrate").wait(START_LIMIT_S) == 0, self.log("migrate")
        for name in self.ports:
            bring_static_files(self.directory / name)
        for name in OURS:
            if name != "migrate":
                self.run(name)
        for name in self.ports:
            self.wait_for(name)
        self._start_caddy()

    def run(self, name: str) -> subprocess.Popen[bytes]:
        """One of our services, by the file's command."""
        with (self.directory / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "manage.py", *self._command(name)],
                cwd=ROOT,
                env=self._environment(name),
                stdout=log,
                stderr=log,
            )
        return self.processes[name]

    def _command(self, name: str) -> list[str]:
        ports = {"0.0.0.0": "127.0.0.1", "8000": str(self.ports.get(name))}
        return [ports.get(word, word) for word in OURS[name]["command"]]

    def _environment(self, name: str) -> dict[str, str]:
        given = {
            key: value.replace(MOUNT, f"{self.secrets}/")
            for key, value in OURS[name]["environment"].items()
        }
        given |= {
            "ROUTERADMIN_ALLOWED_HOSTS": "localhost",
            "ROUTERADMIN_TRUSTED_PROXIES": "127.0.0.1",
            "ROUTERADMIN_DATA_DIR": str(self.directory / name),
            **({"ROUTERADMIN_METRICS_LISTEN": "127.0.0.1:0"} if name == "worker" else {}),
        }
        return environment(self.directory / name, **given | self.more)

    def _start_caddy(self) -> None:
        text = CADDYFILE.replace("{\n", f"{{\n\t{FOR_TESTS.format(self.directory)}\n", 1)
        text = re.sub(r"([a-z0-9-]+):8000", lambda m: f"127.0.0.1:{self.ports[m[1]]}", text)
        file = self.directory / "Caddyfile"
        file.write_text(text)
        env = {
            "ROUTERADMIN_SITE": self.url,
            "HOME": str(self.directory),
            "PATH": os.environ["PATH"],
        }
        with (self.directory / "caddy.log").open("ab") as log:
            self.processes["caddy"] = subprocess.Popen(
                ["caddy", "run", "--config", file, "--adapter", "caddyfile"],
                env=env,
                stdout=log,
                stderr=log,
            )
        until(self.trust, START_LIMIT_S)
        until(self._has_certificate, START_LIMIT_S)  # made a moment after the authority's own

    def _has_certificate(self) -> bool:
        trusted = self.trust()
        assert trusted is not None
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=1) as plain,
            trusted.wrap_socket(plain, server_hostname="localhost"),
        ):
            return True
        return False

    def trust(self) -> ssl.SSLContext | None:
        """Trusts the authority that Caddy made for itself; None until it has made one."""
        found = self.directory / "pki" / "authorities" / "local" / "root.crt"
        return ssl.create_default_context(cafile=str(found)) if found.exists() else None

    def wait_for(self, name: str) -> None:
        until(lambda: self.answers(self.ports[name]) or self._ended(name), START_LIMIT_S)
        assert not self._ended(name), self.log(name)

    def _ended(self, name: str) -> bool:
        return self.processes[name].poll() is not None

    @staticmethod
    def answers(port: int) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        return False

    def revisions(self) -> Iterator[int]:
        """What every process serves, asked past the proxy."""
        for port in self.ports.values():
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                yield json.load(answer)["revision"]

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def replace(self, name: str) -> None:
        """As ``docker compose up`` replaces a service: told to stop, waited for, started anew."""
        process = self.processes[name]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, self.log(name)
        self.run(name)
        self.wait_for(name)

    def close(self) -> None:
        for process in self.processes.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
