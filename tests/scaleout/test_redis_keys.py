"""Which keys a system leaves in Redis: its own prefix's alone, and none of what is deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from routeradmin.adapters.state_redis import RedisStore
from routeradmin.engine.state import Grant
from tests.engine.world import catalog, deployment
from tests.process.server import Server, until
from tests.redis_at_hand import Prefix
from tests.scaleout.servers import RedisServer
from tests.scaleout.system import Askers

pytestmark = pytest.mark.services

EMPTY = b'format = "routeradmin.catalog/1"\n'


def candidates(server: RedisServer) -> set[str]:
    """Deployments that Redis holds state of; API keys stand beside them, under an empty name."""
    with server.client() as client:
        keys = client.keys("{routeradmin}:candidate:*")
    return {key.decode().split(":", 2)[2].split("\n")[0] for key in keys} - {""}


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_a_deleted_deployments_keys_go_from_redis(
    four: list[Server], redis_server: RedisServer, put_catalog: Callable[[bytes], None]
) -> None:
    async def use() -> None:
        async with Askers(four) as askers:
            granted = await askers.together(8, "parallel")
            for number, (status, answer) in enumerate(granted):
                if status == 200:
                    await askers.release(number, answer["lease_id"])

    asyncio.run(use())
    assert "parallel" in candidates(redis_server)
    put_catalog(EMPTY)
    until(lambda: candidates(redis_server) == set(), 30.0)


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_every_key_of_a_system_has_its_prefix(
    four: list[Server], redis_server: RedisServer
) -> None:
    async def use() -> None:
        async with Askers(four) as askers:
            await askers.together(8, "parallel")

    asyncio.run(use())
    with redis_server.client() as client:
        keys = [key.decode() for key in client.scan_iter(count=1000)]
    assert keys
    own = ("{routeradmin}:", "asgi", "routeradmin:channels")
    assert [key for key in keys if not key.startswith(own)] == []


def test_two_systems_on_one_redis_know_nothing_of_each_other(redis_prefix: Prefix) -> None:
    snapshot = catalog([deployment("a", max_parallel_requests=1)])
    candidate = snapshot.routes["r"].candidates[0]

    async def story() -> None:
        stores = [
            RedisStore(redis_prefix.url, f"{redis_prefix.name}-{system}", time.time, limit_s=5.0)
            for system in ("one", "two")
        ]
        for store in stores:
            store.bind(snapshot)
            await store.open(follow=False)
        for store in stores:
            grant = Grant(candidate, "me", 60, 0, "r")
            assert await store.reserve(grant, time.time()) is not None
            assert await store.reserve(grant, time.time()) is None
            await store.look(0)
        assert [store.of(candidate).active for store in stores] == [1, 1]
        for store in stores:
            await store.close()

    asyncio.run(story())
