"""What some tests need beside Python: where it is missing they are skipped, or fail in CI."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

CHROMIUM = Path("/usr/bin/chromium")
REDIS_URL = os.environ.get("ROUTERADMIN_TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
DATABASE_URL = os.environ.get(
    "ROUTERADMIN_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
)
REQUIRED = os.environ.get("ROUTERADMIN_REQUIRE_SERVICES") == "1"


def chromium() -> str | None:
    return None if CHROMIUM.exists() else f"no {CHROMIUM}: apt install chromium"


def services() -> str | None:
    for url in (REDIS_URL, DATABASE_URL):
        if not answers(url):
            place = urlsplit(url)
            return f"nothing answers at {place.hostname}:{place.port}: start PostgreSQL and Redis"
    return None


@cache
def answers(url: str) -> bool:
    place = urlsplit(url)
    try:
        with socket.create_connection((place.hostname or "", place.port or 0), timeout=2):
            return True
    except OSError:
        return False


def semantic() -> str | None:
    missing = [name for name in ("numpy", "wordllama") if not importlib.util.find_spec(name)]
    return f"no {', '.join(missing)}: see requirements/semantic.txt" if missing else None


def proxy() -> str | None:
    return None if shutil.which("caddy") else "no caddy: apt install caddy"


def systemd() -> str | None:
    return None if shutil.which("systemd-analyze") else "no systemd-analyze: apt install systemd"


NEEDS: dict[str, Callable[[], str | None]] = {
    "browser": chromium,
    "services": services,
    "semantic": semantic,
    "proxy": proxy,
    "systemd": systemd,
}
