"""A Redis to test with: the one that ROUTERADMIN_TEST_REDIS_URL names, or the machine's own."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis

URL = os.environ.get("ROUTERADMIN_TEST_REDIS_URL", "redis://127.0.0.1:6379/15")
REQUIRED = os.environ.get("ROUTERADMIN_REQUIRE_SERVICES") == "1"


@dataclass(frozen=True)
class Prefix:
    """Keys of one test: ``name`` is theirs alone."""

    url: str
    name: str


@pytest.fixture
def redis_prefix() -> Iterator[Prefix]:
    """Removed with every key when the test is over."""
    client = redis.Redis.from_url(URL, socket_connect_timeout=1)
    try:
        client.ping()
    except redis.ConnectionError:
        if REQUIRED:
            raise
        pytest.skip(f"no Redis at {URL}")
    prefix = Prefix(URL, f"test-{secrets.token_hex(6)}")
    yield prefix
    for key in client.scan_iter(match=f"{{{prefix.name}*", count=1000):
        client.delete(key)
    client.close()
