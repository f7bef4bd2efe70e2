"""Keys of one test alone, in the Redis that the machine has."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis

from tests.needs import REDIS_URL


@dataclass(frozen=True)
class Prefix:
    """Keys of one test: ``name`` is theirs alone."""

    url: str
    name: str


@pytest.fixture
def redis_prefix() -> Iterator[Prefix]:
    """Removed with every key when the test is over."""
    prefix = Prefix(REDIS_URL, f"test-{secrets.token_hex(6)}")
    yield prefix
    client = redis.Redis.from_url(REDIS_URL)
    for key in client.scan_iter(match=f"{{{prefix.name}*", count=1000):
        client.delete(key)
    client.close()
