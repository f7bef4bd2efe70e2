"""Servers under measurement: each a process of its own, pinned to one core."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

KEY = "bench-key-0123456789abcdef"
ROOT = Path(__file__).resolve().parent.parent
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(
    command: list[str],
    port: int,
    env: dict[str, str],
    ready: str,
    cpu: int = SERVER_CPU,
    wait_s: float = 60.0,
    *,
    quiet: bool = False,
) -> Iterator[int]:
    """Run ``command`` until its ``ready`` path answers; ended at the end of the block."""
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if quiet else None,
        preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
    )
    try:
        wait_until_up(child, f"http://127.0.0.1:{port}{ready}", wait_s)
        yield port
    finally:
        child.terminate()
        child.wait(20)


def wait_until_up(child: subprocess.Popen[bytes], url: str, wait_s: float) -> None:
    ends = time.monotonic() + wait_s
    while time.monotonic() < ends:
        if child.poll() is not None:
            raise RuntimeError(f"the server ended with {child.returncode} before it answered {url}")
        try:
            with urllib.request.urlopen(url, timeout=1):  # noqa: S310
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"nothing answers at {url}")


@contextmanager
def uvicorn(application: str, env: dict[str, str] | None = None) -> Iterator[int]:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        application,
        "--port",
        str(port),
        "--loop",
        "uvloop",
        "--http",
        "httptools",
        "--no-access-log",
        "--log-level",
        "warning",
        "--no-server-header",
        "--no-date-header",
    ]
    with process(command, port, env or {}, "/") as up:
        yield up


@contextmanager
def routeradmin(catalog: str, settings: str = "routeradmin.settings") -> Iterator[int]:
    """``manage.py serve`` on a throw-away data directory with ``catalog`` (TOML) imported."""
    with TemporaryDirectory(prefix="routeradmin-bench-") as directory:
        port = free_port()
        env = {
            "ROUTERADMIN_DATA_DIR": directory,
            "ROUTERADMIN_BOOTSTRAP_KEY": KEY,
            "ROUTERADMIN_BOOTSTRAP_ADMIN": "bench:bench-password-1",
            "DJANGO_SETTINGS_MODULE": settings,
            "BENCH_KEY": "k" * 24,
        }
        file = Path(directory) / "catalog.toml"
        file.write_text(catalog, encoding="utf-8")
        manage = [sys.executable, str(ROOT / "manage.py")]
        run = {"cwd": ROOT, "env": os.environ | env, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([*manage, "migrate", "--verbosity", "0"], **run)  # type: ignore[call-overload]
        subprocess.run([*manage, "import_catalog", str(file)], **run)  # type: ignore[call-overload]
        with process([*manage, "serve", "--port", str(port)], port, env, "/readyz") as up:
            yield up
