"""The shared store: the suite that both stores pass, against a Redis that is really there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.engine.snapshot import Snapshot
from tests.adapters.state_store_suite import Make, Run, StateStoreSuite
from tests.engine.world import NOW
from tests.redis_at_hand import Prefix

pytestmark = pytest.mark.services


class TestRedisStore(StateStoreSuite):
    @pytest.fixture
    def make(self, run: Run, redis_prefix: Prefix) -> Iterator[Make]:
        stores: list[RedisStore] = []

        def made(snapshot: Snapshot) -> RedisStore:
            name = f"{redis_prefix.name}-{len(stores)}"
            store = RedisStore(redis_prefix.url, name, lambda: NOW, limit_s=5.0)
            stores.append(store)
            run(store.open(follow=False))
            assert store.is_shared
            store.bind(snapshot)
            return store

        yield made
        for store in stores:
            assert store.is_shared, "Redis went out of reach: the test proved nothing"
            run(store.close())
