"""Keys of one test alone, in the Redis that the machine has or in one of the program named."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import redis

from tests.needs import REDIS_URL
from tests.scaleout.servers import NAMED, RedisServer


@dataclass(frozen=True)
class Prefix:
    """Keys of one test: ``name`` is theirs alone."""

    url: str
    name: str


@pytest.fixture(scope="session")
def redis_at_hand() -> Iterator[str]:
    """Its URL."""
    if NAMED is None:
        yield REDIS_URL
        return
    with RedisServer() as server:
        yield server.url


@pytest.fixture
def redis_prefix(redis_at_hand: str) -> Iterator[Prefix]:
    """Removed with every key when the test is over."""
    prefix = Prefix(redis_at_hand, f"test-{secrets.token_hex(6)}")
    yield prefix
    client = redis.Redis.from_url(redis_at_hand)
    for key in client.scan_iter(match=f"{{{prefix.name}*", count=1000):
        client.delete(key)
    client.close()
